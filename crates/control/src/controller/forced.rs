//! Forced recovery: an operator goes on from what is left of partitions that are not served, and learns first what
//! that lacks (rule `forced recovery begins a generation`).
//!
//! In:  the operator's order, and what bricks report. Out: what would be lost, in words; once that is confirmed, views
//!      on the ground of that choice.
//!
//! Invariants:
//! - Nothing is forced that a live in-sync member serves, or will.
//! - The new view is above all that were seen on any disk, and begins a new generation: a brick that comes back with the
//!   old one is filled anew.
//! - Only a complete log is gone on from, of the newest history that is there, as its brick reports when it is asked
//!   for this: an earlier report may not be true any more.
//! - Where no member has anything all bricks are asked. The partition begins empty only on a brick that holds nothing of
//!   it: another one would begin with what it has left of an earlier copy.

use super::case::Case;
use super::holdings::Holdings;
use super::liveness::LivenessView;
use super::proposals::propose;
use super::recovery::{LogRecovery, is_served};
use super::timer::DecisionTimer;
use crate::message::LogSummary;
use brickyard_metadata::{Catalog, Change, Ground, Proposal, Recovery};
use brickyard_routing::{Member, Replica};
use brickyard_types::{PartitionId, View};
use std::collections::BTreeSet;
use std::time::Duration;

/// What may become of one partition.
enum Plan {
    /// It goes on so, with that loss.
    Goes(Proposal, String),
    /// It cannot, or need not.
    Stays(String),
}

