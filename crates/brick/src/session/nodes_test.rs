use crate::accepted::Port;
use crate::cluster_harness::Cluster;
use crate::cluster_harness::tables::{fill, replicated};
use crate::harness::Node;
use crate::users::{Grant, Rights, User};
use brickyard_metadata::UserLimits;
use brickyard_types::TableAttributes;
use std::collections::BTreeSet;

#[test]
fn nodes_are_listed_with_what_they_hold() {
    let mut node = Node::new(2, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    let listed = node.call(client, "NODE LIST");
    for wanted in [
        "$4 node :0",
        "$5 state $6 in use",
        "$6 weight :1",
        "$6 copies :512",
    ] {
        assert!(listed.contains(wanted), "{wanted} in {listed}");
    }
    assert_eq!(
        node.call(client, "NODE ALTER 0 WEIGHT 3 ZONE east CONTROL yes"),
        "+OK"
    );
    let listed = node.call(client, "NODE LIST");
    for wanted in [
        "$4 zone $4 east",
        "$6 weight :3",
        "$5 roles $15 storage,control",
    ] {
        assert!(listed.contains(wanted), "{wanted} in {listed}");
    }
    let refused = node.call(client, "NODE DRAIN 0");
    assert!(
        refused.starts_with("-ERR node 0 is the only one with a weight"),
        "{refused}"
    );
    let refused = node.call(client, "NODE REMOVE 7");
    assert!(
        refused.starts_with("-ERR node 7 is not in the cluster"),
        "{refused}"
    );
}

#[test]
fn plan_of_what_is_even_is_empty_and_moves_can_be_paused() {
    let mut node = Node::new(2, TableAttributes::default());
    let client = node.connect(1, Port::Node);
    assert_eq!(node.call(client, "REBALANCE PLAN"), "*0");
    let status = |word: &str| {
        format!("*10 $5 moves {word} $6 copies :0 $9 primaries :0 $8 learning :0 $5 bytes :0")
    };
    assert_eq!(node.call(client, "REBALANCE STATUS"), status("$2 on"));
    assert_eq!(
        node.call(client, "REBALANCE PAUSE\nREBALANCE STATUS"),
        format!("+OK {}", status("$6 paused"))
    );
    node.restart();
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "REBALANCE STATUS"), status("$6 paused"));
    assert_eq!(
        node.call(client, "REBALANCE RESUME\nREBALANCE STATUS"),
        format!("+OK {}", status("$2 on"))
    );
}

#[test]
fn plan_says_of_each_copy_what_a_partition_of_its_table_has_here() {
    let mut cluster = Cluster::new(2, replicated(1));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client, 0..40);
    assert_eq!(cluster.call(client, "NODE DRAIN 1"), "+OK");
    let plan = cluster.call(client, "REBALANCE PLAN");
    let (id, ..) = cluster.group_of("key1");
    let led = (0..40).map(|key| format!("key{key}"));
    let led = led.filter(|key| cluster.places_of(key).0 == 0);
    let led: BTreeSet<_> = led.map(|key| cluster.partition_of(&key)).collect();
    assert!(led.len() > 1, "{led:?}");
    let stats = &cluster.brick(0).core.shared.stats;
    let memory = stats[0].tables()[&id].memory.value();
    let wanted = format!("$5 bytes :{} ", memory / led.len() as u64);
    let found = plan.matches(&wanted).count();
    assert_eq!(found, 4 - led.len(), "{wanted} in {plan}");
}

#[test]
fn nodes_are_for_who_administers_the_node() {
    let mut node = Node::with_users(1, TableAttributes::default(), vec![of_default()]);
    let client = node.connect(0, Port::Node);
    for line in [
        "NODE LIST",
        "NODE DRAIN 0",
        "REBALANCE PAUSE",
        "REBALANCE PLAN",
    ] {
        let refused = node.call(client, line);
        assert!(refused.starts_with("-NOPERM"), "{line}: {refused}");
    }
}

#[test]
fn change_of_unknown_outcome_is_told_as_such() {
    let mut node = Node::new(1, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    for error in [
        "UNKNOWNRESULT nobody knows",
        "BUSY try again",
        "ERR refused",
    ] {
        node.no_change = Some(error.to_owned());
        assert_eq!(node.call(client, "REBALANCE PAUSE"), format!("-{error}"));
    }
}

/// A user with all rights on a table, and on that one alone.
fn of_default() -> User {
    let grant = Grant {
        tables: "default".to_owned(),
        rights: Rights {
            read: true,
            write: true,
            admin: true,
        },
    };
    User {
        name: "default".to_owned(),
        password_hashes: Vec::new(),
        grants: vec![grant],
        table: None,
        acl: crate::acl::Acl::unrestricted(),
        limits: UserLimits::NONE,
    }
}
