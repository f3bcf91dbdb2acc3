use crate::controller::testing::{TABLE, World, first, ms, replica};
use crate::message::{DrainAsk, LogSummary, ReturnReport, ToNode};
use brickyard_metadata::{CatalogVersion, Change, TableEntry};
use brickyard_routing::{NodeId, Replica};
use brickyard_types::{Durability, Op, View};
use std::time::Duration;

/// A table of two copies on two nodes, and another node; it went offline.
fn offline(durability: Durability) -> World {
    let mut world = World::with(3, 2, 1, |attributes| attributes.durability = durability);
    world.run(ms(3_000));
    world.change(Change::TakeOffline {
        name: "t".to_owned(),
        force: false,
    });
    world.run(ms(1_000));
    world
}

fn online(world: &mut World) -> CatalogVersion {
    world.change(Change::BringOnline {
        name: "t".to_owned(),
    });
    world.run(ms(1_000));
    table(world).return_since().unwrap()
}

fn table(world: &World) -> &TableEntry {
    world.catalog.table("t").unwrap()
}

/// The brick has read its log, which ends so.
fn read(world: &mut World, replica: Replica, since: CatalogVersion, summary: LogSummary) {
    let report = ReturnReport {
        replica,
        table: TABLE,
        since,
        summaries: vec![summary],
    };
    world.controller.on_returned(world.now, report);
    world.run(ms(1_000));
}

fn members(world: &World) -> [Replica; 2] {
    world.in_sync().try_into().unwrap()
}

fn is_suspended(world: &World) -> bool {
    table(world).is_suspended(world.partition())
}

#[test]
fn table_that_is_offline_is_left_alone_whatever_becomes_of_its_nodes() {
    let mut world = offline(Durability::Log);
    let before = table(&world).map.clone();
    let proposed = world.proposed.len();
    let [a, b] = members(&world);
    world.nodes[a.member.node.0 as usize].is_up = false;
    world.restart(b.member.node.0);
    world.run(Duration::from_secs(60));
    assert_eq!(table(&world).map, before);
    let of_table = |change: &Change| format!("{change:?}").contains("TableId(2)");
    let later: Vec<&Change> = world.proposed[proposed..]
        .iter()
        .filter(|it| of_table(it))
        .collect();
    assert_eq!(later, Vec::<&Change>::new());
}

#[test]
fn highest_log_leads_and_the_others_learn_in_that_very_view() {
    let mut world = offline(Durability::Log);
    let since = online(&mut world);
    let [a, b] = members(&world);
    let summary = world.summary((1, 9));
    read(&mut world, a, since, summary);
    assert!(is_suspended(&world), "the other one reads still");
    let summary = world.summary((1, 10));
    read(&mut world, b, since, summary);
    let group = world.group();
    assert_eq!((group.view, group.primary), (View(2), b));
    assert_eq!((group.backups, group.learners), (vec![], vec![a]));
    assert!(!is_suspended(&world));
}

/// Where the logs agree nothing is handed over for it.
#[test]
fn former_primary_leads_again_where_logs_agree() {
    let mut world = offline(Durability::Log);
    let since = online(&mut world);
    let [a, b] = members(&world);
    let summary = world.summary((1, 9));
    read(&mut world, b, since, summary);
    read(&mut world, a, since, summary);
    assert_eq!(world.group().primary, a);
    assert_eq!(world.group().learners, [b]);
}

#[test]
fn one_log_is_enough_when_nobody_else_is_there_or_reads_for_long() {
    let mut world = offline(Durability::Log);
    let [a, b] = members(&world);
    world.nodes[a.member.node.0 as usize].is_up = false;
    world.run(ms(3_000));
    let since = online(&mut world);
    let summary = world.summary((1, 9));
    read(&mut world, b, since, summary);
    assert_eq!(world.group().primary, b);
    assert_eq!(
        world.group().learners,
        [a],
        "it is not there, and may come back"
    );
    let mut world = offline(Durability::Log);
    let since = online(&mut world);
    let [a, b] = members(&world);
    read(&mut world, b, since, summary);
    assert!(is_suspended(&world));
    world.run(ms(4_000));
    assert_eq!(world.group().primary, b);
    // It reads still, and is not forgotten for that.
    assert_eq!(world.group().learners, [a]);
}

