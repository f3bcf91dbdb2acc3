//! The control plane of such a cluster: who holds what, by what the test says or by who lives.

use super::Cluster;
use crate::Brick;
use crate::effect::{ControlRequest, Event};
use brickyard_metadata::{
    Addresses, CatalogVersion, Change, Ground, Machine, NewLearners, NewTable, NodeKey, Proposal,
    Registration, Rest, Roles, Settled, SplitReady,
};
use brickyard_routing::{Group, Replica};
use brickyard_types::{PartitionId, TableAttributes, TableId, UnixMillis, View};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn registration(node: usize, run: u64) -> Registration {
    let port = 7000 + node as u16 * 10;
    Registration {
        key: NodeKey([node as u8 + 1; 20]),
        run,
        addresses: Addresses {
            host: "127.0.0.1".to_owned(),
            port,
            bricks: vec![port + 1],
            peer_port: port + 2,
            http_port: None,
        },
        bricks: 1,
        weight: 1,
        zone: None,
        roles: Roles::default(),
        machine: Machine::default(),
    }
}

impl Cluster {
    /// The table, the partition that the key is in, and who has it.
    pub(crate) fn group_of(&self, key: &str) -> (TableId, PartitionId, Group) {
        self.group_in("t", key)
    }

    /// The same of another table.
    fn group_in(&self, table: &str, key: &str) -> (TableId, PartitionId, Group) {
        let table = self.catalog.table(table).unwrap();
        let partition = table.map.locate(key.as_bytes()).partition;
        let group = table.map.group(partition).unwrap().clone();
        (table.id, partition, group)
    }

    /// The same of a key of another table.
    pub(crate) fn places_in(&self, table: &str, key: &str) -> (usize, Option<usize>) {
        let (_, _, group) = self.group_in(table, key);
        let at = |replica: &Replica| replica.member.node.0 as usize;
        (at(&group.primary), group.backups.first().map(at))
    }

    /// A key of which the nodes are primary and first backup.
    pub(crate) fn key_at(&self, primary: usize, backup: usize) -> String {
        let mut keys = (0..1000).map(|at| format!("k{at}"));
        let found = keys.find(|key| self.places_of(key) == (primary, Some(backup)));
        found.expect("four partitions of two or three nodes")
    }

    /// The partition that a key is in.
    pub(crate) fn partition_of(&self, key: &str) -> PartitionId {
        self.group_of(key).1
    }

    /// The node that is the key's primary, and the first of its backups.
    pub(crate) fn places_of(&self, key: &str) -> (usize, Option<usize>) {
        let (_, _, group) = self.group_of(key);
        let at = |replica: &Replica| replica.member.node.0 as usize;
        (at(&group.primary), group.backups.first().map(at))
    }

    /// Makes a table of as many partitions, each of one copy; who has a key of it.
    pub(crate) fn make_table(
        &mut self,
        name: &str,
        partitions: u32,
    ) -> impl Fn(&str) -> usize + use<> {
        let attributes = TableAttributes::default();
        let table = NewTable {
            attributes,
            partitions: Some(partitions),
            ..NewTable::named(name, 5, UnixMillis(0))
        };
        self.catalog.apply(Change::CreateTable(table)).unwrap();
        self.spread();
        let map = self.catalog.table(name).unwrap().map.clone();
        move |key| {
            let group = map.group(map.locate(key.as_bytes()).partition).unwrap();
            group.primary.member.node.0 as usize
        }
    }

    /// Another change of the catalog, which all nodes hear of.
    pub(crate) fn change(&mut self, change: Change) {
        self.catalog.apply(change).unwrap();
        self.spread();
        self.settle();
    }

    /// Other in-sync members for a key's partition, the primary first.
    pub(crate) fn regroup(&mut self, key: &str, nodes: &[usize]) {
        self.regroup_in("t", key, nodes);
    }

    /// The same for a key of another table.
    pub(crate) fn regroup_in(&mut self, table: &str, key: &str, nodes: &[usize]) {
        let (table, partition, group) = self.group_in(table, key);
        let replicas: Vec<Replica> = nodes.iter().map(|at| self.replica(*at)).collect();
        self.propose(Proposal::of(table, partition, &group, &replicas));
    }

