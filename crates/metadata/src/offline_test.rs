use super::*;
use crate::fixture::{again, cluster, registration};
use crate::{
    Alteration, Applied, Catalog, Change, Ground, NewLearners, NewTable, Proposal, Settled, Stale,
    StaleAt,
};
use brickyard_routing::{NodeId, Replica};
use brickyard_types::{TableId, UnixMillis};

/// Three nodes, and a table of two copies.
fn catalog() -> Catalog {
    let mut catalog = cluster(3, 1);
    let mut table = NewTable::named("t", 7, UnixMillis(1));
    table.attributes.replicas = 2;
    table.partitions = Some(16);
    catalog.apply(Change::CreateTable(table)).unwrap();
    catalog
}

fn apply(catalog: &mut Catalog, change: Change) -> Result<Applied, String> {
    let before = catalog.clone();
    let outcome = catalog.apply(change);
    if outcome.is_err() {
        assert_eq!(*catalog, before, "a refused change changes nothing");
    }
    outcome.map_err(|refusal| refusal.to_string())
}

fn offline(catalog: &mut Catalog, force: bool) -> Result<Applied, String> {
    let name = "t".to_owned();
    apply(catalog, Change::TakeOffline { name, force })
}

fn online(catalog: &mut Catalog) -> Applied {
    let name = "t".to_owned();
    apply(catalog, Change::BringOnline { name }).unwrap()
}

fn table(catalog: &Catalog) -> &TableEntry {
    catalog.table("t").unwrap()
}

fn first(catalog: &Catalog) -> (TableId, PartitionId, Group) {
    let (partition, group) = table(catalog).partitions().next().unwrap();
    (table(catalog).id, partition, group.clone())
}

fn next_suspended(catalog: &Catalog) -> (PartitionId, Group) {
    let mut all = table(catalog).partitions();
    let next = all.find(|(it, _)| table(catalog).is_suspended(*it));
    next.map(|(it, group)| (it, group.clone())).unwrap()
}

/// The view in which that one alone goes on, and the others learn.
fn proposal(catalog: &Catalog, ground: Ground, replica: Replica, others: &[Replica]) -> Proposal {
    let (table, partition, group) = first(catalog);
    Proposal {
        ground,
        learners: others.to_vec(),
        ..Proposal::of(table, partition, &group, &[replica])
    }
}

fn stale(catalog: &mut Catalog, change: impl Into<Change>) -> Vec<Stale> {
    let stale = apply(catalog, change.into()).unwrap().stale;
    stale
        .into_iter()
        .map(|StaleAt { reason, .. }| reason)
        .collect()
}

/// Proposed and put into effect.
fn bring_back(catalog: &mut Catalog, proposal: Proposal) {
    let (table, partition) = (proposal.table, proposal.partition);
    assert_eq!(stale(catalog, vec![proposal]), []);
    let group = self::table(catalog).map.group(partition).unwrap();
    let view = group.change.as_ref().unwrap().view;
    let settled = Settled {
        table,
        partition,
        view,
    };
    assert_eq!(stale(catalog, vec![settled]), []);
}

#[test]
fn table_goes_and_comes_back_partition_by_partition() {
    let mut catalog = catalog();
    let before = offline(&mut catalog, false).unwrap().version;
    assert!(table(&catalog).is_offline());
    assert_eq!(offline(&mut catalog, false).unwrap().version, before);
    let since = online(&mut catalog).version;
    assert_eq!(table(&catalog).return_since(), Some(since));
    assert_eq!(online(&mut catalog).version, since, "it is so already");
    let all: Vec<PartitionId> = table(&catalog).partitions().map(|it| it.0).collect();
    assert!(all.iter().all(|it| table(&catalog).is_suspended(*it)));
    for _ in &all {
        let (partition, group) = next_suspended(&catalog);
        let replicas: Vec<Replica> = group.in_sync().collect();
        let proposal = Proposal {
            ground: Ground::Return,
            learners: vec![replicas[0]],
            ..Proposal::of(table(&catalog).id, partition, &group, &[replicas[1]])
        };
        bring_back(&mut catalog, proposal);
        assert!(!table(&catalog).is_suspended(partition));
        let read = Catalog::decode(&catalog.encode()).unwrap();
        assert_eq!(read, catalog);
    }
    assert!(table(&catalog).is_online());
    assert_eq!(online(&mut catalog).version, catalog.version());
}

