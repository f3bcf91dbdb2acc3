//! The control plane as one thing that never fails: registrations, leases, views.

use crate::effect::ControlRequest;
use crate::random::Random;
use brickyard_metadata::{
    Addresses, Catalog, CatalogVersion, Change, ClusterId, Genesis, Ground, Machine, NewLearners,
    NewTable, NodeKey, Proposal, Registration, Rest, Roles, Settled, SplitReady,
};
use brickyard_replication::Claim;
use brickyard_routing::{Group, Member, NodeId, Seat};
use brickyard_types::{
    BrickId, Durability, Incarnation, Instant, PartitionId, TableAttributes, TableId, UnixMillis,
    View,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub(super) const LEASE: Duration = Duration::from_millis(700);
const MARGIN: Duration = Duration::from_millis(20);
const RENEW: Duration = Duration::from_millis(150);

#[derive(Debug, Default, Clone)]
struct Known {
    seat: Seat,
    heard: Instant,
    /// Until when it may act at most.
    leased: Instant,
    acknowledged: (u64, u64),
    claims: Option<BTreeMap<PartitionId, Claim>>,
    run: u64,
    is_cut: bool,
    /// Its power failed since it registered.
    has_lost_power: bool,
    /// Partitions whose log may have lost its end in a power cut.
    unsure: BTreeSet<PartitionId>,
}

pub(super) struct Control {
    pub(super) catalog: Catalog,
    known: Vec<Known>,
    wishes: Vec<(Seat, ControlRequest)>,
    /// What primaries said of siblings that are to be merged.
    pub(super) rests: BTreeMap<PartitionId, Rest>,
    /// So many steps go by before they are looked at.
    wishes_held: u32,
    /// Partitions that began anew, or may have lost something with all their logs.
    pub(super) emptied: Vec<PartitionId>,
    pub(super) voided: Vec<PartitionId>,
    /// All that were ever voided.
    pub(super) doubtful: BTreeSet<PartitionId>,
    /// Nodes that are to say what they hold.
    pub(super) asked: BTreeSet<usize>,
    /// Views that took effect just now.
    pub(super) settled: Vec<PartitionId>,
}

fn registration(node: usize, run: u64) -> Registration {
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
        machine: Machine {
            machine: format!("m{node}"),
            boot: "b".to_owned(),
            directory: (1, 1),
        },
    }
}

impl Control {
    pub(super) fn new(nodes: usize, tables: &[(&str, TableAttributes)], partitions: u32) -> Self {
        let mut catalog = Catalog::found(Genesis {
            cluster: ClusterId(1),
            node: registration(0, 1),
            attributes: TableAttributes::default(),
            partitions: Some(1),
            seed: 7,
            created: UnixMillis(0),
        })
        .unwrap();
        for node in 1..nodes {
            let change = Change::Register(registration(node, 1));
            catalog.apply(change).unwrap();
        }
        for (name, attributes) in tables {
            let change = Change::CreateTable(NewTable {
                attributes: attributes.clone(),
                partitions: Some(partitions),
                ..NewTable::named(*name, 3, UnixMillis(0))
            });
            catalog.apply(change).unwrap();
        }
        let mut control = Self {
            catalog,
            known: vec![Known::default(); nodes],
            wishes: Vec::new(),
            rests: BTreeMap::new(),
            wishes_held: 0,
            emptied: Vec::new(),
            voided: Vec::new(),
            doubtful: BTreeSet::new(),
            asked: BTreeSet::new(),
            settled: Vec::new(),
        };
        for at in 0..nodes {
            control.known[at].run = 1;
            control.known[at].seat = control.seat(at);
            control.known[at].heard = Instant(1_000_000_000);
        }
        control
    }

    fn seat(&self, at: usize) -> Seat {
        Seat {
            member: Member {
                node: NodeId(at as u32),
                brick: BrickId(0),
            },
            incarnation: self.incarnation(at),
        }
    }

    pub(super) fn incarnation(&self, at: usize) -> Incarnation {
        self.catalog.node(NodeId(at as u32)).unwrap().incarnation
    }

    pub(super) fn is_cut(&self, at: usize) -> bool {
        self.known[at].is_cut
    }

    pub(super) fn set_cut(&mut self, at: usize, is_cut: bool) {
        self.known[at].is_cut = is_cut;
    }

