//! Drives one brick each of several nodes in tests: logs and a network in memory, and a control plane that
//! always knows who lives.

use crate::effect::{Accepted, ControlReply, ControlRequest, Effect, Event, Port};
use crate::harness::shared_of;
use crate::{Brick, Config, ConnectionId, Direction, LinkId, Recovered};
use brickyard_metadata::{
    Addresses, Alteration, Catalog, Change, ClusterId, Genesis, Ground, Machine, NewLearners,
    NewTable, NodeKey, Proposal, Registration, Roles, Settled,
};
use brickyard_routing::{Group, Member, NodeId, Seat};
use brickyard_types::{
    BrickId, Incarnation, Instant, PartitionId, Position, SegmentId, TableAttributes, TableId,
    UnixMillis, record,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// One node with one brick.
struct Host {
    brick: Option<Brick>,
    incarnation: Incarnation,
    log: Vec<u8>,
    /// Appends wait.
    is_stuck: bool,
    queue: VecDeque<crate::Append>,
    chunks: VecDeque<(SegmentId, u32)>,
    reads: VecDeque<crate::ColdRead>,
    /// Reads of single values wait.
    are_reads_held: bool,
    /// What it sends does not arrive.
    is_mute: bool,
    /// Newer catalogs do not reach it.
    is_deaf: bool,
}

/// See the module.
pub(crate) struct Cluster {
    hosts: Vec<Host>,
    pub(crate) catalog: Catalog,
    now: Instant,
    unix: UnixMillis,
    /// The far end of each end of each stream.
    links: BTreeMap<(usize, LinkId), (usize, LinkId)>,
    connections: u64,
    /// Nodes that cannot reach one another.
    pub(crate) cut: BTreeSet<(usize, usize)>,
    /// Views take effect at once; else when a test says so.
    pub(crate) is_deciding: bool,
    wishes: Vec<ControlRequest>,
}

#[derive(Clone, Copy)]
pub(crate) struct Client {
    host: usize,
    id: ConnectionId,
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
        machine: Machine::default(),
    }
}

const SEGMENT: SegmentId = SegmentId(1);

