use super::{Attributes, Verb};

fn attributes() -> Attributes {
    Attributes {
        durability: Some("fsync".into()),
        replicas: Some(3),
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