/// Rules `a restart cuts nothing` and `a lost log end is noted first`.
#[test]
fn log_whose_end_may_be_lost_waits_for_the_other_one() {
    let mut world = offline(Durability::Log);
    let [a, b] = members(&world);
    world.nodes[a.member.node.0 as usize].is_up = false;
    world.run(ms(3_000));
    let restarted = world.restart(b.member.node.0);
    world.run(ms(3_000));
    let since = online(&mut world);
    let mut summary = world.summary((1, 9));
    summary.is_tail_sure = false;
    read(&mut world, restarted, since, summary);
    world.run(Duration::from_secs(30));
    assert!(is_suspended(&world));
    world.nodes[a.member.node.0 as usize].is_up = true;
    world.run(ms(1_000));
    let summary = world.summary((1, 10));
    read(&mut world, a, since, summary);
    assert_eq!(world.group().primary, a);
    assert_eq!(world.group().learners, [restarted]);
}

/// Rule `log summaries begin at a baseline`.
#[test]
fn log_that_lacks_something_does_not_lead() {
    let mut world = offline(Durability::Log);
    let since = online(&mut world);
    let [a, b] = members(&world);
    let mut summary = world.summary((1, 20));
    summary.is_complete = false;
    read(&mut world, a, since, summary);
    let summary = world.summary((1, 9));
    read(&mut world, b, since, summary);
    assert_eq!(world.group().primary, b);
}

/// Rule `a restart cuts nothing`: what was in a log then says nothing of what is in it now.
#[test]
fn what_was_said_for_another_return_does_not_count() {
    let mut world = offline(Durability::Log);
    let [a, b] = members(&world);
    // Before it went offline, to somebody who asked.
    let mut early = world.summary((1, 3));
    early.committed = Op(3);
    for replica in [a, b] {
        world.nodes[replica.member.node.0 as usize].summaries = vec![early];
    }
    let first = online(&mut world);
    read(&mut world, a, CatalogVersion(first.0 - 1), early);
    world.run(Duration::from_secs(10));
    assert!(is_suspended(&world));
    read(&mut world, a, first, early);
    world.change(Change::TakeOffline {
        name: "t".to_owned(),
        force: false,
    });
    let second = online(&mut world);
    assert!(second > first);
    read(&mut world, b, first, early);
    world.run(Duration::from_secs(10));
    assert!(
        is_suspended(&world),
        "both have said it for the first return"
    );
    let summary = world.summary((1, 9));
    read(&mut world, b, second, summary);
    read(&mut world, a, second, summary);
    assert_eq!(world.group().primary, a);
}

/// Rule `members name an incarnation`.
#[test]
fn what_an_earlier_life_has_read_does_not_count() {
    let mut world = offline(Durability::Log);
    let since = online(&mut world);
    let [a, b] = members(&world);
    let summary = world.summary((1, 9));
    read(&mut world, a, since, summary);
    let restarted = world.restart(a.member.node.0);
    world.run(ms(5_000));
    assert!(is_suspended(&world));
    read(&mut world, b, since, summary);
    read(&mut world, restarted, since, summary);
    assert_eq!(world.group().primary, restarted);
    assert_eq!(world.group().learners, [b]);
}

