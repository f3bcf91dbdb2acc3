use super::*;
use crate::status::text;
use serde_json::json;

fn node_status(node: u32, changes: &serde_json::Value) -> NodeStatus {
    let entry = |node: u16| {
        json!({
            "node": node, "host": "10.0.0.1", "port": 7000 + 10 * node, "brick_ports": [7001 + 10 * node],
            "http_port": 8000 + 10 * node, "weight": 1, "zone": null,
            "roles": ["storage", "control"],
        })
    };
    let mut node_status = json!({
        "phase": "ready", "version": "0.1.0", "cluster": "c", "catalog_version": 7,
        "membership": { "node": node, "leader": 0, "voters": [0, 1, 2], "lease_left_ms": 1200 },
        "nodes": [entry(0), entry(1), entry(2)],
        "bricks": [{
            "brick": 0, "connections": 3, "commands": 9, "log_file_bytes": 1, "log_live_bytes": 1,
            "log_pending_bytes": 0,
        }],
        "tables": [{
            "name": "default", "medium": "ram", "durability": "log", "replicas": 2, "min_in_sync": 1, "hash": "keyed",
            "placement_rule": "ring:20", "nodes": [0, 1, 2], "partition_bytes": null,
            "partitions": 6,
            "partition_states": {
                "short": 0, "under_replicated": 0, "changing": 0, "learning": 0, "in_sync": 6,
            },
            "placement": [
                { "node": 0, "brick": 0, "primaries": 2, "copies": 4, "learning": 0 },
                { "node": 1, "brick": 0, "primaries": 2, "copies": 4, "learning": 0 },
                { "node": 2, "brick": 0, "primaries": 2, "copies": 4, "learning": 0 },
            ],
            "keys": 10, "memory_bytes": 1000,
        }],
        "copies": { "missing": 0, "most": null, "for_ms": null, "left_ms": null },
        "unsettled": [], "splits": 0, "merges": 0, "extras": [],
    });
    for (path, value) in changes.as_object().unwrap() {
        *node_status.pointer_mut(path).unwrap() = value.clone();
    }
    serde_json::from_value(node_status).unwrap()
}

fn snapshot(answers: Vec<Result<NodeStatus, String>>) -> ClusterSnapshot {
    let newest = answers.iter().flatten().max_by_key(|it| it.catalog_version);
    ClusterSnapshot {
        asked: "10.0.0.1:8000".to_owned(),
        newest: newest.unwrap().clone(),
        answers: answers
            .into_iter()
            .enumerate()
            .map(|(at, it)| (at as u32, it))
            .collect(),
    }
}

#[test]
fn cluster_that_is_well_is_whole() {
    let nothing = json!({});
    let report = Report::new(&snapshot(
        (0..3).map(|node| Ok(node_status(node, &nothing))).collect(),
    ));
    assert!(report.is_whole, "{report:?}");
    assert_eq!(report.tables[0].keys_in_copies, 30);
    let shown = text::render(&report, false);
    assert!(shown.contains("ring:20 on 0,1,2"), "{shown}");
    assert!(shown.contains("storage,control"), "{shown}");
    assert_eq!(report.bricks[2].copies, 4);
    let text = text::render(&report, true);
    assert!(
        text.starts_with("everything is as it should be: 3 nodes"),
        "{text}"
    );
    assert!(
        text.contains("0 (leads)") || text.contains("ready (leads)"),
        "{text}"
    );
}