impl Cluster {
    /// So many nodes, and a table `t` of four partitions with these attributes.
    pub(crate) fn new(nodes: usize, attributes: TableAttributes) -> Self {
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
            catalog
                .apply(Change::Register(registration(node, 1)))
                .unwrap();
        }
        catalog
            .apply(Change::CreateTable(NewTable {
                attributes,
                partitions: Some(4),
                ..NewTable::named("t", 3, UnixMillis(0))
            }))
            .unwrap();
        let mut cluster = Self {
            hosts: Vec::new(),
            catalog,
            now: Instant(1_000_000_000),
            unix: UnixMillis(1_700_000_000_000),
            links: BTreeMap::new(),
            connections: 0,
            cut: BTreeSet::new(),
            is_deciding: true,
            wishes: Vec::new(),
        };
        for at in 0..nodes {
            cluster.hosts.push(Host {
                brick: None,
                incarnation: Incarnation(0),
                log: Vec::new(),
                is_stuck: false,
                queue: VecDeque::new(),
                chunks: VecDeque::new(),
                reads: VecDeque::new(),
                are_reads_held: false,
                is_mute: false,
                is_deaf: false,
            });
            cluster.start(at);
        }
        cluster.settle();
        cluster
    }

    fn start(&mut self, at: usize) {
        let node = self.catalog.node(NodeId(at as u32)).unwrap();
        let incarnation = node.incarnation;
        let mut brick = Brick::new(Config {
            id: BrickId(0),
            incarnation,
            bricks: 1,
            shared: shared_of(NodeId(at as u32), 1, Vec::new()),
            catalog: Arc::new(self.catalog.clone()),
            seed: at as u64,
        });
        brick.begin_turn(self.now, self.unix);
        let host = &mut self.hosts[at];
        let mut offset = 0;
        while offset < host.log.len() {
            let record = record::decode(&host.log[offset..]).unwrap();
            let position = Position {
                segment: SEGMENT,
                offset: offset as u32,
            };
            offset += record.len;
            brick.recover(Recovered::Record { record, position });
        }
        brick.finish_recovery(&[]);
        brick.handle(Event::Lease {
            until: Instant(u64::MAX - 1),
            version: 0,
        });
        host.incarnation = incarnation;
        host.brick = Some(brick);
        host.queue.clear();
        host.chunks.clear();
        host.reads.clear();
    }

    pub(crate) fn seat(&self, at: usize) -> Seat {
        Seat {
            member: Member {
                node: NodeId(at as u32),
                brick: BrickId(0),
            },
            incarnation: self.hosts[at].incarnation,
        }
    }

    pub(crate) fn brick(&mut self, at: usize) -> &mut Brick {
        self.hosts[at].brick.as_mut().unwrap()
    }

    pub(crate) fn connect(&mut self, host: usize, port: Port) -> Client {
        let accepted = Accepted {
            port,
            peer: "127.0.0.1:5000".to_owned(),
            local: "127.0.0.1:6379".to_owned(),
        };
        let id = self.brick(host).accept(accepted).unwrap();
        let client = Client { host, id };
        assert_eq!(self.call(client, "TABLE USE t"), "+OK");
        client
    }

    pub(crate) fn call(&mut self, client: Client, command: &str) -> String {
        self.send(client, command);
        self.settle();
        self.receive(client)
    }

    pub(crate) fn send(&mut self, client: Client, commands: &str) {
        let brick = self.brick(client.host);
        for command in commands.lines() {
            let input = brick.input(client.id);
            input.extend_from_slice(command.trim().as_bytes());
            input.extend_from_slice(b"\r\n");
        }
        brick.on_received(client.id);
    }

    pub(crate) fn receive(&mut self, client: Client) -> String {
        let brick = self.brick(client.host);
        let reply = String::from_utf8_lossy(brick.output(client.id)).into_owned();
        brick.on_sent(client.id, reply.len());
        reply.replace("\r\n", " ").trim_end().to_owned()
    }

    /// What a node sends to others does not arrive any more.
    pub(crate) fn mute(&mut self, at: usize) {
        self.hosts[at].is_mute = true;
    }

    /// Newer catalogs do not reach a node, or do again.
    pub(crate) fn deafen(&mut self, at: usize, is_deaf: bool) {
        self.hosts[at].is_deaf = is_deaf;
        if !is_deaf {
            self.spread();
        }
    }

    /// Values that are read back from a node's log come later, or now.
    pub(crate) fn hold_reads(&mut self, at: usize, are_held: bool) {
        self.hosts[at].are_reads_held = are_held;
    }

    /// The reads that a node waits for fail.
    pub(crate) fn fail_reads(&mut self, at: usize) {
        for read in std::mem::take(&mut self.hosts[at].reads) {
            let value = Err("it is not there".to_owned());
            let token = read.token;
            self.brick(at).handle(Event::Read { token, value });
        }
    }

    pub(crate) fn reads(&self, at: usize) -> usize {
        self.hosts[at].reads.len()
    }

    /// A node's lease ends, or is granted for good.
    pub(crate) fn lease(&mut self, at: usize, is_leased: bool) {
        let until = if is_leased {
            Instant(u64::MAX - 1)
        } else {
            Instant(0)
        };
        self.brick(at).handle(Event::Lease { until, version: 0 });
    }

    /// The log refuses what waits, as a full disk does.
    pub(crate) fn refuse(&mut self, at: usize) {
        let queue = std::mem::take(&mut self.hosts[at].queue);
        if let Some(append) = queue.front() {
            let reason = "No space left on device".to_owned();
            let id = append.id;
            self.brick(at).handle(Event::AppendFailed { id, reason });
        }
    }

    /// Seals the log's segment, as far as the brick knows.
    pub(crate) fn roll(&mut self, at: usize) {
        let bytes = self.hosts[at].log.len() as u64;
        self.brick(at).handle(Event::Rolled {
            sealed: SEGMENT,
            bytes,
        });
    }

    /// The records of a node's log.
    pub(crate) fn records(&self, at: usize) -> Vec<(record::Header, Vec<u8>, Vec<u8>)> {
        let log = &self.hosts[at].log;
        let mut records = Vec::new();
        let mut offset = 0;
        while offset < log.len() {
            let record = record::decode(&log[offset..]).unwrap();
            offset += record.len;
            records.push((record.header, record.key.to_vec(), record.value.to_vec()));
        }
        records
    }

    fn group_of(&self, key: &str) -> (TableId, PartitionId, Group) {
        let mut tables = self.catalog.tables();
        let table = tables.find(|table| table.name == "t").unwrap();
        let partition = table.map.locate(key.as_bytes()).partition;
        let group = table.map.group(partition).unwrap().clone();
        (table.id, partition, group)
    }

    /// The node that is the key's primary, and the first of its backups.
    pub(crate) fn places_of(&self, key: &str) -> (usize, Option<usize>) {
        let (_, _, group) = self.group_of(key);
        let at = |seat: &Seat| seat.member.node.0 as usize;
        (at(&group.primary), group.backups.first().map(at))
    }

    /// A key of which the nodes are primary and first backup.
    pub(crate) fn key_at(&self, primary: usize, backup: usize) -> String {
        let mut keys = (0..1000).map(|at| format!("k{at}"));
        let found = keys.find(|key| self.places_of(key) == (primary, Some(backup)));
        found.expect("four partitions of two or three nodes")
    }

    /// Other in-sync members for a key's partition, the primary first.
    pub(crate) fn regroup(&mut self, key: &str, nodes: &[usize]) {
        let (table, partition, group) = self.group_of(key);
        let seats: Vec<Seat> = nodes.iter().map(|at| self.seat(*at)).collect();
        self.propose(Proposal::of(table, partition, &group, &seats));
    }

    /// Other learners for a key's partition.
    pub(crate) fn set_learners(&mut self, key: &str, nodes: &[usize]) {
        let (table, partition, group) = self.group_of(key);
        let learners = nodes.iter().map(|at| self.seat(*at)).collect();
        let view = group.view;
        let change = Change::Learners(vec![NewLearners {
            table,
            partition,
            view,
            learners,
        }]);
        self.catalog.apply(change).unwrap();
        self.spread();
    }

    /// Another number of replicas is wanted of the table.
    pub(crate) fn alter(&mut self, replicas: u8) {
        let change = Change::AlterTable {
            name: "t".to_owned(),
            alteration: Alteration {
                replicas: Some(replicas),
                ..Alteration::default()
            },
        };
        self.catalog.apply(change).unwrap();
        self.spread();
    }

    /// Whether a node has an operation on the key whose outcome it does not know.
    pub(crate) fn is_pending(&mut self, at: usize, key: &str) -> bool {
        let (id, partition, _) = self.group_of(key);
        let brick = self.brick(at);
        let table = brick.core.table_by_id[&id];
        let key_ref = brick.key_ref(table, key.as_bytes()).unwrap();
        let log = &brick.core.log;
        log.pending(key_ref, partition, key.as_bytes()).is_some()
    }

    /// The keys that a node has of the key's partition.
    pub(crate) fn keys_at(&mut self, at: usize, key: &str) -> Vec<String> {
        let (table, partition, _) = self.group_of(key);
        let contents = self.brick(at).contents(table, partition);
        let keys = contents.into_keys();
        keys.map(|key| String::from_utf8(key).unwrap()).collect()
    }

    /// Turns until something is so.
    pub(crate) fn turn_until(&mut self, mut is_so: impl FnMut(&mut Self) -> bool) {
        for _ in 0..50 {
            if is_so(self) {
                return;
            }
            self.turn();
        }
        panic!("it never is\n{}", self.story());
    }

    /// Appends of a node's log wait, or go on.
    pub(crate) fn stick(&mut self, at: usize, is_stuck: bool) {
        self.hosts[at].is_stuck = is_stuck;
    }

    /// The node's process is killed; the page cache keeps what was appended.
    pub(crate) fn kill(&mut self, at: usize) {
        self.hosts[at].brick = None;
        self.close_links(at);
        if self.is_deciding {
            self.remove(at);
        }
    }

    fn close_links(&mut self, at: usize) {
        let ends: Vec<_> = self
            .links
            .iter()
            .filter(|((host, _), (other, _))| *host == at || *other == at)
            .map(|(end, _)| *end)
            .collect();
        for (host, link) in ends {
            self.links.remove(&(host, link));
            if let Some(brick) = self.hosts[host].brick.as_mut() {
                brick.peer_closed(link);
            }
        }
    }

    /// The process comes back, with its log, in a new life.
    pub(crate) fn restart(&mut self, at: usize) {
        let run = self.hosts[at].incarnation.0 + 100;
        self.catalog
            .apply(Change::Register(registration(at, run)))
            .unwrap();
        self.spread();
        self.start(at);
        self.spread();
        if self.is_deciding {
            self.enlist(at);
        }
        self.settle();
    }

    fn groups(&self) -> Vec<(TableId, PartitionId, Group)> {
        let tables = self.catalog.tables().filter(|table| table.name == "t");
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

    fn lives(&self, seat: Seat) -> bool {
        let host = &self.hosts[seat.member.node.0 as usize];
        host.brick.is_some() && host.incarnation == seat.incarnation
    }

    /// Views without a dead node.
    fn remove(&mut self, at: usize) {
        let dead = self.seat(at);
        for (table, partition, group) in self.groups() {
            let alive: Vec<Seat> = group.in_sync().filter(|seat| self.lives(*seat)).collect();
            let is_named = group.in_sync().any(|seat| seat == dead);
            if is_named && !alive.is_empty() {
                self.propose(Proposal::of(table, partition, &group, &alive));
            }
        }
    }

    /// The node's bricks catch up wherever a replica is missing; alone, it leads again.
    fn enlist(&mut self, at: usize) {
        let seat = self.seat(at);
        let claims: BTreeMap<PartitionId, crate::Claim> = self.claims(at);
        for (table, partition, group) in self.groups() {
            let is_any_alive = group.in_sync().any(|it| self.lives(it));
            let was_in_sync = group.in_sync().any(|it| it.member == seat.member);
            if is_any_alive {
                let mut learners = group.learners.clone();
                learners.retain(|it| self.lives(*it));
                learners.push(seat);
                let change = Change::Learners(vec![NewLearners {
                    table,
                    partition,
                    view: group.view,
                    learners,
                }]);
                self.catalog.apply(change).unwrap();
            } else if was_in_sync && claims.get(&partition).is_none_or(|claim| claim.is_complete) {
                self.propose(Proposal {
                    ground: Ground::Restart,
                    learners: Vec::new(),
                    ..Proposal::of(table, partition, &group, &[seat])
                });
            }
        }
        self.spread();
    }

    fn claims(&mut self, at: usize) -> BTreeMap<PartitionId, crate::Claim> {
        self.brick(at).handle(Event::WantClaims(1));
        self.wishes.clear();
        self.turn();
        let wishes = std::mem::take(&mut self.wishes);
        let claims = wishes.into_iter().find_map(|wish| match wish {
            ControlRequest::Claims(claims) => Some(claims.into_iter().collect()),
            _ => None,
        });
        claims.unwrap_or_default()
    }

    fn propose(&mut self, proposal: Proposal) {
        let applied = self.catalog.apply(Change::Propose(vec![proposal])).unwrap();
        assert!(applied.stale.is_empty(), "{:?}", applied.stale);
        self.spread();
    }

    fn spread(&mut self) {
        let catalog = Arc::new(self.catalog.clone());
        for host in self.hosts.iter_mut().filter(|host| !host.is_deaf) {
            if let Some(brick) = &mut host.brick {
                brick.handle(Event::Catalog(Arc::clone(&catalog)));
            }
        }
    }

    /// Lets views take effect whose members have stopped, died or accepted.
    fn decide(&mut self) {
        let wishes = std::mem::take(&mut self.wishes);
        for wish in wishes {
            if let ControlRequest::Promote {
                partition,
                view,
                learner,
            } = wish
                && let Some((table, _, group)) = self
                    .groups()
                    .into_iter()
                    .find(|(_, id, _)| *id == partition)
                && group.view == view
                && group.change.is_none()
            {
                let in_sync: Vec<Seat> = group.in_sync().chain([learner]).collect();
                let mut proposal = Proposal::of(table, partition, &group, &in_sync);
                proposal.ground = Ground::Promotion;
                proposal.learners.retain(|it| *it != learner);
                self.propose(proposal);
            }
        }
        let mut settled = Vec::new();
        for (table, partition, group) in self.groups() {
            let Some(change) = &group.change else {
                continue;
            };
            let acks = |seat: Seat| {
                let host = &self.hosts[seat.member.node.0 as usize];
                host.brick.as_ref().map(Brick::acknowledged)
            };
            let is_fenced = change.fenced.iter().all(|seat| {
                !self.lives(*seat)
                    || acks(*seat).is_some_and(|(stopped, _)| stopped >= change.proposed_at)
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
            let applied = self.catalog.apply(Change::Effective(settled)).unwrap();
            assert!(applied.stale.is_empty(), "{:?}", applied.stale);
            self.spread();
        }
    }

    /// Turns, and lets some time pass, until all is quiet.
    pub(crate) fn settle(&mut self) {
        for round in 0..60 {
            self.turn();
            if self.is_deciding {
                self.decide();
            }
            if round % 4 == 0 {
                self.tick(Duration::from_millis(100));
            }
        }
    }

    pub(crate) fn tick(&mut self, duration: Duration) {
        self.now = self.now + duration;
        self.unix = UnixMillis(self.unix.0 + duration.as_millis() as u64);
        for host in &mut self.hosts {
            if let Some(brick) = &mut host.brick {
                brick.begin_turn(self.now, self.unix);
                brick.handle(Event::Tick);
            }
        }
    }

    pub(crate) fn turn(&mut self) {
        for at in 0..self.hosts.len() {
            let (now, unix) = (self.now, self.unix);
            let Some(brick) = self.hosts[at].brick.as_mut() else {
                continue;
            };
            brick.begin_turn(now, unix);
            brick.run();
            while let Some(effect) = self.hosts[at].brick.as_mut().unwrap().poll_effect() {
                self.carry_out(at, effect);
            }
            self.append(at);
            self.read(at);
            self.carry_bytes(at);
        }
    }

    fn append(&mut self, at: usize) {
        let host = &mut self.hosts[at];
        let Some(brick) = &mut host.brick else {
            return;
        };
        while !host.is_stuck
            && let Some(append) = host.queue.pop_front()
        {
            let offset = host.log.len() as u32;
            host.log.extend_from_slice(&append.bytes);
            brick.handle(Event::Appended {
                id: append.id,
                position: Position {
                    segment: SEGMENT,
                    offset,
                },
            });
            brick.handle(Event::Synced(append.id));
        }
    }

    fn answer_reads(&mut self, at: usize) {
        if self.hosts[at].are_reads_held {
            return;
        }
        for read in std::mem::take(&mut self.hosts[at].reads) {
            let bytes = self.hosts[at].log[read.position.offset as usize..].to_vec();
            let record = record::decode(&bytes).unwrap();
            assert_eq!((record.header.op, record.key), (read.op, &read.key[..]));
            let (token, value) = (read.token, Ok(record.value));
            self.brick(at).handle(Event::Read { token, value });
        }
    }

    fn read(&mut self, at: usize) {
        self.answer_reads(at);
        let host = &mut self.hosts[at];
        let (Some(brick), Some((segment, from))) = (&mut host.brick, host.chunks.pop_front())
        else {
            return;
        };
        let bytes = host.log[from as usize..].to_vec();
        brick.handle(Event::SegmentChunk {
            segment,
            from,
            bytes: &bytes,
            offsets: &crate::segments::offsets(from, &bytes),
            next: None,
            damaged: false,
        });
    }

    fn carry_bytes(&mut self, at: usize) {
        while let Some(link) = self.brick(at).poll_peer_output() {
            let bytes = self.brick(at).peer_output(link).to_vec();
            self.brick(at).on_peer_sent(link, bytes.len());
            if self.hosts[at].is_mute {
                continue;
            }
            let Some(&(other, far)) = self.links.get(&(at, link)) else {
                continue;
            };
            if let Some(brick) = self.hosts[other].brick.as_mut() {
                brick.peer_input(far).extend_from_slice(&bytes);
                brick.on_peer_received(far);
            }
        }
    }

    fn carry_out(&mut self, at: usize, effect: Effect) {
        match effect {
            Effect::Append(append) => self.hosts[at].queue.push_back(append),
            Effect::Dial(seat) => self.dial(at, seat),
            Effect::ClosePeer(link, _) => {
                if let Some((other, far)) = self.links.remove(&(at, link)) {
                    self.links.remove(&(other, far));
                    if let Some(brick) = self.hosts[other].brick.as_mut() {
                        brick.peer_closed(far);
                    }
                }
                self.brick(at).peer_closed(link);
            }
            Effect::Report(text) => panic!("node {at} reports: {text}"),
            Effect::Checkpoint(token) => {
                self.append(at);
                self.brick(at).handle(Event::Checkpointed(token, Ok(())));
            }
            Effect::ReadSegment { segment, from, .. } => {
                self.hosts[at].chunks.push_back((segment, from));
            }
            Effect::Read(read) => self.hosts[at].reads.push_back(read),
            Effect::Control(token, request) => match request {
                ControlRequest::Change(change) => {
                    let reply = match self.catalog.apply(change) {
                        Ok(applied) => ControlReply::Changed(applied),
                        Err(refusal) => ControlReply::Refused(refusal),
                    };
                    self.spread();
                    self.brick(at).handle(Event::Control(token, reply));
                }
                wish => self.wishes.push(wish),
            },
            other => panic!("not in these tests: {other:?}"),
        }
    }

    fn dial(&mut self, at: usize, seat: Seat) {
        let other = seat.member.node.0 as usize;
        if other == at || !self.lives(seat) || self.cut.contains(&(at, other)) {
            return;
        }
        let is_there = self
            .links
            .iter()
            .any(|(near, far)| near.0 == at && far.0 == other && self.outgoing(at, near.1));
        if is_there {
            return;
        }
        self.connections += 1;
        let (number, me) = (self.connections, self.seat(at));
        let near = self.brick(at).peer_number();
        let far = self.brick(other).peer_number();
        self.links.insert((at, near), (other, far));
        self.links.insert((other, far), (at, near));
        self.brick(at)
            .peer_opened(near, seat, Direction::Outgoing, number);
        self.brick(other)
            .peer_opened(far, me, Direction::Incoming, number);
    }

    fn outgoing(&self, at: usize, link: LinkId) -> bool {
        let brick = self.hosts[at].brick.as_ref().unwrap();
        brick.peer_direction(link) == Some(Direction::Outgoing)
    }

    /// Whether every partition has so many members in sync and no change under way.
    pub(crate) fn is_whole(&self, members: usize) -> bool {
        self.groups()
            .iter()
            .all(|(_, _, group)| group.in_sync().count() == members && group.change.is_none())
    }

    /// How things stand, for the message of a test that fails.
    pub(crate) fn story(&self) -> String {
        let mut out = String::new();
        for (_, partition, group) in self.groups() {
            out += &format!("partition {partition}: {group:?}\n");
        }
        out += &format!("links {:?}\n", self.links);
        for (at, host) in self.hosts.iter().enumerate() {
            if let Some(brick) = &host.brick {
                out += &format!("node {at}: {}", brick.describe_replicas());
            }
        }
        out
    }
}
