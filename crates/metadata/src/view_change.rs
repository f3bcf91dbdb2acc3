//! Who holds a partition changes: in two steps, each against the state that it was decided for.
//!
//! In: [`Proposal`]s, [`Settled`] views and [`NewLearners`], as the controller decided them by what it knew.
//! Out: groups with a change under way, or in a new view; [`Stale`] for what does not hold any more.
//!
//! A batch is many decisions in one change, since the loss of a node touches thousands of partitions. Each
//! stands alone: one that has become stale does not take the others with it.
//!
//! Invariants:
//! - A view takes effect only after it was proposed, and everybody knows whom it fences (rules
//!   `a proposed view only stops` and `removed members are fenced`).
//! - Views of a partition only go up, also over proposals that came to nothing.
//! - Nobody becomes in-sync but by a promotion, alone, or as the one survivor of a full restart.
//!
//! Not here: when a view may take effect (`control`: acknowledgements and leases are no state of the catalog).

use crate::{
    applied::{Done, StaleAt},
    group::next_view,
    nodes::Nodes,
    proposal::{Ground, NewLearners, Proposal, Settled, Stale},
    table::TableEntry,
    tables::Tables,
    version::CatalogVersion,
};
use brickyard_routing::{Group, Replica, ViewChange};
use brickyard_types::{Durability, PartitionId, TableId, View};
use std::collections::{BTreeMap, BTreeSet};

/// Proposes views, in the state `next`. Nobody acts on them but those who are to stop, and the primaries, who accept.
pub(crate) fn propose(
    tables: &mut Tables,
    nodes: &Nodes,
    proposals: &[Proposal],
    next: CatalogVersion,
) -> Done {
    let decisions = proposals.iter().map(|it| (it.table, it.partition, it));
    change_groups(tables, decisions, |table, group, proposal| {
        check_proposal(nodes, table, group, proposal)?;
        let change = view_change(group, proposal, next);
        assert!(
            change.view > group.view,
            "views of a partition rise: {change:?}"
        );
        Ok(Group {
            change: Some(Box::new(change)),
            ..group.clone()
        })
    })
}

/// Puts proposed views into effect.
pub(crate) fn settle(tables: &mut Tables, nodes: &Nodes, settled: &[Settled]) -> Done {
    let decisions = settled.iter().map(|it| (it.table, it.partition, it));
    change_groups(tables, decisions, |table, group, settled| {
        if table.is_offline() {
            return Err(Stale::Suspended);
        }
        let change = group.change.as_deref().filter(|it| it.view == settled.view);
        let change = change.ok_or_else(|| Stale::Pending {
            named: Some(settled.view),
            is: group.change.as_ref().map(|change| change.view),
        })?;
        // Rule `a primary accepts its view`: it was accepted by a life that has to be there still.
        if !nodes.is_current(change.primary) {
            let replica = change.primary;
            return Err(Stale::Life { replica });
        }
        check_apart(change.in_sync().chain(change.learners.iter().copied()))?;
        Ok(Group {
            view: change.view,
            generation: change.generation,
            primary: change.primary,
            backups: change.backups.clone(),
            learners: change.learners.clone(),
            change: None,
        })
    })
}

/// Lets other members catch up.
pub(crate) fn set_learners(tables: &mut Tables, nodes: &Nodes, learners: &[NewLearners]) -> Done {
    let decisions = learners.iter().map(|it| (it.table, it.partition, it));
    change_groups(tables, decisions, |table, group, new| {
        if table.is_suspended(new.partition) {
            return Err(Stale::Suspended);
        }
        check_base(group, new.view, None)?;
        let learners = || new.learners.iter().copied();
        check_apart(group.in_sync().chain(learners()))?;
        check_present(nodes, learners())?;
        Ok(Group {
            learners: new.learners.clone(),
            ..group.clone()
        })
    })
}