    /// Members of a key's partition that were in sync, in one step: who goes on, and who is to catch up.
    pub(crate) fn demote(&mut self, key: &str, in_sync: &[usize], learners: &[usize]) {
        let (table, partition, group) = self.group_of(key);
        let replicas =
            |nodes: &[usize]| nodes.iter().map(|at| self.replica(*at)).collect::<Vec<_>>();
        let learners = replicas(learners);
        self.propose(Proposal {
            learners,
            ..Proposal::of(table, partition, &group, &replicas(in_sync))
        });
    }

    /// Other learners for a key's partition.
    pub(crate) fn set_learners(&mut self, key: &str, nodes: &[usize]) {
        let (table, partition, group) = self.group_of(key);
        self.set_learners_of(table, partition, group.view, nodes);
    }

    fn set_learners_of(
        &mut self,
        table: TableId,
        partition: PartitionId,
        view: View,
        nodes: &[usize],
    ) {
        let learners = nodes.iter().map(|at| self.replica(*at)).collect();
        let change = Change::from(vec![NewLearners {
            table,
            partition,
            view,
            learners,
        }]);
        self.catalog.apply(change).unwrap();
        self.spread();
    }

    pub(super) fn groups(&self) -> Vec<(TableId, PartitionId, Group)> {
        // Those that tests make beside it have numbers.
        let is_its = |name: &str| name == "t" || name.parse::<u16>().is_ok();
        let tables = self.catalog.tables().filter(|table| is_its(&table.name));
        let groups = tables.flat_map(|table| {
            let leaves = table
                .map
                .partitions()
                .leaves()
                .iter()
                .zip(table.map.groups());
            leaves.map(|(leaf, group)| (table.id, leaf.partition, group.clone()))
        });
        groups.collect()
    }

    pub(super) fn lives(&self, replica: Replica) -> bool {
        let host = &self.hosts[replica.member.node.0 as usize];
        host.brick.is_some() && host.incarnation == replica.incarnation
    }

    /// Views without a dead node.
    pub(super) fn remove(&mut self, at: usize) {
        let dead = self.replica(at);
        for (table, partition, group) in self.groups() {
            let alive: Vec<Replica> = group
                .in_sync()
                .filter(|replica| self.lives(*replica))
                .collect();
            let is_named = group.in_sync().any(|replica| replica == dead);
            if is_named && !alive.is_empty() && !self.is_suspended(partition) {
                self.propose(Proposal::of(table, partition, &group, &alive));
            }
        }
    }

    /// The node's bricks catch up wherever a replica is missing; alone, it leads again.
    pub(super) fn enlist(&mut self, at: usize) {
        let replica = self.replica(at);
        let summaries: BTreeMap<PartitionId, crate::ReplicaSummary> = self.summaries(at);
        for (table, partition, group) in self.groups() {
            if self.is_suspended(partition) {
                continue;
            }
            let is_any_alive = group.in_sync().any(|it| self.lives(it));
            let was_in_sync = group.in_sync().any(|it| it.member == replica.member);
            if is_any_alive {
                let mut learners = group.learners.clone();
                learners.retain(|it| self.lives(*it));
                learners.push(replica);
                let change = Change::from(vec![NewLearners {
                    table,
                    partition,
                    view: group.view,
                    learners,
                }]);
                self.catalog.apply(change).unwrap();
            } else if was_in_sync && summaries.get(&partition).is_some_and(|it| it.is_complete) {
                self.propose(Proposal {
                    ground: Ground::Restart,
                    learners: Vec::new(),
                    ..Proposal::of(table, partition, &group, &[replica])
                });
            }
        }
        self.spread();
    }

    fn summaries(&mut self, at: usize) -> BTreeMap<PartitionId, crate::ReplicaSummary> {
        self.brick(at).handle(Event::WantSummaries(1));
        self.requests.clear();
        self.turn();
        let requests = std::mem::take(&mut self.requests);
        let summaries = requests.into_iter().find_map(|request| match request {
            ControlRequest::Summaries(summaries) => Some(summaries.into_iter().collect()),
            _ => None,
        });
        summaries.unwrap_or_default()
    }

    fn propose(&mut self, proposal: Proposal) {
        let applied = self.catalog.apply(Change::from(vec![proposal])).unwrap();
        assert!(applied.stale.is_empty(), "{:?}", applied.stale);
        self.spread();
    }

    /// From now on a node hears of no new catalog; or of the newest, and of those to come.
    pub(crate) fn inform(&mut self, at: usize, is_informed: bool) {
        self.hosts[at].is_informed = is_informed;
        self.spread();
    }

