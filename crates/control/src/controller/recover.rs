//! Recovery by force: an operator goes on from what is left of partitions that nobody serves, and is told first what
//! that lacks (PROTOCOL rule 21).
//!
//! In:  the operator's wish, and what bricks report. Out: what would be lost, in words; once that is confirmed, views
//!      on the ground that somebody chose.
//!
//! Invariants:
//! - Nothing is forced that a live in-sync member serves, or will.
//! - The new view is above all that were seen on any disk, and begins a new lineage: whoever comes back with the
//!   old one is filled anew.
//! - Only a complete log is gone on from, of the newest history that is there, as its brick says when it is asked
//!   for this: what it said before may not be true any more.
//! - Where no member has anything everybody is asked. The partition begins empty only on a brick that holds nothing of
//!   it: another one would begin with what it has left of an earlier copy.

use super::Controller;
use super::group::Case;
use super::load::Load;
use crate::message::Claim;
use brickyard_metadata::{Change, Ground, Proposal, Recovery, Table};
use brickyard_routing::{Group, Seat};
use brickyard_types::{Instant, PartitionId, View};
use std::collections::BTreeSet;

/// What may become of one partition.
enum Plan {
    /// It goes on so, with that loss.
    Goes(Proposal, String),
    /// It cannot, or need not.
    Stays(String),
}

impl Controller {
    /// What a recovery comes to now.
    pub(super) fn recover(&mut self, now: Instant, recovery: &Recovery) -> Result<Change, String> {
        let catalog = std::sync::Arc::clone(&self.catalog);
        let name = &recovery.table;
        let Some(table) = catalog.table(name) else {
            return Err(format!(
                "table '{name}' does not exist; TABLE LIST shows those that do"
            ));
        };
        if table.is_offline() {
            return Err(format!(
                "table '{name}' is offline, so there is nothing to recover; say TABLE ONLINE {name} first"
            ));
        }
        let is_named = |it: &PartitionId| recovery.partitions.contains(it);
        let wanted = table.partitions().filter(|(partition, group)| {
            let is_wanted = recovery.partitions.is_empty() || is_named(partition);
            is_wanted && !self.is_served(table, *partition, group, now)
        });
        let wanted: BTreeSet<PartitionId> = wanted.map(|it| it.0).collect();
        self.reports.inquire(now, wanted.clone());
        let mut unheard = BTreeSet::new();
        let (mut proposals, mut words) = (Vec::new(), Vec::new());
        for (partition, group) in table.partitions() {
            if !wanted.contains(&partition) {
                if is_named(&partition) {
                    words.push(format!(
                        "partition {partition} is served and needs no recovery"
                    ));
                }
                continue;
            }
            match self.plan(now, table, (partition, group), &mut unheard) {
                Plan::Goes(proposal, loss) => {
                    proposals.push(proposal);
                    words.push(loss);
                }
                Plan::Stays(reason) => words.push(reason),
            }
        }
        if !unheard.is_empty() {
            self.reports.seek(unheard);
            self.is_dirty = true;
            return Err(
                "the bricks are being asked what they hold; say it again in a second".to_owned(),
            );
        }
        if words.is_empty() {
            return Err(format!(
                "table '{name}' has no partition that nobody serves"
            ));
        }
        let words = words.join("; ");
        if proposals.is_empty() {
            return Err(format!("nothing can be recovered: {words}"));
        }
        if !recovery.is_confirmed {
            return Err(format!(
                "nothing was done; it would come to this, and what is missing would be lost for ever: {words}. To do \
                 it, say the same with CONFIRM {name}"
            ));
        }
        Ok(Change::from(proposals))
    }

    /// Whether somebody who is in sync lives, as far as is known. Whoever is in sync in a parked partition has nothing.
    fn is_served(
        &self,
        table: &Table,
        partition: PartitionId,
        group: &Group,
        now: Instant,
    ) -> bool {
        let is_parked = table.is_parked(partition);
        !is_parked && group.in_sync().any(|seat| self.is_live(seat, now))
    }

    /// What bricks say of a partition may be true no more once somebody has served it, who may have copied it to them.
    pub(super) fn note_served(&mut self, now: Instant) {
        let is_served = |partition: &PartitionId| {
            let mut tables = self.catalog.tables();
            let found = tables.find_map(|it| Some((it, it.map.group(*partition)?)));
            found.is_none_or(|(table, group)| self.is_served(table, *partition, group, now))
        };
        let served: Vec<_> = self.reports.unserved().filter(is_served).collect();
        self.reports.note_served(&served);
    }

