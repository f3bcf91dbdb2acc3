use super::*;

fn options() -> DevOptions {
    DevOptions {
        nodes: None,
        nodes_default: 3,
        bricks: None,
        first_port: None,
        dir: None,
    }
}

const KEPT: State = State {
    nodes: 4,
    bricks: 2,
    first_port: 15_479,
};

#[test]
fn directory_decides_what_it_was_made_with() {
    let (state, _) = decide(&options(), Some(KEPT)).unwrap();
    assert_eq!((state.nodes, state.bricks), (4, 2));
    let more = DevOptions {
        nodes: Some(5),
        ..options()
    };
    assert_eq!(decide(&more, Some(KEPT)).unwrap().0.nodes, 5);
    let (state, _) = decide(&options(), None).unwrap();
    assert_eq!((state.nodes, state.bricks), (3, 1));
}

#[test]
fn what_would_lose_data_or_cannot_be_is_refused() {
    let fewer = DevOptions {
        nodes: Some(3),
        ..options()
    };
    let refused = decide(&fewer, Some(KEPT)).unwrap_err().to_string();
    assert!(refused.contains("4 nodes"), "{refused}");
    let other = DevOptions {
        bricks: Some(1),
        ..options()
    };
    let refused = decide(&other, Some(KEPT)).unwrap_err().to_string();
    assert!(refused.contains("2 bricks"), "{refused}");
}

#[test]
fn greeting_names_every_address_and_where_to_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let place = Place::open(Some(dir.path())).unwrap();
    let ports = ports::choose(3, 2, Some(7000), |_| true).unwrap();
    let launches: Vec<Launch> = ports
        .iter()
        .enumerate()
        .map(|(number, ports)| Launch {
            number,
            host: "127.0.0.1".to_owned(),
            ports: *ports,
            bricks: 2,
            data: place.data(number),
            log: place.log(number),
            join: Vec::new(),
            network: None,
            settings: Vec::new(),
            access: http::Access::default(),
        })
        .collect();
    let launches: Vec<&Launch> = launches.iter().collect();
    let text = greeting(&launches, &place, Some(place.path()), true);
    for wanted in [
        "3 nodes",
        "redis://127.0.0.1:7010",
        "127.0.0.1:7001,127.0.0.1:7002",
        "http://127.0.0.1:8020/status",
        "-p 7000 set",
        "dev kill 2 --dir",
        "--http 127.0.0.1:8000",
        "usual ports are taken",
    ] {
        assert!(text.contains(wanted), "{wanted} in:\n{text}");
    }
}