impl LogRecovery {
    /// What a forced recovery comes to now. `lease`: how long a grant lasts.
    ///
    /// # Errors
    /// What stands against it, or what it would cost, in words.
    pub(super) fn force(
        &mut self,
        recovery: &Recovery,
        catalog: &Catalog,
        view: &LivenessView,
        lease: Duration,
        timer: &mut DecisionTimer,
    ) -> Result<Change, String> {
        let name = &recovery.table;
        let Some(table) = catalog.table(name) else {
            return Err(format!(
                "table '{name}' does not exist; TABLE LIST shows those that do"
            ));
        };
        if table.is_offline() {
            return Err(format!(
                "table '{name}' is offline, so there is nothing to recover; bring it back with TABLE ONLINE {name} first"
            ));
        }
        let is_named = |it: &PartitionId| recovery.partitions.contains(it);
        let wanted = table.partitions().filter(|(partition, group)| {
            let is_wanted = recovery.partitions.is_empty() || is_named(partition);
            is_wanted && !is_served(table, *partition, group, view)
        });
        let wanted: BTreeSet<PartitionId> = wanted.map(|it| it.0).collect();
        self.summaries.inquire(view.now(), wanted.clone());
        let mut unanswered = BTreeSet::new();
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
            let case = Case {
                catalog,
                view,
                table,
                partition,
                group,
            };
            match self.plan(&case, lease, &mut unanswered) {
                Plan::Goes(proposal, loss) => {
                    proposals.push(proposal);
                    words.push(loss);
                }
                Plan::Stays(reason) => words.push(reason),
            }
        }
        if !unanswered.is_empty() {
            self.summaries.seek(unanswered);
            timer.mark_dirty();
            return Err(
                "the bricks are being asked what they hold; repeat the command in a second"
                    .to_owned(),
            );
        }
        if words.is_empty() {
            return Err(format!(
                "table '{name}' has no partition that is not served"
            ));
        }
        let words = words.join("; ");
        if proposals.is_empty() {
            return Err(format!("nothing can be recovered: {words}"));
        }
        if !recovery.is_confirmed {
            return Err(format!(
                "nothing was done; it would come to this, and what is missing would be lost for ever: {words}. To do \
                 it, repeat the command with CONFIRM {name}"
            ));
        }
        Ok(Change::from(proposals))
    }

    fn plan(
        &mut self,
        case: &Case<'_>,
        lease: Duration,
        unanswered: &mut BTreeSet<Replica>,
    ) -> Plan {
        let Case {
            table,
            partition,
            group,
            ..
        } = *case;
        let members: BTreeSet<Member> = group.members().map(|replica| replica.member).collect();
        let present = |member: &Member| {
            let node = case.catalog.node(member.node)?;
            Some(node.replica(member.brick))
        };
        let up: Vec<Replica> = members
            .iter()
            .filter_map(present)
            .filter(|replica| case.view.is_leased(*replica))
            .collect();
        let mut summaries = if table.is_suspended(partition) {
            match self.returned_of(case, lease, &up) {
                Ok(summaries) => summaries,
                Err(stays) => return stays,
            }
        } else {
            self.reported(partition, &up, unanswered)
        };
        let mut empty = match table.is_suspended(partition) {
            true => Vec::new(),
            false => self.without(partition, &up),
        };
        if !summaries.iter().any(|(_, summary)| summary.is_complete) {
            let others = case.catalog.candidates().into_iter().map(|it| it.replica);
            let others: Vec<Replica> = others
                .filter(|replica| {
                    case.view.is_leased(*replica) && !members.contains(&replica.member)
                })
                .collect();
            summaries.extend(self.reported(partition, &others, unanswered));
            empty.extend(self.without(partition, &others));
        }
        let floor = summaries.iter().map(|(_, summary)| summary.last.0).max();
        let absent: Vec<String> = group
            .in_sync()
            .filter(|replica| !up.iter().any(|it| it.member == replica.member))
            .map(|replica| replica.member.to_string())
            .collect();
        let absent = if absent.is_empty() {
            "all replicas answered".to_owned()
        } else {
            format!("no answer from: {}", absent.join(", "))
        };
        let best = summaries.iter().filter(|(_, summary)| summary.is_complete);
        // One of an earlier history only where no brick has the present one, which may never have begun.
        let best = best.max_by_key(|(replica, summary)| {
            (
                summary.generation,
                summary.last,
                std::cmp::Reverse(*replica),
            )
        });
        let highest = summaries.iter().map(|(_, summary)| summary.last).max();
        let (replica, loss) = match best {
            Some((replica, summary)) => {
                let end = if summary.is_end_cut {
                    "its end did not verify after its machine had stopped, and was cut off"
                } else if summary.is_tail_sure {
                    "its end is sure"
                } else {
                    "its end may be missing, since its machine stopped"
                };
                let history = if summary.generation == group.generation {
                    ""
                } else {
                    ", of the history before an earlier recovery"
                };
                let (view, op) = summary.last;
                let more = highest
                    .filter(|highest| *highest > summary.last)
                    .map_or_else(String::new, |(view, op)| {
                        format!(", another log with gaps ends at view {view} op {op}")
                    });
                let committed = summary.committed;
                let text = format!(
                    "partition {partition} goes on with brick {}, whose log{history} ends at view {view} op {op} (known \
                     to be committed: op {committed}; {end}{more}); what others acknowledged after that is lost; {absent}",
                    replica.member
                );
                (*replica, text)
            }
            None if summaries
                .iter()
                .any(|(replica, _)| members.contains(&replica.member)) =>
            {
                return Plan::Stays(format!(
                    "partition {partition} stays as it is: every log of it that was reported has gaps; {absent}"
                ));
            }
            None => {
                // Where the table's layout wants it, if one of those is up.
                let is_elsewhere = |replica: &&Replica| !table.layout.admits(replica.member.node);
                let Some(replica) = empty.iter().min_by_key(is_elsewhere).copied() else {
                    let reason = if summaries.is_empty() {
                        "no brick is up"
                    } else {
                        "each brick that is up has a part of an earlier copy of it; add a node that has none"
                    };
                    return Plan::Stays(format!("partition {partition}: {reason}"));
                };
                let text = format!(
                    "partition {partition} begins EMPTY on brick {}: no brick that was asked holds all of it, so all its \
                     keys are lost; {absent}",
                    replica.member
                );
                (replica, text)
            }
        };
        let mut proposal = propose(case, &[replica]);
        proposal.learners.clear();
        proposal.ground = Ground::Forced;
        proposal.floor = floor.unwrap_or(View(0));
        Plan::Goes(proposal, loss)
    }

    /// What these bricks hold of a partition; and those that have not reported yet.
    fn reported(
        &self,
        partition: PartitionId,
        replicas: &[Replica],
        unanswered: &mut BTreeSet<Replica>,
    ) -> Vec<(Replica, LogSummary)> {
        let mut summaries = Vec::new();
        for replica in replicas {
            match self.summaries.answer(*replica, partition) {
                None => {
                    unanswered.insert(*replica);
                }
                Some(summary) => summaries.extend(summary.map(|summary| (*replica, summary))),
            }
        }
        summaries
    }

    /// What these bricks have found of an unloaded partition; or why one has to wait for it to come back by itself.
    fn returned_of(
        &mut self,
        case: &Case<'_>,
        lease: Duration,
        replicas: &[Replica],
    ) -> Result<Vec<(Replica, LogSummary)>, Plan> {
        let partition = case.partition;
        let mut summaries = Vec::new();
        for replica in replicas {
            match self.reloads.summary(case, *replica) {
                Some(summary) => summaries.push((*replica, summary)),
                None => {
                    return Err(Plan::Stays(format!(
                        "partition {partition} waits for brick {}, which reads its log; repeat the command when that is done",
                        replica.member
                    )));
                }
            }
        }
        let holdings = Holdings::of(case.catalog);
        let is_under_way = case.group.change.is_some();
        if is_under_way || self.choose_log(case, lease, &holdings).is_some() {
            return Err(Plan::Stays(format!(
                "partition {partition} is coming back by itself, and needs no recovery"
            )));
        }
        Ok(summaries)
    }

    /// Those of these bricks that hold nothing of a partition.
    fn without(&self, partition: PartitionId, replicas: &[Replica]) -> Vec<Replica> {
        let is_without =
            |replica: &Replica| self.summaries.answer(*replica, partition) == Some(None);
        replicas.iter().copied().filter(is_without).collect()
    }
}

#[cfg(test)]
#[path = "forced_test.rs"]
mod forced_test;