#[test]
fn what_lacks_copies_comes_first_with_who_catches_up() {
    let changes = json!({
        "/tables/0/partition_states": {
            "short": 1, "under_replicated": 2, "changing": 0, "learning": 0, "in_sync": 3,
        },
        "/tables/0/placement/1/learning": 2,
        "/copies": { "missing": 3, "most": 4, "for_ms": 2000, "left_ms": 6000 },
        "/splits": 3, "/merges": 1,
        "/extras": [{ "table": "default", "partition": 9, "copies": 2 }],
        "/unsettled": [{
            "table": "default", "partition": 17, "state": "short", "wanted": 2, "primary": "0/0@5",
            "backups": [], "learners": ["1/0@6"],
        }],
    });
    let report = Report::new(&snapshot(
        (0..3).map(|node| Ok(node_status(node, &changes))).collect(),
    ));
    assert!(!report.is_whole);
    assert_eq!(report.partitions.states.short, 1);
    assert_eq!(report.moves.catching_up[0].partitions, 2);
    let text = text::render(&report, false);
    for wanted in [
        "something is not",
        "2 partitions under-replicated",
        "default/17: 1 of 2 copies, on 0/0; 1/0 catches up",
        "3 of 4 copies are still missing after 2.0 s; at this pace it takes 6.0 s more",
        "brick 1/0 catches up on 2 partitions",
        "3 partitions are being split",
        "hot: partition default/9 has copies more than asked for (2), to be read from",
        "1 pairs of partitions are being merged",
    ] {
        assert!(text.contains(wanted), "{wanted} in:\n{text}");
    }
}

/// Partitions of a dead node whose only copy was there look settled in the catalog: nobody can take them.
#[test]
fn partitions_of_a_dead_node_are_not_served() {
    let leader = json!({ "/membership": { "node": 0, "leader": 0, "down": [2] } });
    let nothing = json!({});
    let answers = vec![
        Ok(node_status(0, &leader)),
        Ok(node_status(1, &nothing)),
        Err("cannot connect".to_owned()),
    ];
    let report = Report::new(&snapshot(answers));
    assert_eq!(report.partitions.unserved, 2);
    assert_eq!(report.nodes[2].state, "down");
    assert!(!report.is_whole);
}

#[test]
fn without_the_leaders_word_silence_is_taken_for_it() {
    let nothing = json!({});
    let answers = vec![
        Err("cannot connect".to_owned()),
        Ok(node_status(1, &nothing)),
        Ok(node_status(2, &nothing)),
    ];
    let report = Report::new(&snapshot(answers));
    assert_eq!(report.nodes[0].state, "down");
    assert_eq!(report.partitions.unserved, 2);
    // The leader answers and says that a silent one is up: it is only its HTTP that is silent.
    let leader = json!({ "/membership": { "node": 0, "leader": 0, "down": [] } });
    let answers = vec![
        Ok(node_status(0, &leader)),
        Err("refused".to_owned()),
        Ok(node_status(2, &nothing)),
    ];
    let report = Report::new(&snapshot(answers));
    assert_eq!(report.nodes[1].state, "silent");
    assert_eq!(report.partitions.unserved, 0);
}

#[test]
fn node_without_a_cluster_says_what_it_waits_for() {
    let node_status: NodeStatus = serde_json::from_value(json!({
        "phase": "starting", "version": "0.1.0",
        "membership": { "is_member": false, "waits_for": "2 others" },
    }))
    .unwrap();
    let report = Report::new(&ClusterSnapshot {
        asked: "a:1".to_owned(),
        newest: node_status,
        answers: BTreeMap::new(),
    });
    assert!(!report.is_whole);
    assert!(text::render(&report, false).contains("waits for 2 others"));
}

/// Its place is kept (decision 0083), and that is all that happens there.
#[test]
fn who_is_away_catches_up_on_nothing() {
    let changes = |down: &[u32]| {
        json!({
            "/catalog_version": 8,
            "/membership": { "node": 0, "leader": 0, "down": down },
            "/tables/0/placement/2/learning": 4,
            "/unsettled": [{
                "table": "default", "partition": 3, "state": "under_replicated", "wanted": 2,
                "primary": "0/0@1", "learners": ["2/0@3"],
            }],
        })
    };
    let nothing = json!({});
    for (down, is_told) in [(&[2][..], false), (&[], true)] {
        let answers = vec![
            Ok(node_status(0, &changes(down))),
            Ok(node_status(1, &nothing)),
            Err("cannot connect".to_owned()),
        ];
        let report = Report::new(&snapshot(answers));
        assert_eq!(!report.moves.catching_up.is_empty(), is_told, "{down:?}");
        assert_eq!(!report.unsettled[0].learners.is_empty(), is_told);
        let text = text::render(&report, false);
        assert_eq!(text.contains("catches up"), is_told, "{text}");
    }
}
