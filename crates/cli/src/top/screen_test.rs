use super::super::collect::{Slow, TableLoad};
use super::*;

fn look() -> Look {
    let load = Load {
        operations: 1200,
        clients: 7,
        resident: 55_000_000,
        cpu: Some(42.4),
        bytes_in: Some(3_000_000),
        bytes_out: None,
        log_pending: 0,
    };
    let node = |node, load| NodeLoad {
        node,
        address: format!("127.0.0.1:{}", 7000 + node),
        load,
    };
    Look {
        nodes: vec![
            node(0, Ok(load)),
            node(1, Err("127.0.0.1:7001 does not answer INFO".to_owned())),
        ],
        tables: vec![TableLoad {
            name: "users".to_owned(),
            keys: 12,
            memory: 4000,
            unanswered: 1,
        }],
        hot: (0..20)
            .map(|number| Standing {
                table: "users".to_owned(),
                key: format!("hot{number}"),
                figure: 900 - number,
            })
            .collect(),
        big: Vec::new(),
        slow: vec![Slow {
            brick: "127.0.0.1:7002".to_owned(),
            at: 0,
            microseconds: 12_340,
            command: "KEYS *".to_owned(),
        }],
    }
}

#[test]
fn everything_is_said_of_who_answered_and_the_reason_of_who_did_not() {
    let text = render(&look(), None);
    for said in [
        "2 nodes, 1 tables, 1200 commands a second",
        "  0     127.0.0.1:7000  1200        7        55.0 MB  42 %  3.0 MB  -",
        "  node 1 (127.0.0.1:7001): 127.0.0.1:7001 does not answer INFO",
        "without 1 bricks that did not answer",
        "900                users  hot0",
        "12.3 ms  127.0.0.1:7002",
        "KEYS *",
    ] {
        assert!(text.contains(said), "{said} in\n{text}");
    }
    assert!(!text.contains("hot8"), "{text}");
}

#[test]
fn nothing_goes_beyond_the_screen() {
    let text = render(&look(), Some((30, 6)));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5);
    assert!(
        lines.iter().all(|line| line.chars().count() <= 30),
        "{text}"
    );
}