    pub(super) fn register(&mut self, at: usize) {
        let known = &mut self.known[at];
        known.run += 1;
        known.claims = None;
        known.acknowledged = (0, 0);
        known.leased = Instant(0);
        if std::mem::take(&mut known.has_lost_power) {
            // PROTOCOL rule 13: it finds that out when it starts.
            let all: Vec<PartitionId> = self.groups().iter().map(|it| it.1).collect();
            self.known[at].unsure.extend(all);
        }
        let known = &self.known[at];
        let change = Change::Register(registration(at, known.run));
        self.catalog.apply(change).unwrap();
        self.known[at].seat = self.seat(at);
    }

    pub(super) fn note_power_cut(&mut self, at: usize) {
        self.known[at].has_lost_power = true;
    }

    pub(super) fn hear(&mut self, seat: Seat, request: ControlRequest) {
        if seat != self.known[seat.member.node.0 as usize].seat {
            return;
        }
        match request {
            ControlRequest::Claims(claims) => {
                self.known[seat.member.node.0 as usize].claims = Some(claims.into_iter().collect());
            }
            wish => self.wishes.push((seat, wish)),
        }
    }

    /// A node asks for its lease, and says what it has acknowledged.
    pub(super) fn renew(
        &mut self,
        seat: Seat,
        acknowledged: (u64, u64),
        now: Instant,
    ) -> Option<(Instant, u64)> {
        let known = &mut self.known[seat.member.node.0 as usize];
        let is_news = acknowledged != known.acknowledged;
        if known.is_cut || known.seat != seat || (!is_news && now - known.heard < RENEW) {
            return None;
        }
        known.heard = now;
        known.acknowledged = acknowledged;
        // PROTOCOL rule 3: who owes an acknowledgement gets no extension.
        let owes = self.groups().iter().any(|(_, _, group)| {
            let change = group.change.as_deref();
            change.is_some_and(|it| it.fenced.contains(&seat) && it.proposed_at > acknowledged.0)
        });
        if owes {
            return None;
        }
        let known = &mut self.known[seat.member.node.0 as usize];
        known.leased = known.leased.max(now + LEASE);
        Some((now + LEASE, self.catalog.version().0))
    }