    pub(super) fn spread(&mut self) {
        let catalog = Arc::new(self.catalog.clone());
        for host in self.hosts.iter_mut().filter(|it| it.is_informed) {
            if let Some(brick) = &mut host.brick {
                brick.handle(Event::Catalog(Arc::clone(&catalog)));
            }
        }
    }

    /// Lets views take effect whose members have stopped, died or accepted.
    pub(crate) fn decide(&mut self) {
        self.lead_siblings_together();
        let requests = std::mem::take(&mut self.requests);
        for request in requests {
            match request {
                ControlRequest::Promote {
                    partition,
                    view,
                    learner,
                } => self.promote(partition, view, learner),
                ControlRequest::Evict {
                    partition,
                    view,
                    backup,
                    ..
                } => self.let_go(partition, view, backup),
                ControlRequest::Split {
                    partition,
                    view,
                    begun_at,
                } => self.finish_split(partition, view, begun_at),
                ControlRequest::Rest(rest) => self.finish_merge(rest),
                ControlRequest::Small(small) => self.small.extend(small),
                _ => {}
            }
        }
        self.bring_back();
        let mut settled = Vec::new();
        for (table, partition, group) in self.groups() {
            let Some(change) = &group.change else {
                continue;
            };
            let acks = |replica: Replica| {
                let host = &self.hosts[replica.member.node.0 as usize];
                host.brick.as_ref().map(Brick::acknowledged)
            };
            let is_fenced = change.fenced.iter().all(|replica| {
                !self.lives(*replica)
                    || acks(*replica).is_some_and(|(stopped, _)| stopped >= change.proposed_at)
            });
            let is_accepted = self.lives(change.primary)
                && acks(change.primary).is_some_and(|(_, accepted)| accepted >= change.proposed_at);
            if is_fenced && is_accepted {
                settled.push(Settled {
                    table,
                    partition,
                    view: change.view,
                });
            }
        }
        if !settled.is_empty() {
            let applied = self.catalog.apply(Change::from(settled)).unwrap();
            assert!(applied.stale.is_empty(), "{:?}", applied.stale);
            self.spread();
        }
    }

    /// The table goes out of memory.
    pub(crate) fn take_offline(&mut self) {
        let change = Change::TakeOffline {
            name: "t".to_owned(),
            force: true,
        };
        self.catalog.apply(change).unwrap();
        self.spread();
        self.settle();
    }

    /// And back.
    pub(crate) fn bring_online(&mut self) {
        let change = Change::BringOnline {
            name: "t".to_owned(),
        };
        self.catalog.apply(change).unwrap();
        self.spread();
        self.settle();
    }

    /// Whether the table is served everywhere.
    pub(crate) fn is_online(&self) -> bool {
        self.catalog.table("t").unwrap().is_online()
    }

    fn is_suspended(&self, partition: PartitionId) -> bool {
        let mut tables = self.catalog.tables();
        tables.any(|it| it.map.group(partition).is_some() && it.is_suspended(partition))
    }

    /// Where all members that live have read their logs, the highest leads.
    fn bring_back(&mut self) {
        for (table, partition, group) in self.groups() {
            let entry = self.catalog.table_by_id(table);
            let since = entry.and_then(|table| table.return_since());
            if !self.is_suspended(partition) || since.is_none() || group.change.is_some() {
                continue;
            }
            let members = group
                .in_sync()
                .map(|replica| replica.member.node.0 as usize);
            let living: Vec<usize> = members
                .filter(|at| self.hosts[*at].brick.is_some())
                .collect();
            let summary = |at: &usize| {
                let told = self.returned.get(&(partition, self.replica(*at)));
                told.filter(|(told_for, _)| Some(*told_for) == since)
                    .map(|(_, summary)| summary)
            };
            if !living.iter().all(|at| summary(at).is_some()) {
                continue;
            }
            let whole = living
                .iter()
                .filter(|at| summary(at).is_some_and(|it| it.is_complete));
            let best = whole
                .max_by_key(|at| summary(at).map(|it| (it.last, std::cmp::Reverse(**at))))
                .copied();
            let Some(best) = best else { continue };
            let learners = living.iter().filter(|at| **at != best);
            let learners = learners.map(|at| self.replica(*at)).collect();
            self.propose(Proposal {
                ground: Ground::Return,
                learners,
                ..Proposal::of(table, partition, &group, &[self.replica(best)])
            });
        }
    }

