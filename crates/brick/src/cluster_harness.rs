//! Drives one brick each of several nodes in tests: logs and a network in memory, and a control plane that
//! always knows who lives.

mod control;
mod disk;
pub(crate) mod tables;

use crate::accepted::{Accepted, Port};
use crate::effect::{ControlReply, ControlRequest, Effect, Event};
use crate::harness::shared_of;
use crate::{Brick, BrickConfig, ConnectionId, Direction, Inspection, LinkId};
use brickyard_metadata::{
    Catalog, CatalogVersion, Change, ClusterId, Genesis, NewTable, Rest, Small,
};
use brickyard_routing::{Member, NodeId, Replica};
use brickyard_types::record::Header;
use brickyard_types::{
    BrickId, Incarnation, Instant, PartitionId, SegmentId, TableAttributes, UnixMillis,
};
use control::registration;
use disk::Disk;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// One node with one brick.
struct Host {
    brick: Option<Brick>,
    incarnation: Incarnation,
    disk: Disk,
    /// What it sends arrives later.
    is_mute: bool,
    /// It hears of new catalogs.
    is_informed: bool,
}

/// See the module.
pub(crate) struct Cluster {
    hosts: Vec<Host>,
    pub(crate) catalog: Catalog,
    now: Instant,
    unix: UnixMillis,
    /// The far end of each end of each stream.
    links: BTreeMap<(usize, LinkId), (usize, LinkId)>,
    /// What a mute node has sent on its end of a stream.
    unheard: BTreeMap<(usize, LinkId), Vec<u8>>,
    connections: u64,
    /// Nodes that cannot reach one another.
    cut: BTreeSet<(usize, usize)>,
    /// Views take effect at once; else when a test says so.
    pub(crate) is_deciding: bool,
    requests: Vec<ControlRequest>,
    /// What was said of small partitions that are apart from their siblings.
    pub(crate) small: Vec<Small>,
    /// What primaries said of siblings that are to be merged.
    rests: BTreeMap<PartitionId, Rest>,
    /// What bricks have found of partitions that come back online, and for which return.
    returned: BTreeMap<(PartitionId, Replica), (CatalogVersion, crate::ReplicaSummary)>,
    partition_bytes: u64,
}

#[derive(Clone, Copy)]
pub(crate) struct Client {
    host: usize,
    id: ConnectionId,
}

impl Cluster {
    /// So many nodes, and a table `t` of four partitions with these attributes.
    pub(crate) fn new(nodes: usize, attributes: TableAttributes) -> Self {
        let mut cluster = Self::unborn(nodes, attributes);
        cluster.settle();
        cluster
    }

    /// The same, whose partitions are split when they have more bytes.
    pub(crate) fn sized(nodes: usize, attributes: TableAttributes, partition_bytes: u64) -> Self {
        let mut cluster = Self::planned(nodes, attributes, partition_bytes);
        cluster.settle();
        cluster
    }

    /// The same before anybody has done anything.
    pub(crate) fn unborn(nodes: usize, attributes: TableAttributes) -> Self {
        Self::planned(nodes, attributes, 0)
    }

