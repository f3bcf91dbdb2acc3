use super::*;

#[test]
fn greeting_names_every_address() {
    let addresses = ListenAddresses {
        node: "127.0.0.1:7000".parse().unwrap(),
        bricks: vec![
            "127.0.0.1:7001".parse().unwrap(),
            "127.0.0.1:7002".parse().unwrap(),
        ],
        peer: None,
        http: Some("127.0.0.1:8000".parse().unwrap()),
    };
    let text = greeting(&addresses, None);
    for wanted in [
        "redis://127.0.0.1:7000",
        "7001, 127.0.0.1:7002",
        "8000/metrics",
        "-p 7000 set",
    ] {
        assert!(text.contains(wanted), "{wanted} in:\n{text}");
    }
}

#[test]
fn settings_are_valid() {
    let arguments = Arguments {
        dir: Some("/tmp/x".into()),
        nodes: Some(1),
        bricks: Some(2),
        port: None,
        verb: None,
    };
    let loaded = settings(&arguments, 7000).load().unwrap();
    assert_eq!(loaded.config.bricks, 2);
    assert_eq!(loaded.config.data, "/tmp/x");
    assert!(!loaded.config.temporary);
}

#[test]
fn directory_tells_a_node_alone_from_a_cluster() {
    let dir = tempfile::tempdir().unwrap();
    let path = Some(dir.path());
    assert!(is_alone(Some(1), path).unwrap());
    assert!(!is_alone(None, path).unwrap());
    assert!(!is_alone(None, None).unwrap());
    std::fs::write(dir.path().join("FORMAT"), "").unwrap();
    assert!(is_alone(None, path).unwrap());
    assert!(is_alone(Some(3), path).is_err());
    std::fs::remove_file(dir.path().join("FORMAT")).unwrap();
    std::fs::write(dir.path().join("dev.json"), "").unwrap();
    assert!(!is_alone(None, path).unwrap());
    // The cluster itself says that it does not get smaller.
    assert!(!is_alone(Some(1), path).unwrap());
}