/// Carries out those decisions that hold, as one change.
fn change_groups<'a, D: 'a>(
    tables: &mut Tables,
    decisions: impl Iterator<Item = (TableId, PartitionId, &'a D)>,
    next: impl Fn(&TableEntry, &Group, &D) -> Result<Group, Stale>,
) -> Done {
    let by_id = tables.shared_by_id();
    let mut changed: BTreeMap<TableId, BTreeMap<PartitionId, Group>> = BTreeMap::new();
    let mut stale = Vec::new();
    for (id, partition, decision) in decisions {
        let outcome = by_id.get(&id).ok_or(Stale::Unknown).and_then(|table| {
            // A second decision on a partition is on what the first made of it.
            let earlier = changed.get(&id).and_then(|groups| groups.get(&partition));
            let group = earlier.or_else(|| table.map.group(partition));
            let group = group.ok_or(Stale::Unknown)?;
            next(table, group, decision)
        });
        match outcome {
            Ok(group) => {
                changed.entry(id).or_default().insert(partition, group);
            }
            Err(reason) => stale.push(StaleAt { partition, reason }),
        }
    }
    // Or the maps would be copied before they are changed.
    drop(by_id);
    let has_changed = !changed.is_empty();
    for (id, groups) in changed {
        tables.change(id, |table| table.set_groups(groups));
    }
    Done {
        stale,
        ..Done::changed(has_changed)
    }
}

fn check_proposal(
    nodes: &Nodes,
    table: &TableEntry,
    group: &Group,
    proposal: &Proposal,
) -> Result<(), Stale> {
    check_suspended(table, proposal)?;
    let durability = table.attributes.durability;
    // Rule `a proposed view only stops`: whoever decided for another state decided for something else.
    check_base(group, proposal.base, proposal.pending)?;
    let members = || proposal.in_sync().chain(proposal.learners.iter().copied());
    check_apart(members())?;
    check_present(nodes, members())?;
    let in_sync: BTreeSet<Replica> = group.in_sync().collect();
    match proposal.ground {
        Ground::Members => match proposal
            .in_sync()
            .find(|replica| !in_sync.contains(replica))
        {
            Some(replica) => Err(Stale::NotInSync { replica }),
            None => Ok(()),
        },
        Ground::Promotion => check_promotion(group, proposal, in_sync),
        Ground::Restart | Ground::Return => {
            // Rule `lost memory begins a generation`: no log is there to be read again.
            if durability == Durability::Memory {
                return Err(Stale::Durability);
            }
            let replica = proposal.primary;
            // Whose table was offline need not have restarted: it has read its log again all the same.
            let has_read = |it: &Replica| match proposal.ground {
                Ground::Return => it.incarnation <= replica.incarnation,
                _ => it.incarnation < replica.incarnation,
            };
            let was_in_sync = in_sync
                .iter()
                .any(|it| it.member == replica.member && has_read(it));
            if !was_in_sync || !proposal.backups.is_empty() {
                return Err(Stale::NotInSync { replica });
            }
            Ok(())
        }
        Ground::Lost => {
            if durability != Durability::Memory {
                return Err(Stale::Durability);
            }
            check_gone(nodes, &in_sync)?;
            check_alone(proposal)
        }
        Ground::Forced => check_alone(proposal),
    }
}

/// No in-sync member can come back with what it has in memory.
fn check_gone(nodes: &Nodes, in_sync: &BTreeSet<Replica>) -> Result<(), Stale> {
    match in_sync.iter().find(|replica| nodes.is_current(**replica)) {
        Some(&replica) => Err(Stale::Alive { replica }),
        None => Ok(()),
    }
}

/// Rule `members name an incarnation`: a brick that restarted is somebody else.
fn check_present(nodes: &Nodes, mut replicas: impl Iterator<Item = Replica>) -> Result<(), Stale> {
    match replicas.find(|replica| !nodes.is_current(*replica)) {
        Some(replica) => Err(Stale::Life { replica }),
        None => Ok(()),
    }
}

/// A partition that nobody serves gets a view in which somebody does, and no other; one that is served needs no return.
fn check_suspended(table: &TableEntry, proposal: &Proposal) -> Result<(), Stale> {
    let is_suspended = table.is_suspended(proposal.partition);
    let may = match proposal.ground {
        Ground::Return => is_suspended && !table.is_offline(),
        Ground::Forced => !table.is_offline(),
        Ground::Members | Ground::Promotion | Ground::Restart | Ground::Lost => !is_suspended,
    };
    if may { Ok(()) } else { Err(Stale::Suspended) }
}

/// Members are on a node each.
fn check_apart(replicas: impl Iterator<Item = Replica>) -> Result<(), Stale> {
    let mut nodes = BTreeSet::new();
    let mut crowded = replicas.filter(|replica| !nodes.insert(replica.member.node));
    match crowded.next() {
        Some(replica) => Err(Stale::Crowded { replica }),
        None => Ok(()),
    }
}

fn check_base(group: &Group, base: View, pending: Option<View>) -> Result<(), Stale> {
    if base != group.view {
        return Err(Stale::Base {
            named: base,
            is: group.view,
        });
    }
    let is = group.change.as_ref().map(|change| change.view);
    if pending != is {
        return Err(Stale::Pending { named: pending, is });
    }
    Ok(())
}

/// Rule `learner votes before promotion`: a promotion is that of one learner, and nothing else happens with it.
fn check_promotion(
    group: &Group,
    proposal: &Proposal,
    mut in_sync: BTreeSet<Replica>,
) -> Result<(), Stale> {
    if let Some(change) = &group.change {
        return Err(Stale::Pending {
            named: None,
            is: Some(change.view),
        });
    }
    let mut added = proposal
        .in_sync()
        .filter(|replica| !in_sync.contains(replica));
    let (Some(replica), None) = (added.next(), added.next()) else {
        return Err(Stale::Combined);
    };
    if !group.learners.contains(&replica) {
        return Err(Stale::NotLearner { replica });
    }
    in_sync.insert(replica);
    let is_only_that =
        proposal.primary == group.primary && proposal.in_sync().collect::<BTreeSet<_>>() == in_sync;
    if is_only_that {
        Ok(())
    } else {
        Err(Stale::Combined)
    }
}

fn check_alone(proposal: &Proposal) -> Result<(), Stale> {
    match proposal.backups.first() {
        Some(&replica) => Err(Stale::NotInSync { replica }),
        None => Ok(()),
    }
}

fn view_change(group: &Group, proposal: &Proposal, version: CatalogVersion) -> ViewChange {
    let stays: BTreeSet<Replica> = proposal.in_sync().collect();
    let pending = group.change.iter();
    let before = pending.flat_map(|change| change.in_sync().chain(change.fenced.iter().copied()));
    // Rules `removed members are fenced` and `a hand-over fences nobody`: whoever was in-sync, or might have become
    // so, and is not to be, stops. That is also a member that becomes a learner.
    let fenced: BTreeSet<Replica> = group
        .in_sync()
        .chain(before)
        .filter(|replica| !stays.contains(replica))
        .collect();
    let begins_anew = matches!(proposal.ground, Ground::Lost | Ground::Forced);
    ViewChange {
        // Rule `forced recovery begins a generation`: also above what only a disk remembers.
        view: next_view(group).max(View(proposal.floor.0.saturating_add(1))),
        generation: group.generation + u32::from(begins_anew),
        primary: proposal.primary,
        backups: proposal.backups.clone(),
        learners: proposal.learners.clone(),
        fenced: fenced.into_iter().collect(),
        proposed_at: version.0,
    }
}

#[cfg(test)]
#[path = "view_change_test.rs"]
mod view_change_test;