/// Rules `a proposed view only stops` and `a primary accepts its view`: whoever led before may not have heard of it
/// yet.
#[test]
fn whoever_has_not_heard_of_it_is_fenced() {
    let mut world = offline(Durability::Log);
    let since = online(&mut world);
    let [a, b] = members(&world);
    let summary = world.summary((1, 9));
    // It is there, and acts by the catalog from before.
    let stuck = &mut world.nodes[a.member.node.0 as usize];
    stuck.stops_at = CatalogVersion(since.0 - 2);
    read(&mut world, b, since, summary);
    world.run(ms(3_000));
    let group = world.group();
    assert_eq!(group.change.map(|it| it.primary), Some(b));
    assert!(is_suspended(&world), "its lease lasts still");
    world.run(ms(4_000));
    assert_eq!(world.group().primary, b);
}

#[test]
fn table_with_a_copy_on_a_node_that_is_silent_goes_by_force_alone() {
    let mut world = World::new(3, 2, 1);
    world.run(ms(3_000));
    let [_, b] = members(&world);
    world.nodes[b.member.node.0 as usize].is_up = false;
    world.holds_proposals = true;
    world.run(ms(3_000));
    let take = |force| Change::TakeOffline {
        name: "t".to_owned(),
        force,
    };
    let refused = world.controller.admit(world.now, take(false)).unwrap_err();
    assert!(refused.contains("does not answer"), "{refused}");
    assert!(refused.ends_with("say FORCE"), "{refused}");
    assert!(world.controller.admit(world.now, take(true)).is_ok());
}

#[test]
fn node_that_stops_does_not_wait_for_what_is_offline() {
    let mut world = offline(Durability::Log);
    let [a, _] = members(&world);
    let node = a.member.node;
    let ask = DrainAsk {
        node,
        incarnation: a.incarnation,
    };
    world.controller.on_drain(world.now, ask, world.log);
    world.run(ms(1_000));
    let drained = world.controller.drained(world.now, ask);
    assert_eq!(
        drained.sole + drained.remaining,
        usize::from(node == NodeId(0))
    );
    assert!(
        world
            .sent
            .iter()
            .any(|(to, it)| *to == node && matches!(it, ToNode::Drained(_)))
    );
}

/// What is recovered by force is what nobody will bring back by itself.
#[test]
fn recovery_of_a_table_that_comes_back_goes_on_from_what_was_read() {
    let mut world = offline(Durability::Log);
    let [a, b] = members(&world);
    world.nodes[a.member.node.0 as usize].is_up = false;
    let restarted = world.restart(b.member.node.0);
    world.run(ms(3_000));
    let recover = |world: &mut World| {
        let recovery = brickyard_metadata::Recovery {
            table: "t".to_owned(),
            partitions: vec![world.partition()],
            is_confirmed: true,
        };
        world.controller.admit(world.now, Change::Recover(recovery))
    };
    assert!(recover(&mut world).unwrap_err().contains("is offline"));
    let since = online(&mut world);
    let waits = recover(&mut world).unwrap_err();
    assert!(waits.contains("which reads its log"), "{waits}");
    let mut summary = world.summary((1, 9));
    summary.is_tail_sure = false;
    read(&mut world, restarted, since, summary);
    world.run(Duration::from_secs(10));
    assert!(is_suspended(&world), "the other one may have more");
    let change = recover(&mut world).unwrap();
    world.change(change);
    world.run(ms(1_000));
    let group = world.group();
    assert_eq!((group.primary, group.generation), (restarted, 2));
    assert!(!is_suspended(&world));
    assert_eq!(first(0), replica(0, 1));
}

/// Rule `members name an incarnation`: what a brick has read in a life that is over says nothing of its log now.
#[test]
fn what_was_said_in_another_life_does_not_count() {
    let mut world = offline(Durability::Log);
    let since = online(&mut world);
    let [a, b] = members(&world);
    let now = world.restart(a.member.node.0);
    world.run(ms(3_000));
    let summary = world.summary((1, 12));
    read(&mut world, a, since, summary);
    let kept = format!("{:?}", world.controller.recovery);
    assert!(!kept.contains("Op(12)"), "{kept}");
    let summary = world.summary((1, 9));
    read(&mut world, now, since, summary);
    read(&mut world, b, since, summary);
    assert!(!is_suspended(&world));
}