#[test]
fn table_in_memory_alone_stays() {
    let mut catalog = catalog();
    let mut new = NewTable::named("m", 7, UnixMillis(1));
    new.attributes.durability = Durability::Memory;
    catalog.apply(Change::CreateTable(new)).unwrap();
    let change = Change::TakeOffline {
        name: "m".to_owned(),
        force: true,
    };
    let refused = apply(&mut catalog, change).unwrap_err();
    assert!(refused.contains("all of it would be lost"), "{refused}");
    let unknown = Change::BringOnline {
        name: "n".to_owned(),
    };
    let refused = apply(&mut catalog, unknown).unwrap_err();
    assert!(refused.starts_with("table 'n' does not exist"), "{refused}");
}

#[test]
fn table_that_lacks_copies_goes_by_force_alone_and_those_that_catch_up_are_let_go() {
    let mut catalog = catalog();
    let (id, partition, group) = first(&catalog);
    bring_back_members(&mut catalog, &[group.primary]);
    let learners = NewLearners {
        table: id,
        partition,
        view: first(&catalog).2.view,
        learners: vec![group.backups[0]],
    };
    assert_eq!(stale(&mut catalog, vec![learners]), []);
    let refused = offline(&mut catalog, false).unwrap_err();
    assert!(
        refused
            .starts_with("table 't' asks for 2 copies in sync, and 1 of its partitions have fewer"),
        "{refused}"
    );
    offline(&mut catalog, true).unwrap();
    assert_eq!(first(&catalog).2.learners, []);
}

/// A view of those members.
fn bring_back_members(catalog: &mut Catalog, in_sync: &[Replica]) {
    let (table, partition, group) = first(catalog);
    bring_back(catalog, Proposal::of(table, partition, &group, in_sync));
}

#[test]
fn copy_whose_node_has_restarted_is_none_in_sync() {
    let mut catalog = catalog();
    let node = first(&catalog).2.primary.member.node.0 as u8;
    let restarted = again(&registration(node, 1));
    catalog.apply(Change::Register(restarted)).unwrap();
    let refused = offline(&mut catalog, false).unwrap_err();
    assert!(refused.contains("say FORCE"), "{refused}");
}

#[test]
fn table_whose_views_change_or_that_is_split_waits_even_by_force() {
    let mut catalog = catalog();
    let (id, partition, group) = first(&catalog);
    let proposal = Proposal::of(id, partition, &group, &[group.primary]);
    assert_eq!(stale(&mut catalog, vec![proposal]), []);
    let refused = offline(&mut catalog, true).unwrap_err();
    assert!(refused.contains("changes its view"), "{refused}");
    let mut catalog = self::catalog();
    let split = Change::SplitPartition {
        table: "t".to_owned(),
        partition,
    };
    apply(&mut catalog, split).unwrap();
    assert!(offline(&mut catalog, true).unwrap_err().contains("split"));
}