    fn planned(nodes: usize, attributes: TableAttributes, partition_bytes: u64) -> Self {
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
            unheard: BTreeMap::new(),
            connections: 0,
            cut: BTreeSet::new(),
            is_deciding: true,
            requests: Vec::new(),
            small: Vec::new(),
            rests: BTreeMap::new(),
            returned: BTreeMap::new(),
            partition_bytes,
        };
        for at in 0..nodes {
            cluster.hosts.push(Host {
                brick: None,
                incarnation: Incarnation(0),
                disk: Disk::new(),
                is_mute: false,
                is_informed: true,
            });
            cluster.start(at);
        }
        cluster
    }

    fn start(&mut self, at: usize) {
        let node = self.catalog.node(NodeId(at as u32)).unwrap();
        let incarnation = node.incarnation;
        let mut shared = shared_of(NodeId(at as u32), 1, Vec::new());
        if let Some(shared) = Arc::get_mut(&mut shared) {
            shared.limits.partition_bytes = self.partition_bytes;
        }
        let mut brick = Brick::new(BrickConfig {
            id: BrickId(0),
            incarnation,
            bricks: 1,
            shared,
            catalog: Arc::new(self.catalog.clone()),
            seed: at as u64,
        });
        brick.begin_turn(self.now, self.unix);
        let host = &mut self.hosts[at];
        host.disk.forget();
        let mut brick = host.disk.recover(brick);
        brick.handle(Event::Lease {
            until: Instant(u64::MAX - 1),
            version: 0,
        });
        host.incarnation = incarnation;
        host.brick = Some(brick);
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    pub(crate) fn replica(&self, at: usize) -> Replica {
        Replica {
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
        self.connect_to(host, port, "t")
    }

    /// The same, to another table.
    pub(crate) fn connect_to(&mut self, host: usize, port: Port, table: &str) -> Client {
        let accepted = Accepted {
            port,
            peer: "127.0.0.1:5000".to_owned(),
            local: "127.0.0.1:6379".to_owned(),
        };
        let id = self.brick(host).accept(accepted).unwrap();
        let client = Client { host, id };
        assert_eq!(self.call(client, &format!("TABLE USE {table}")), "+OK");
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

    /// What a node sends to others does not arrive, until it does.
    pub(crate) fn mute(&mut self, at: usize, is_mute: bool) {
        self.hosts[at].is_mute = is_mute;
        if !is_mute {
            for ((host, link), bytes) in std::mem::take(&mut self.unheard) {
                self.deliver(host, link, &bytes);
            }
        }
    }

    /// All streams of a node break; what it sent and nobody has is lost. What it sends from now on arrives.
    pub(crate) fn break_links(&mut self, at: usize) {
        self.hosts[at].is_mute = false;
        self.close_links(|(one, other)| one == at || other == at);
    }

    /// What is read back from a node's log comes later, or now.
    pub(crate) fn hold_reads(&mut self, at: usize, are_held: bool) {
        self.hosts[at].disk.are_reads_held = are_held;
    }

    /// What a node reads back from its log comes so many records at a time.
    pub(crate) fn read_by(&mut self, at: usize, records: usize) {
        self.hosts[at].disk.records_a_chunk = records;
    }

    /// The values that a node waits for cannot be read.
    pub(crate) fn fail_reads(&mut self, at: usize) {
        self.with_disk(at, Disk::fail_reads);
    }

    /// How many values a node waits for.
    pub(crate) fn reads(&self, at: usize) -> usize {
        self.hosts[at].disk.reads.len()
    }

    /// How many parts of segments a node waits for.
    pub(crate) fn chunks(&self, at: usize) -> usize {
        self.hosts[at].disk.chunks.len()
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

    /// A node's lease ends after so long.
    pub(crate) fn lease_for(&mut self, at: usize, duration: Duration) {
        self.lease(at, false);
        let until = self.now + duration;
        self.brick(at).handle(Event::Lease { until, version: 0 });
    }

    /// A node pauses in a turn: its lease ends between the turn's beginning and what it reads then.
    pub(crate) fn outlive_lease(&mut self, client: Client, command: &str) {
        let (at, now, unix) = (client.host, self.now, self.unix);
        self.lease(at, false);
        let until = now + Duration::from_secs(1);
        self.brick(at).handle(Event::Lease { until, version: 0 });
        self.brick(at).begin_turn(now, unix);
        self.send(client, command);
        self.brick(at).begin_batch(now + Duration::from_secs(2));
        self.brick(at).run();
    }

    /// A node pauses in a turn: what it reads then comes so much later than the turn's beginning.
    pub(crate) fn pause_before_reading(&mut self, client: Client, command: &str, pause: Duration) {
        let at = client.host;
        self.now = self.now + pause;
        let now = self.now;
        self.send(client, command);
        self.brick(at).begin_batch(now);
        self.brick(at).run();
    }

    /// The log refuses what waits, as a full disk does.
    pub(crate) fn refuse(&mut self, at: usize) {
        self.with_disk(at, Disk::refuse);
    }

    /// Seals the segment at hand, which is worth cleaning then.
    pub(crate) fn roll(&mut self, at: usize) {
        self.with_disk(at, Disk::roll);
    }

    /// Bytes of the segment at hand of a node's log.
    pub(crate) fn log_len(&self, at: usize) -> usize {
        self.hosts[at].disk.len()
    }

    /// What a node's log has from there on it has twice.
    pub(crate) fn repeat(&mut self, at: usize, from: usize) {
        self.hosts[at].disk.repeat(from);
    }

    /// A segment of a node's log cannot be read any more.
    pub(crate) fn damage(&mut self, at: usize, segment: u32) {
        self.hosts[at].disk.damaged.insert(SegmentId(segment));
    }

    /// The records of a node's log: headers, keys, values.
    pub(crate) fn records(&self, at: usize) -> Vec<(Header, Vec<u8>, Vec<u8>)> {
        self.hosts[at].disk.contents()
    }

    /// The log of a node that is down holds these records, and nothing else.
    pub(crate) fn rewrite(&mut self, at: usize, records: &[(Header, &[u8], Vec<u8>)]) {
        assert!(self.hosts[at].brick.is_none(), "node {at} has its log open");
        self.hosts[at].disk.replace(records);
    }

    /// The segments of a node's log.
    pub(crate) fn segments(&self, at: usize) -> Vec<u32> {
        self.hosts[at].disk.segments()
    }

    fn with_disk(&mut self, at: usize, work: impl FnOnce(&mut Disk, &mut Brick)) {
        let Host { brick, disk, .. } = &mut self.hosts[at];
        if let Some(brick) = brick {
            work(disk, brick);
        }
    }

    /// Whether a node has an operation on the key whose outcome it does not know.
    pub(crate) fn is_pending(&mut self, at: usize, key: &str) -> bool {
        let (id, partition, _) = self.group_of(key);
        let brick = self.brick(at);
        let table = brick.core.tables.index_of(id).unwrap();
        let key_ref = crate::keyed::key_ref(&brick.core, table, key.as_bytes()).unwrap();
        let log = &brick.core.log;
        log.pending(key_ref, partition, key.as_bytes()).is_some()
    }

    /// The keys that a node has of the key's partition.
    pub(crate) fn keys_at(&mut self, at: usize, key: &str) -> Vec<String> {
        let (table, partition, _) = self.group_of(key);
        let contents = Inspection::of(self.brick(at))
            .contents(table, partition)
            .unwrap();
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
        self.hosts[at].disk.is_stuck = is_stuck;
    }

    /// The node's process is killed; the page cache keeps what was appended.
    pub(crate) fn kill(&mut self, at: usize) {
        self.hosts[at].brick = None;
        self.close_links(|(near, far)| near == at || far == at);
        if self.is_deciding {
            self.remove(at);
        }
    }

    /// Views without a node that was killed while nothing was decided.
    pub(crate) fn go_on_without(&mut self, at: usize) {
        self.remove(at);
    }

    /// Nodes are killed at once: nothing is decided between one and the next.
    pub(crate) fn kill_at_once(&mut self, nodes: impl IntoIterator<Item = usize>) {
        let is_deciding = std::mem::replace(&mut self.is_deciding, false);
        for node in nodes {
            self.kill(node);
        }
        self.is_deciding = is_deciding;
    }

    /// Two nodes cannot reach one another any more.
    pub(crate) fn cut(&mut self, one: usize, other: usize) {
        self.cut.extend([(one, other), (other, one)]);
        self.close_links(|ends| [(one, other), (other, one)].contains(&ends));
    }

    /// All can reach one another again.
    pub(crate) fn mend(&mut self) {
        self.cut.clear();
    }

    fn close_links(&mut self, are_closed: impl Fn((usize, usize)) -> bool) {
        let ends: Vec<_> = self
            .links
            .iter()
            .filter(|(near, far)| are_closed((near.0, far.0)))
            .map(|(end, _)| *end)
            .collect();
        for (host, link) in ends {
            self.links.remove(&(host, link));
            self.unheard.remove(&(host, link));
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
            self.with_disk(at, Disk::append);
            self.with_disk(at, Disk::answer_reads);
            self.carry_bytes(at);
        }
    }

    fn carry_bytes(&mut self, at: usize) {
        while let Some(link) = self.brick(at).poll_peer_output() {
            let bytes = self.brick(at).peer_output(link).to_vec();
            self.brick(at).on_peer_sent(link, bytes.len());
            if self.hosts[at].is_mute {
                let unheard = self.unheard.entry((at, link)).or_default();
                unheard.extend_from_slice(&bytes);
            } else {
                self.deliver(at, link, &bytes);
            }
        }
    }

    fn deliver(&mut self, at: usize, link: LinkId, bytes: &[u8]) {
        if let Some(&(other, far)) = self.links.get(&(at, link))
            && let Some(brick) = self.hosts[other].brick.as_mut()
        {
            brick.peer_input(far).extend_from_slice(bytes);
            brick.on_peer_received(far);
        }
    }

    fn carry_out(&mut self, at: usize, effect: Effect) {
        let disk = &mut self.hosts[at].disk;
        match effect {
            Effect::Append(append) => disk.appends.push_back(append),
            Effect::Dial(replica) => self.dial(at, replica),
            Effect::ClosePeer(link, _) => {
                self.unheard.remove(&(at, link));
                if let Some((other, far)) = self.links.remove(&(at, link)) {
                    self.links.remove(&(other, far));
                    self.unheard.remove(&(other, far));
                    if let Some(brick) = self.hosts[other].brick.as_mut() {
                        brick.peer_closed(far);
                    }
                }
                self.brick(at).peer_closed(link);
            }
            Effect::Audit(_) => {}
            Effect::Report(text) => {
                let is_expected = !self.hosts[at].disk.damaged.is_empty();
                assert!(is_expected, "node {at} reports: {text}");
            }
            Effect::Checkpoint(token) => disk.checkpoints.push_back(token),
            Effect::ReadSegment { segment, from, .. } => disk.chunks.push_back((segment, from)),
            Effect::DeleteSegment(segment) => disk.delete(segment),
            Effect::Read(read) => disk.reads.push_back(read),
            Effect::Control(token, request) => match request {
                ControlRequest::Change(change) => {
                    let reply = match self.catalog.apply(change) {
                        Ok(applied) => ControlReply::Changed(applied),
                        Err(refusal) => ControlReply::Refused(refusal),
                    };
                    self.spread();
                    self.brick(at).handle(Event::Control(token, reply));
                }
                ControlRequest::Returned {
                    since, summaries, ..
                } => {
                    let replica = self.replica(at);
                    let told = summaries.into_iter();
                    let told =
                        told.map(|(partition, summary)| ((partition, replica), (since, summary)));
                    self.returned.extend(told);
                }
                request => self.requests.push(request),
            },
            other => panic!("not in these tests: {other:?}"),
        }
    }

    fn dial(&mut self, at: usize, replica: Replica) {
        let other = replica.member.node.0 as usize;
        if other == at || !self.lives(replica) || self.cut.contains(&(at, other)) {
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
        let (number, me) = (self.connections, self.replica(at));
        let near = self.brick(at).peer_number();
        let far = self.brick(other).peer_number();
        self.links.insert((at, near), (other, far));
        self.links.insert((other, far), (at, near));
        self.brick(at)
            .peer_opened(near, replica, Direction::Outgoing, number);
        self.brick(other)
            .peer_opened(far, me, Direction::Incoming, number);
    }

    fn outgoing(&self, at: usize, link: LinkId) -> bool {
        let brick = self.hosts[at].brick.as_ref().unwrap();
        brick.peer_direction(link) == Some(Direction::Outgoing)
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
                out += &format!("node {at}: {}", Inspection::of(brick).describe_replicas());
            }
        }
        out
    }
}
