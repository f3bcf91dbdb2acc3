use super::*;

#[test]
fn greeting_names_every_address() {
    let addresses = Addresses {
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
        bricks: Some(2),
        port: None,
    };
    let loaded = settings(&arguments, 7000).load().unwrap();
    assert_eq!(loaded.config.bricks, 2);
    assert_eq!(loaded.config.data, "/tmp/x");
    assert!(!loaded.config.temporary);
}
