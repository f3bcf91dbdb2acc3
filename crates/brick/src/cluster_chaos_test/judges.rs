//! What must hold at every step, whoever asks for what.
//!
//! - Whoever is in sync holds all that anybody has committed, as durably as the table asks (`replication/commit`).
//! - Who is in sync, and has come as far as the primary, holds the same.
//! - Who serves is in sync in the view that is in effect.
//! - When a view takes effect its primary has synced what it holds of older ones (PROTOCOL rule 8).

use super::world::World;
use crate::Inspection;
use brickyard_routing::{Group, Seat};
use brickyard_types::{Durability, Op, PartitionId, TableId};

/// Contents are compared once in so many turns.
const CONTENTS_EVERY: u64 = 8;

/// Looks at all partitions.
pub(super) fn check(world: &World) {
    if world.turns.is_multiple_of(CONTENTS_EVERY) {
        check_contents(world);
    }
    for (table, partition, group) in world.control.groups() {
        if !world.control.doubtful.contains(&partition) {
            check_members(world, table, partition, &group);
        }
        check_servers(world, partition, &group);
    }
}

/// Members in sync that have come as far as the primary hold what it holds.
fn check_contents(world: &World) {
    for (table, partition, group) in world.control.groups() {
        let held = |seat: Seat| {
            let node = &world.nodes[seat.member.node.0 as usize];
            let brick = node.brick.as_ref();
            let brick = brick.filter(|_| node.incarnation == seat.incarnation)?;
            let committed = brick.committed_in(partition, group.lineage)?;
            Some((committed, Inspection::of(brick).contents(table, partition)?))
        };
        let Some((committed, contents)) = held(group.primary) else {
            continue;
        };
        for seat in group.in_sync().filter(|it| *it != group.primary) {
            let other = held(seat).filter(|it| it.0 == committed);
            assert!(
                other.as_ref().is_none_or(|it| it.1 == contents),
                "{seat} has {other:?} of {partition}, and {} has {contents:?}",
                group.primary
            );
        }
    }
}

fn check_members(world: &World, table: TableId, partition: PartitionId, group: &Group) {
    let bricks = world.nodes.iter().filter_map(|node| node.brick.as_ref());
    let committed = bricks.filter_map(|brick| brick.committed_in(partition, group.lineage));
    let committed = committed.max().unwrap_or(Op(0));
    let durability = world.control.attributes(table).durability;
    for seat in group.in_sync() {
        let node = &world.nodes[seat.member.node.0 as usize];
        let Some(brick) = node.brick.as_ref() else {
            continue;
        };
        if node.incarnation != seat.incarnation {
            continue;
        }
        let control = &world.control;
        let held = control.held_of(partition, |it| Some(brick.last_of(it)));
        let held = held.unwrap_or_default();
        assert!(
            held >= committed,
            "{seat} is in sync in {partition} with {held}, and {committed} has committed: {group:?}"
        );
        let stored = control.held_of(partition, |it| node.disk.stored(it, durability));
        assert!(
            stored.is_none_or(|stored| stored >= committed),
            "{seat} has {stored:?} of {partition} in its log, and {committed} has committed ({durability}): {group:?}"
        );
    }
}

fn check_servers(world: &World, partition: PartitionId, group: &Group) {
    for (at, node) in world.nodes.iter().enumerate() {
        // One that was paused looks at its lease before it does anything.
        let brick = node.brick.as_ref().filter(|_| node.had_turn);
        let serves = brick.is_some_and(|brick| brick.is_serving(partition));
        let seat = world.seat(at);
        assert!(
            !serves || group.in_sync().any(|it| it == seat),
            "{seat} serves {partition}, and this is in effect: {group:?}"
        );
    }
}

/// A view of these partitions takes effect just now.
pub(super) fn check_effective(world: &World, settled: &[PartitionId]) {
    for (table, partition, group) in world.control.groups() {
        let is_logged = world.control.attributes(table).durability != Durability::Memory;
        if !settled.contains(&partition) || !is_logged {
            continue;
        }
        let node = &world.nodes[group.primary.member.node.0 as usize];
        let older = node.disk.unsynced_before(partition, group.view);
        assert!(
            older.is_none(),
            "view {} of {partition} takes effect, and {} has not synced {older:?} of an older one",
            group.view,
            group.primary
        );
    }
}