    fn plan(
        &mut self,
        now: Instant,
        table: &Table,
        (partition, group): (PartitionId, &Group),
        unheard: &mut BTreeSet<Seat>,
    ) -> Plan {
        let members: BTreeSet<_> = group.members().map(|seat| seat.member).collect();
        let present = |member: &brickyard_routing::Member| {
            let node = self.catalog.node(member.node)?;
            Some(node.seat(member.brick))
        };
        let up: Vec<Seat> = members
            .iter()
            .filter_map(present)
            .filter(|seat| self.is_up(*seat, now))
            .collect();
        let case = Case {
            table,
            partition,
            group,
            now,
        };
        let mut claims = if table.is_parked(partition) {
            match self.returned_of(&case, &up) {
                Ok(claims) => claims,
                Err(stays) => return stays,
            }
        } else {
            self.told_of(partition, &up, unheard)
        };
        let mut empty = match table.is_parked(partition) {
            true => Vec::new(),
            false => self.without(partition, &up),
        };
        if !claims.iter().any(|(_, claim)| claim.is_complete) {
            let others = self.catalog.candidates().into_iter().map(|it| it.seat);
            let others: Vec<Seat> = others
                .filter(|seat| self.is_up(*seat, now) && !members.contains(&seat.member))
                .collect();
            claims.extend(self.told_of(partition, &others, unheard));
            empty.extend(self.without(partition, &others));
        }
        let floor = claims.iter().map(|(_, claim)| claim.last.0).max();
        let absent: Vec<String> = group
            .in_sync()
            .filter(|seat| !up.iter().any(|it| it.member == seat.member))
            .map(|seat| seat.member.to_string())
            .collect();
        let absent = if absent.is_empty() {
            "all replicas were heard".to_owned()
        } else {
            format!("not heard of: {}", absent.join(", "))
        };
        let best = claims.iter().filter(|(_, claim)| claim.is_complete);
        // One of an earlier history only where nobody has the present one, which may never have begun.
        let best =
            best.max_by_key(|(seat, claim)| (claim.lineage, claim.last, std::cmp::Reverse(*seat)));
        let highest = claims.iter().map(|(_, claim)| claim.last).max();
        let (seat, loss) = match best {
            Some((seat, claim)) => {
                let end = if claim.is_end_cut {
                    "its end did not verify after its machine had stopped, and was cut off"
                } else if claim.is_tail_sure {
                    "its end is sure"
                } else {
                    "its end may be missing, since its machine stopped"
                };
                let history = if claim.lineage == group.lineage {
                    ""
                } else {
                    ", of the history before an earlier recovery"
                };
                let (view, op) = claim.last;
                let more = highest
                    .filter(|highest| *highest > claim.last)
                    .map_or_else(String::new, |(view, op)| {
                        format!(", another log with gaps ends at view {view} op {op}")
                    });
                let committed = claim.committed;
                let text = format!(
                    "partition {partition} goes on with brick {}, whose log{history} ends at view {view} op {op} (known \
                     to be committed: op {committed}; {end}{more}); what others acknowledged after that is lost; {absent}",
                    seat.member
                );
                (*seat, text)
            }
            None if claims
                .iter()
                .any(|(seat, _)| members.contains(&seat.member)) =>
            {
                return Plan::Stays(format!(
                    "partition {partition} stays as it is: every log of it that was reported has gaps; {absent}"
                ));
            }
            None => {
                // Where the table is to be, if one of those is up.
                let is_elsewhere = |seat: &&Seat| !table.layout.admits(seat.member.node);
                let Some(seat) = empty.iter().min_by_key(is_elsewhere).copied() else {
                    let reason = if claims.is_empty() {
                        "no brick is up"
                    } else {
                        "each brick that is up has a part of an earlier copy of it; add a node that has none"
                    };
                    return Plan::Stays(format!("partition {partition}: {reason}"));
                };
                let text = format!(
                    "partition {partition} begins EMPTY on brick {}: nobody who was asked holds all of it, so all its \
                     keys are lost; {absent}",
                    seat.member
                );
                (seat, text)
            }
        };
        let mut proposal = Proposal::of(table.id, partition, group, &[seat]);
        proposal.learners.clear();
        proposal.ground = Ground::Forced;
        proposal.floor = floor.unwrap_or(View(0));
        Plan::Goes(proposal, loss)
    }

    /// What these bricks hold of a partition; and those that have not said so yet.
    fn told_of(
        &self,
        partition: PartitionId,
        seats: &[Seat],
        unheard: &mut BTreeSet<Seat>,
    ) -> Vec<(Seat, Claim)> {
        let mut claims = Vec::new();
        for seat in seats {
            match self.reports.told(*seat, partition) {
                None => {
                    unheard.insert(*seat);
                }
                Some(claim) => claims.extend(claim.map(|claim| (*seat, claim))),
            }
        }
        claims
    }

    /// What these bricks have found of a parked partition; or why one has to wait for it to come back by itself.
    fn returned_of(&mut self, case: &Case<'_>, seats: &[Seat]) -> Result<Vec<(Seat, Claim)>, Plan> {
        let partition = case.partition;
        let mut claims = Vec::new();
        for seat in seats {
            match self.returns.claim(case, *seat) {
                Some(claim) => claims.push((*seat, claim)),
                None => {
                    return Err(Plan::Stays(format!(
                        "partition {partition} waits for brick {}, which reads its log; say it again when that is done",
                        seat.member
                    )));
                }
            }
        }
        let load = Load::of(&self.catalog);
        let is_under_way = case.group.change.is_some();
        if is_under_way || self.choose_log(case, &load).is_some() {
            return Err(Plan::Stays(format!(
                "partition {partition} is coming back by itself, and needs no recovery"
            )));
        }
        Ok(claims)
    }

    /// Those of these bricks that hold nothing of a partition.
    fn without(&self, partition: PartitionId, seats: &[Seat]) -> Vec<Seat> {
        let is_without = |seat: &Seat| self.reports.told(*seat, partition) == Some(None);
        seats.iter().copied().filter(is_without).collect()
    }
}

#[cfg(test)]
#[path = "recover_test.rs"]
mod recover_test;
