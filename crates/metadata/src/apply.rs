//! Applying a change: which components it borrows, and that it makes one new state or none.
//!
//! In: a [`Change`], alone or in an [`Envelope`]. Out: [`Applied`], or a [`Refusal`].
//!
//! Invariants:
//! - A change that changes something makes the next version, whatever it was made of.
//! - What a change has overtaken (splits, merges, returns, extra copies) ends in the same state.

use crate::{
    applied::{Applied, Done},
    catalog::Catalog,
    change::{Change, Decisions},
    copies::grow_copies,
    definition::{alter_table, create_table, drop_table, lease_table},
    envelope::Envelope,
    last_outcome::{LastOutcome, Outcome},
    merge::{Siblings, advance_merges, begin_merge, finish_merges},
    offline::{bring_online, end_returns, take_offline},
    orders::{alter_node, drain_node, remove_node, replace_node},
    refusal::Refusal,
    register::register,
    sizing::{divide, size_table},
    split::{begin_split, end_overtaken_splits, finish_splits},
    version::CatalogVersion,
    view_change::{propose, set_learners, settle},
};

impl Catalog {
    /// Makes one change, or refuses it and changes nothing.
    ///
    /// # Errors
    /// [`Refusal`]; its text is meant for whoever asked.
    pub fn apply(&mut self, change: Change) -> Result<Applied, Refusal> {
        let next = self.version.next();
        let may_bring_nodes = matches!(
            change,
            Change::Register(_) | Change::AlterNode { .. } | Change::ReplaceNode { .. }
        );
        let done = self.carry_out(change, next)?;
        if done.has_changed {
            self.version = next;
            if may_bring_nodes {
                grow_copies(&mut self.tables, &self.nodes);
            }
        }
        end_returns(&mut self.tables);
        end_overtaken_splits(&mut self.transitions, &self.tables);
        advance_merges(&mut self.transitions, &self.tables, self.version);
        self.extra_copies.end_overtaken(&self.tables);
        Ok(done.at(self.version))
    }

    fn carry_out(&mut self, change: Change, next: CatalogVersion) -> Result<Done, Refusal> {
        let Self {
            ids,
            nodes,
            outcomes,
            tables,
            transitions,
            parents,
            extra_copies,
            accounts,
            libraries,
            is_paused,
            ..
        } = self;
        match change {
            Change::CreateTable(mut table) => {
                // What is written of it says nothing of that.
                table.attributes.history = 0;
                create_table(tables, ids, nodes, table)
            }
            Change::AlterTable { name, alteration } => {
                alter_table(tables, nodes, &name, &alteration, None)
            }
            Change::CreateWithHistory { mut table, history } => {
                table.attributes.history = history;
                create_table(tables, ids, nodes, table)
            }
            Change::AlterWithHistory {
                name,
                alteration,
                history,
            } => alter_table(tables, nodes, &name, &alteration, Some(history)),
            Change::DropTable { name } => drop_table(tables, parents, &name),
            Change::SizeTable { name, by_bricks } => size_table(tables, &name, by_bricks),
            Change::TakeOffline { name, force } => {
                take_offline(tables, nodes, transitions, &name, force)
            }
            Change::BringOnline { name } => bring_online(tables, &name, next),
            Change::Register(registration) => {
                register(nodes, ids, tables, outcomes, registration, next)
            }
            Change::AlterNode { node, alteration } => alter_node(nodes, tables, node, alteration),
            Change::DrainNode { node, force } => drain_node(nodes, tables, node, force),
            Change::ReplaceNode { old, new } => replace_node(nodes, tables, old, new),
            Change::RemoveNode { node, force } => remove_node(nodes, tables, outcomes, node, force),
            Change::PauseMoves(wanted) => {
                let before = std::mem::replace(is_paused, wanted);
                Ok(Done::changed(before != wanted))
            }
            Change::SplitPartition { table, partition } => {
                let table = tables.get(&table)?;
                begin_split(transitions, ids, table, partition, None, next)
            }
            Change::Divide(it) => Ok(divide(transitions, ids, tables, &it, next)),
            Change::MergePartitions { table, partition } => {
                let among = Siblings {
                    nodes,
                    tables,
                    parents,
                };
                begin_merge(transitions, ids, among, &table, partition)
            }
            Change::SetExtras(extras) => Ok(extra_copies.set(tables, &extras)),
            Change::Decide(decisions) => Ok(self.decide(&decisions, next)),
            Change::SetAccount {
                name,
                initial,
                rules,
            } => accounts.set(name, initial, rules),
            Change::DropAccounts { names } => Ok(accounts.drop(&names)),
            Change::AddLibraries {
                libraries: added,
                policy,
            } => libraries.add(added, policy),
            Change::DropLibrary { name } => libraries.drop(&name),
            Change::FlushLibraries => Ok(libraries.clear()),
            Change::LeaseTable { table, is_on } => lease_table(tables, ids, nodes, table, is_on),
            Change::Recover(_) => Err(Refusal::NotDecided),
        }
    }

    fn decide(&mut self, decisions: &Decisions, next: CatalogVersion) -> Done {
        let Self {
            nodes,
            tables,
            transitions,
            parents,
            ..
        } = self;
        let Decisions {
            settled,
            splits,
            merges,
            proposals,
            learners,
        } = decisions;
        settle(tables, nodes, settled)
            .and(finish_splits(tables, transitions, parents, splits))
            .and(finish_merges(tables, transitions, parents, merges))
            .and(propose(tables, nodes, proposals, next))
            .and(set_learners(tables, nodes, learners))
    }

    /// Makes the change, unless the same request was answered before: then the answer is the same.
    ///
    /// # Errors
    /// The refusal in words. What came of the request is remembered in any case.
    pub fn apply_envelope(&mut self, envelope: Envelope) -> Outcome {
        let Envelope {
            from,
            incarnation,
            sequence,
            change,
        } = envelope;
        let node = self.nodes.node(from);
        if node.is_none_or(|node| node.incarnation != incarnation) {
            // Rule `members name an incarnation`: what an older life asked for may be about a state that is gone with
            // it.
            let superseded = Refusal::Superseded {
                node: from.0,
                incarnation: incarnation.0,
            };
            return Err(superseded.to_string());
        }
        if let Some(last) = self.outcomes.of(from, incarnation) {
            if sequence == last.sequence {
                return last.outcome.clone();
            }
            if sequence < last.sequence {
                let late = Refusal::Late {
                    node: from.0,
                    sequence,
                    last: last.sequence,
                };
                return Err(late.to_string());
            }
        }
        let outcome = self.apply(change).map_err(|refusal| refusal.to_string());
        let last = LastOutcome {
            incarnation,
            sequence,
            outcome: outcome.clone(),
        };
        self.outcomes.note(from, last, &self.nodes);
        outcome
    }
}