#[test]
fn nothing_of_it_changes_meanwhile_but_that_it_is_dropped() {
    let mut catalog = catalog();
    offline(&mut catalog, false).unwrap();
    let (id, partition, group) = first(&catalog);
    let name = || "t".to_owned();
    let alteration = Alteration {
        min_in_sync: Some(2),
        ..Alteration::default()
    };
    let changes = || {
        [
            Change::AlterTable {
                name: name(),
                alteration: alteration.clone(),
            },
            Change::SplitPartition {
                table: name(),
                partition,
            },
            Change::MergePartitions {
                table: name(),
                partition,
            },
            Change::SizeTable {
                name: name(),
                by_bricks: false,
            },
        ]
    };
    for change in changes() {
        let refused = apply(&mut catalog, change).unwrap_err();
        assert!(refused.contains("TABLE ONLINE t first"), "{refused}");
    }
    let replicas: Vec<Replica> = group.in_sync().collect();
    for ground in [
        Ground::Members,
        Ground::Return,
        Ground::Forced,
        Ground::Restart,
    ] {
        let proposal = proposal(&catalog, ground, replicas[0], &[]);
        assert_eq!(
            stale(&mut catalog, vec![proposal]),
            [Stale::Suspended],
            "{ground:?}"
        );
    }
    let learners = NewLearners {
        table: id,
        partition,
        view: group.view,
        learners: Vec::new(),
    };
    assert_eq!(stale(&mut catalog, vec![learners]), [Stale::Suspended]);
    online(&mut catalog);
    for change in changes() {
        let refused = apply(&mut catalog, change).unwrap_err();
        assert!(refused.contains("coming back online"), "{refused}");
    }
    let drop = Change::DropTable { name: name() };
    apply(&mut catalog, drop).unwrap();
    assert_eq!(Catalog::decode(&catalog.encode()).unwrap(), catalog);
}

/// Rules `a restart cuts nothing` and `log summaries begin at a baseline`: a member that read its log, and nobody
/// else.
#[test]
fn suspended_partition_is_led_by_a_member_that_has_read_its_log() {
    let mut catalog = catalog();
    offline(&mut catalog, false).unwrap();
    online(&mut catalog);
    let (_, _, group) = first(&catalog);
    let replicas: Vec<Replica> = group.in_sync().collect();
    for ground in [
        Ground::Members,
        Ground::Promotion,
        Ground::Restart,
        Ground::Lost,
    ] {
        let proposal = proposal(&catalog, ground, replicas[0], &[]);
        assert_eq!(
            stale(&mut catalog, vec![proposal]),
            [Stale::Suspended],
            "{ground:?}"
        );
    }
    let other = (0..3)
        .map(NodeId)
        .find(|node| replicas.iter().all(|it| it.member.node != *node));
    let other = catalog
        .node(other.unwrap())
        .unwrap()
        .replica(replicas[0].member.brick);
    let stranger = proposal(&catalog, Ground::Return, other, &[]);
    assert_eq!(
        stale(&mut catalog, vec![stranger]),
        [Stale::NotInSync { replica: other }]
    );
    // In the same life, and in a later one.
    let node = replicas[1].member.node;
    catalog
        .apply(Change::Register(again(&registration(node.0 as u8, 1))))
        .unwrap();
    let restarted = catalog
        .node(node)
        .unwrap()
        .replica(replicas[1].member.brick);
    assert!(restarted.incarnation > replicas[1].incarnation);
    let returned = proposal(&catalog, Ground::Return, restarted, &[replicas[0]]);
    bring_back(&mut catalog, returned);
    let (_, partition, group) = first(&catalog);
    assert_eq!(
        (group.primary, &group.learners[..]),
        (restarted, &replicas[..1])
    );
    assert!(!table(&catalog).is_suspended(partition));
    // It is served: there is nothing that it would have to come back from.
    let again = proposal(&catalog, Ground::Return, restarted, &[]);
    assert_eq!(stale(&mut catalog, vec![again]), [Stale::Suspended]);
    // Offline once more, all of it is suspended, that one in its newer view.
    offline(&mut catalog, true).unwrap();
    online(&mut catalog);
    assert!(table(&catalog).is_suspended(partition));
}

#[test]
fn lone_node_that_restarts_takes_no_suspended_partition_with_it() {
    let mut catalog = cluster(1, 1);
    let name = || "default".to_owned();
    let change = Change::TakeOffline {
        name: name(),
        force: false,
    };
    catalog.apply(change).unwrap();
    let before = catalog.table("default").unwrap().map.clone();
    catalog
        .apply(Change::Register(again(&registration(0, 1))))
        .unwrap();
    assert_eq!(catalog.table("default").unwrap().map, before);
}
