use super::{Attributes, Verb};

fn attributes() -> Attributes {
    Attributes {
        durability: Some("fsync".into()),
        replicas: Some("3".to_owned()),
        min_in_sync: Some(2),
        maxmemory: Some("2gb".into()),
        placement: Some("ring:8".into()),
        nodes: Some("1,2".into()),
        partition_bytes: Some("default".into()),
        ..Attributes::default()
    }
}

#[test]
fn verbs_become_table_commands() {
    let request = |verb: Verb| verb.request().join(" ");
    assert_eq!(request(Verb::List), "TABLE LIST");
    assert_eq!(
        request(Verb::Create {
            name: "t".into(),
            attributes: attributes()
        }),
        "TABLE CREATE t DURABILITY fsync MAXMEMORY 2gb PLACEMENT ring:8 NODES 1,2 PARTITION_BYTES default REPLICAS 3 MIN_IN_SYNC 2"
    );
    assert_eq!(
        request(Verb::Drop {
            name: "t".into(),
            confirm: "u".into()
        }),
        "TABLE DROP t CONFIRM u"
    );
    assert_eq!(
        request(Verb::Split {
            name: "t".into(),
            partition: 7
        }),
        "TABLE SPLIT t 7"
    );
    assert_eq!(
        request(Verb::Merge {
            name: "t".into(),
            partition: 7
        }),
        "TABLE MERGE t 7"
    );
    let offline = |force| {
        request(Verb::Offline {
            name: "t".into(),
            force,
        })
    };
    assert_eq!(offline(false), "TABLE OFFLINE t");
    assert_eq!(offline(true), "TABLE OFFLINE t FORCE");
    assert_eq!(request(Verb::Online { name: "t".into() }), "TABLE ONLINE t");
    let recover = |partitions: &[u32], confirm: Option<&str>| {
        request(Verb::Recover {
            name: "t".into(),
            partitions: partitions.to_vec(),
            confirm: confirm.map(Into::into),
        })
    };
    assert_eq!(recover(&[], None), "TABLE RECOVER t");
    assert_eq!(
        recover(&[3, 14], Some("t")),
        "TABLE RECOVER t 3 14 CONFIRM t"
    );
}

#[test]
fn plan_of_a_recovery_has_a_line_for_each_partition() {
    let text = "ERR nothing was done; it would come to this, and what is missing would be lost for ever: partition 3 goes on with \
                brick 1/0, whose log ends at view 2 op 7; no answer from: 2/0; partition 4 begins EMPTY on brick 1/0. To do it, \
                repeat the command with CONFIRM t";
    let lines: Vec<String> = super::plan(text).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[0].starts_with("nothing was done") && lines[0].ends_with("for ever:"));
    assert!(lines[1].starts_with("  partition 3") && lines[1].ends_with("no answer from: 2/0"));
    assert!(lines[2].starts_with("  partition 4"), "{lines:?}");
    assert!(lines[3].starts_with("To do it, repeat"), "{lines:?}");
}