    pub(super) fn groups(&self) -> Vec<(TableId, PartitionId, Group)> {
        let tables = self
            .catalog
            .tables()
            .filter(|table| table.name != "default");
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

    fn known(&self, seat: Seat) -> &Known {
        &self.known[seat.member.node.0 as usize]
    }

    fn is_current(&self, seat: Seat) -> bool {
        self.known(seat).seat == seat
    }

    fn is_heard(&self, seat: Seat, now: Instant) -> bool {
        self.is_current(seat) && now - self.known(seat).heard < Duration::from_millis(800)
    }

    pub(super) fn attributes(&self, table: TableId) -> TableAttributes {
        let table = self.catalog.tables().find(|it| it.id == table);
        table.unwrap().attributes.clone()
    }

    /// Proposes and decides; what it did, for the story.
    pub(super) fn decide(
        &mut self,
        now: Instant,
        is_calm: bool,
        random: &mut Random,
    ) -> Vec<String> {
        let mut notes = Vec::new();
        self.grant_wishes(&mut notes);
        self.lead_siblings_together();
        for (table, partition, group) in self.groups() {
            let lazy = !is_calm && random.next().is_multiple_of(3);
            if lazy {
                continue;
            }
            let note = match &group.change {
                Some(_) => self.try_settle(table, partition, &group, now),
                None => None,
            };
            let note = note.or_else(|| self.try_repair(table, partition, &group, now));
            notes.extend(note.map(|note| format!("partition {partition}: {note}")));
        }
        notes
    }

    /// What primaries ask for is looked at so many steps later.
    pub(super) fn hold_wishes(&mut self, steps: u32) {
        self.wishes_held = steps;
    }

    fn grant_wishes(&mut self, notes: &mut Vec<String>) {
        if self.wishes_held > 0 {
            self.wishes_held -= 1;
            return;
        }
        for (seat, wish) in std::mem::take(&mut self.wishes) {
            let (partition, view, other, is_promotion) = match wish {
                ControlRequest::Promote {
                    partition,
                    view,
                    learner,
                } => (partition, view, learner, true),
                ControlRequest::Evict {
                    partition,
                    view,
                    backup,
                } => (partition, view, backup, false),
                ControlRequest::Split {
                    partition,
                    view,
                    begun_at,
                } => {
                    notes.extend(self.finish_split(seat, partition, view, begun_at));
                    continue;
                }
                ControlRequest::Rest(rest) => {
                    notes.extend(self.note_rest(seat, rest));
                    continue;
                }
                _ => continue,
            };
            let groups = self.groups();
            let Some((table, _, group)) = groups.into_iter().find(|it| it.1 == partition) else {
                continue;
            };
            if group.view != view || group.primary != seat || group.change.is_some() {
                continue;
            }
            let proposal = if is_promotion {
                let in_sync: Vec<Seat> = group.in_sync().chain([other]).collect();
                let mut proposal = Proposal::of(table, partition, &group, &in_sync);
                proposal.ground = Ground::Promotion;
                proposal.learners.retain(|it| *it != other);
                proposal
            } else {
                let in_sync: Vec<Seat> = group.in_sync().filter(|it| *it != other).collect();
                let mut proposal = Proposal::of(table, partition, &group, &in_sync);
                proposal.learners.retain(|it| *it != other);
                proposal
            };
            if self.propose(proposal) {
                let what = if is_promotion { "promotes" } else { "evicts" };
                notes.push(format!("partition {partition}: {seat} {what} {other}"));
            }
        }
    }

    pub(super) fn propose(&mut self, proposal: Proposal) -> bool {
        let applied = self.catalog.apply(Change::from(vec![proposal]));
        applied.is_ok_and(|applied| applied.stale.is_empty())
    }

    /// Begins to split a partition, for no reason.
    pub(super) fn begin_split(&mut self, dice: usize) -> Option<String> {
        let tables: Vec<String> = self.catalog.tables().map(|it| it.name.clone()).collect();
        let (table, partition, _) = self.groups().swap_remove(dice % self.groups().len());
        let name = tables.into_iter().find(|name| {
            let named = self.catalog.table(name);
            named.is_some_and(|it| it.id == table)
        })?;
        let change = Change::SplitPartition {
            table: name,
            partition,
        };
        let is_done = self.catalog.apply(change).is_ok();
        is_done.then(|| format!("partition {partition} is to be split"))
    }

    fn finish_split(
        &mut self,
        primary: Seat,
        partition: PartitionId,
        view: View,
        begun_at: u64,
    ) -> Option<String> {
        let split = *self.catalog.split_of(partition)?;
        let group = self.groups().into_iter().find(|it| it.1 == partition)?.2;
        if group.primary != primary {
            return None;
        }
        let ready = SplitReady {
            table: split.table,
            partition,
            view,
            begun_at: CatalogVersion(begun_at),
        };
        let applied = self.catalog.apply(Change::from(vec![ready]));
        if !applied.is_ok_and(|applied| applied.stale.is_empty()) {
            return None;
        }
        for known in &mut self.known {
            if known.unsure.remove(&partition) {
                known.unsure.extend(split.halves);
            }
        }
        if self.doubtful.remove(&partition) {
            self.doubtful.extend(split.halves);
        }
        Some(format!(
            "partition {partition} is split into {:?}",
            split.halves
        ))
    }

    /// What may have lost something may have lost it in what takes its place.
    pub(super) fn pass_doubts(&mut self, from: &[PartitionId], to: PartitionId) {
        for known in &mut self.known {
            let unsure = from.iter().filter(|it| known.unsure.remove(it));
            if unsure.count() > 0 {
                known.unsure.insert(to);
            }
        }
        let doubtful = from.iter().filter(|it| self.doubtful.remove(it));
        if doubtful.count() > 0 {
            self.doubtful.insert(to);
        }
    }

    /// The partition, and those that it was part of.
    pub(super) fn wholes(&self, partition: PartitionId) -> Vec<PartitionId> {
        let mut wholes = vec![partition];
        let tables = self.catalog.tables();
        for table in tables {
            let map = table.map.partitions();
            let Some(at) = map.index_of(partition) else {
                continue;
            };
            let first = map.leaves()[at].prefix.first();
            let formers = self.catalog.formers();
            let of_table = formers.filter(|(_, former)| former.table == table.id);
            let around = of_table.filter(|(_, former)| former.prefix().contains(first));
            wholes.extend(around.map(|(former, _)| former));
        }
        wholes
    }

    /// Hands a partition over to another in-sync member.
    pub(super) fn hand_over(&mut self, dice: usize) -> Option<String> {
        let groups = self.groups();
        let (table, partition, group) = groups.get(dice % groups.len())?;
        let mut in_sync: Vec<Seat> = group.in_sync().collect();
        if group.change.is_some() || in_sync.len() < 2 {
            return None;
        }
        in_sync.rotate_left(1);
        let to = in_sync[0];
        let is_done = self.propose(Proposal::of(*table, *partition, group, &in_sync));
        is_done.then(|| format!("partition {partition} is handed over to {to}"))
    }

    /// Takes an in-sync member out for no reason.
    pub(super) fn demote(&mut self, dice: usize) -> Option<String> {
        let groups = self.groups();
        let (table, partition, group) = groups.get(dice % groups.len())?;
        let mut in_sync: Vec<Seat> = group.in_sync().collect();
        if in_sync.len() < 2 {
            return None;
        }
        let out = in_sync.remove(dice % in_sync.len());
        let is_done = self.propose(Proposal::of(*table, *partition, group, &in_sync));
        is_done.then(|| format!("partition {partition} is taken from {out}"))
    }

    /// Lets an in-sync member learn anew, for no reason.
    pub(super) fn demote_to_learner(&mut self, dice: usize) -> Option<String> {
        let groups = self.groups();
        let (table, partition, group) = groups.get(dice % groups.len())?;
        let mut in_sync: Vec<Seat> = group.in_sync().collect();
        if in_sync.len() < 2 {
            return None;
        }
        let out = in_sync.remove(dice / groups.len() % in_sync.len());
        let mut proposal = Proposal::of(*table, *partition, group, &in_sync);
        proposal.learners.retain(|it| *it != out);
        proposal.learners.push(out);
        let is_done = self.propose(proposal);
        is_done.then(|| format!("partition {partition}: {out} is to learn anew"))
    }

    fn is_fenced(&self, seat: Seat, proposed_at: u64, now: Instant) -> bool {
        let known = self.known(seat);
        !self.is_current(seat) || known.acknowledged.0 >= proposed_at || now > known.leased + MARGIN
    }

    fn try_settle(
        &mut self,
        table: TableId,
        partition: PartitionId,
        group: &Group,
        now: Instant,
    ) -> Option<String> {
        let change = group.change.as_deref()?;
        let are_fenced = change
            .fenced
            .iter()
            .all(|seat| self.is_fenced(*seat, change.proposed_at, now));
        let is_accepted = self.is_current(change.primary)
            && self.known(change.primary).acknowledged.1 >= change.proposed_at;
        if !are_fenced || !is_accepted {
            return None;
        }
        let applied = self.catalog.apply(Change::from(vec![Settled {
            table,
            partition,
            view: change.view,
        }]));
        if !applied.is_ok_and(|applied| applied.stale.is_empty()) {
            return None;
        }
        for seat in change.in_sync() {
            // PROTOCOL rule 13. Of a former life it says nothing: its process is gone, and its power may be.
            let known = &mut self.known[seat.member.node.0 as usize];
            if known.seat == seat && !known.has_lost_power {
                known.unsure.remove(&partition);
            }
        }
        if change.lineage != group.lineage {
            self.emptied.push(partition);
        }
        self.settled.push(partition);
        let (view, primary) = (change.view, change.primary);
        Some(format!(
            "view {view} of {primary} is effective: {:?}",
            change.backups
        ))
    }

    fn try_repair(
        &mut self,
        table: TableId,
        partition: PartitionId,
        group: &Group,
        now: Instant,
    ) -> Option<String> {
        let change = group.change.as_deref();
        let wanted: Vec<Seat> = match change {
            Some(change) => change.in_sync().collect(),
            None => group.in_sync().collect(),
        };
        if wanted.iter().all(|seat| self.is_heard(*seat, now)) {
            return change
                .is_none()
                .then(|| self.enlist(table, partition, group, now))?;
        }
        let alive: Vec<Seat> = group
            .in_sync()
            .filter(|it| self.is_heard(*it, now))
            .collect();
        if !alive.is_empty() {
            let mut proposal = Proposal::of(table, partition, group, &alive);
            proposal
                .learners
                .retain(|it| self.is_current(*it) && !alive.contains(it));
            return self
                .propose(proposal)
                .then(|| format!("goes on with {alive:?}"));
        }
        if group.in_sync().any(|seat| self.is_current(seat)) {
            // It lives, and cannot be reached.
            return None;
        }
        self.rise_again(table, partition, group)
    }

    /// No in-sync member lives on.
    fn rise_again(
        &mut self,
        table: TableId,
        partition: PartitionId,
        group: &Group,
    ) -> Option<String> {
        let members: Vec<Seat> = group.in_sync().collect();
        let durability = self.attributes(table).durability;
        // Who has not heard yet that the partition was split says nothing of its parts.
        let is_silent = |seat: &Seat| {
            let claims = self.known(*seat).claims.as_ref();
            claims.is_none_or(|claims| !claims.contains_key(&partition))
        };
        let silent = members.iter().filter(|seat| is_silent(seat));
        let silent: Vec<usize> = silent.map(|it| it.member.node.0 as usize).collect();
        self.asked.extend(silent);
        let anew = |seat: &Seat| self.known(*seat).seat;
        if durability == Durability::Memory {
            let seat = anew(members.first()?);
            let proposal = Proposal {
                ground: Ground::Lost,
                learners: Vec::new(),
                ..Proposal::of(table, partition, group, &[seat])
            };
            return self
                .propose(proposal)
                .then(|| format!("is lost; {seat} begins anew"));
        }
        let claim = |seat: &Seat| {
            let claims = self.known(*seat).claims.as_ref()?;
            claims.get(&partition).cloned()
        };
        let is_sure = |seat: &&Seat| {
            let is_kept =
                durability == Durability::Fsync || !self.known(**seat).unsure.contains(&partition);
            is_kept && claim(seat).is_some_and(|it| it.is_complete)
        };
        let (chosen, is_sure) = match members.iter().find(is_sure) {
            Some(seat) => (*seat, true),
            None => {
                let claims: Option<Vec<(Seat, Claim)>> =
                    members.iter().map(|it| Some((*it, claim(it)?))).collect();
                let whole = claims?.into_iter().filter(|(_, claim)| claim.is_complete);
                (whole.max_by_key(|(_, claim)| claim.last)?.0, false)
            }
        };
        let seat = anew(&chosen);
        let proposal = Proposal {
            ground: Ground::Restart,
            learners: Vec::new(),
            ..Proposal::of(table, partition, group, &[seat])
        };
        if !self.propose(proposal) {
            return None;
        }
        if !is_sure {
            self.voided.push(partition);
            self.doubtful.insert(partition);
        }
        Some(format!("rises again with {seat}, sure {is_sure}"))
    }

    /// Replicas that are missing begin to catch up.
    fn enlist(
        &mut self,
        table: TableId,
        partition: PartitionId,
        group: &Group,
        now: Instant,
    ) -> Option<String> {
        let wanted = usize::from(self.attributes(table).replicas);
        let mut learners: Vec<Seat> = group.learners.clone();
        learners.retain(|it| self.is_heard(*it, now));
        let is_lost = |seat: &Seat| !learners.contains(seat) && self.is_current(*seat);
        if group.learners.iter().any(is_lost) {
            return self.let_go(table, partition, group, learners);
        }
        for at in 0..self.known.len() {
            let at = (at + partition.0 as usize) % self.known.len();
            let seat = self.known[at].seat;
            let is_in = group.in_sync().any(|it| it.member == seat.member);
            if group.in_sync().count() + learners.len() < wanted
                && !is_in
                && !learners.contains(&seat)
                && self.is_heard(seat, now)
            {
                learners.push(seat);
            }
        }
        if learners == group.learners {
            return None;
        }
        let note = format!("learners are {learners:?}");
        let change = Change::from(vec![NewLearners {
            table,
            partition,
            view: group.view,
            learners,
        }]);
        let applied = self.catalog.apply(change);
        applied.is_ok_and(|it| it.stale.is_empty()).then_some(note)
    }

    /// Learners that live are on the list no more. They may be listed again, so that takes a view (PROTOCOL rule 4).
    fn let_go(
        &mut self,
        table: TableId,
        partition: PartitionId,
        group: &Group,
        learners: Vec<Seat>,
    ) -> Option<String> {
        let in_sync: Vec<Seat> = group.in_sync().collect();
        let is_done = self.propose(Proposal {
            learners,
            ..Proposal::of(table, partition, group, &in_sync)
        });
        is_done.then(|| "a learner is let go".to_owned())
    }

    /// Takes the learners of a partition off its list, for no reason.
    pub(super) fn drop_learner(&mut self, dice: usize) -> Option<String> {
        let groups = self.groups();
        let (table, partition, group) = groups.get(dice % groups.len())?;
        if group.learners.is_empty() || group.change.is_some() {
            return None;
        }
        let note = self.let_go(*table, *partition, group, Vec::new())?;
        Some(format!("partition {partition}: {note}"))
    }

    /// Whether every partition has all its replicas in sync.
    pub(super) fn is_whole(&self, nodes: usize) -> bool {
        self.groups().iter().all(|(table, _, group)| {
            let wanted = usize::from(self.attributes(*table).replicas).min(nodes);
            group.change.is_none()
                && group.in_sync().count() == wanted
                && group.in_sync().all(|seat| self.is_current(seat))
        })
    }
}