    /// The group of that view, unless it is being changed.
    fn unchanged(&self, partition: PartitionId, view: View) -> Option<(TableId, Group)> {
        let found = self.groups().into_iter().find(|it| it.1 == partition);
        let (table, _, group) = found?;
        (group.view == view && group.change.is_none()).then_some((table, group))
    }

    fn promote(&mut self, partition: PartitionId, view: View, learner: Replica) {
        let Some((table, group)) = self.unchanged(partition, view) else {
            return;
        };
        let in_sync: Vec<Replica> = group.in_sync().chain([learner]).collect();
        let mut proposal = Proposal::of(table, partition, &group, &in_sync);
        proposal.ground = Ground::Promotion;
        proposal.learners.retain(|it| *it != learner);
        self.propose(proposal);
    }

    /// A primary that wants to go goes, and learns anew. (Nobody is too slow here.)
    fn let_go(&mut self, partition: PartitionId, view: View, replica: Replica) {
        let Some((table, group)) = self.unchanged(partition, view) else {
            return;
        };
        if replica == group.primary && !group.backups.is_empty() {
            self.propose(Proposal::of(table, partition, &group, &group.backups));
        }
    }

    /// Begins to split the partition that a key is in.
    pub(crate) fn split(&mut self, key: &str) {
        let (_, partition, _) = self.group_of(key);
        let change = Change::SplitPartition {
            table: "t".to_owned(),
            partition,
        };
        self.catalog.apply(change).unwrap();
        self.spread();
    }

    /// Begins to merge the partition that a key is in with its sibling.
    pub(crate) fn merge(&mut self, key: &str) {
        let (_, partition, _) = self.group_of(key);
        let change = Change::MergePartitions {
            table: "t".to_owned(),
            partition,
        };
        self.catalog.apply(change).unwrap();
        self.spread();
    }

    /// Siblings that are to be merged and have different primaries get the left one's.
    fn lead_siblings_together(&mut self) {
        let mut proposals = Vec::new();
        for (left, merge) in self.catalog.merges() {
            let table = self.catalog.table_by_id(merge.table).unwrap();
            let (left, right) = (table.map.group(left), table.map.group(merge.right));
            let (Some(left), Some(right)) = (left, right) else {
                continue;
            };
            if left.primary != right.primary && right.change.is_none() {
                let others = right.in_sync().filter(|it| *it != left.primary);
                let replicas: Vec<Replica> = std::iter::once(left.primary).chain(others).collect();
                proposals.push(Proposal::of(merge.table, merge.right, right, &replicas));
            }
        }
        for proposal in proposals {
            self.propose(proposal);
        }
    }

    /// Partitions of the table, and splits and merges under way.
    pub(crate) fn partitions(&self) -> (usize, usize) {
        let under_way = self.catalog.splits().len() + self.catalog.merges().len();
        (self.groups().len(), under_way)
    }

    /// Finishes the merges whose primaries have answered, whoever is there to hear of it.
    pub(crate) fn finish_merges(&mut self) {
        for request in std::mem::take(&mut self.requests) {
            if let ControlRequest::Rest(rest) = request {
                self.finish_merge(rest);
            }
        }
    }

    fn finish_merge(&mut self, rest: Rest) {
        let Some((left, merge)) = self.catalog.merge_of(rest.partition) else {
            return;
        };
        let right = merge.right;
        self.rests.insert(rest.partition, rest);
        if let (Some(left), Some(right)) = (self.rests.get(&left), self.rests.get(&right)) {
            // What was said of a rest that has ended does not count.
            let change = Change::from(vec![[*left, *right]]);
            self.catalog.apply(change).unwrap();
            self.spread();
        }
    }

    fn finish_split(&mut self, partition: PartitionId, view: View, begun_at: u64) {
        let Some(split) = self.catalog.split_of(partition) else {
            return;
        };
        let ready = SplitReady {
            table: split.table,
            partition,
            view,
            begun_at: CatalogVersion(begun_at),
        };
        self.catalog.apply(Change::from(vec![ready])).unwrap();
        self.spread();
    }

    /// Whether every partition has so many members in sync and no change under way.
    pub(crate) fn is_whole(&self, members: usize) -> bool {
        self.groups()
            .iter()
            .all(|(_, _, group)| group.in_sync().count() == members && group.change.is_none())
    }
}
