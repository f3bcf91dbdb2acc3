//! Drives bricks in tests: a log in memory that does what it is told, and clients that speak bytes.

use crate::accepted::{Accepted, Port};
use crate::acl_log::NodeAclLog;
use crate::append::{Append, BatchId};
use crate::channels::NodeChannels;
use crate::directory::NodeClients;
use crate::effect::{ControlReply, ControlRequest, Effect, Event, SetRule};
use crate::log_chunk::{LogChunk, verified};
use crate::quota::Quotas;
use crate::scripts::NodeScripts;
use crate::session::audit::AuditRecord;
use crate::settings::Settings;
use crate::shared::{
    BrickAddress, NodeAddress, NodeCounters, NodeIdentity, NodeLimits, Oversight, ProcessStats,
    Shared,
};
use crate::stats::Stats;
use crate::users::{User, Users};
use crate::{Brick, BrickConfig, ConnectionId, LogRecord, LogReplay};
use brickyard_metadata::{
    AccountRule, Addresses, Catalog, Change, ClusterId, Genesis, Machine, NodeKey, Registration,
    Roles,
};
use brickyard_routing::NodeId;
use brickyard_types::limits::HASH_WHOLE_BYTES_MAX;
use brickyard_types::record;
use brickyard_types::{
    BrickId, Durability, Instant, Medium, Position, SegmentId, TableAttributes, UnixMillis,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// A node of some bricks, with their logs.
pub(crate) struct Node {
    pub(crate) bricks: Vec<Brick>,
    pub(crate) logs: Vec<Log>,
    pub(crate) now: Instant,
    pub(crate) unix: UnixMillis,
    /// What changes of the catalog are answered with, in the place of being made.
    pub(crate) no_change: Option<String>,
    /// What another node has changed, of which this one hears when it catches up.
    pub(crate) elsewhere: Option<Change>,
    /// What was told of administration.
    pub(crate) audited: Vec<AuditRecord>,
    /// Lines for the log.
    pub(crate) reports: Vec<String>,
    pub(crate) catalog: Catalog,
    users: Vec<User>,
}

/// Where the first record of a segment stands: a segment's header is before it.
pub(crate) const HEADER_BYTES: u32 = 64;

/// A brick's log: what was appended, and what has been asked for and not done yet.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) bytes: Vec<u8>,
    /// Sealed segments that are still there: where in `bytes` they start and end.
    pub(crate) sealed: BTreeMap<SegmentId, (usize, usize)>,
    /// The active segment's number less one, and where in `bytes` it starts.
    rolled: u32,
    base: usize,
    /// How much of `bytes` a power cut leaves.
    synced_bytes: usize,
    pub(crate) queue: VecDeque<Append>,
    pub(crate) reads: Vec<crate::ColdRead>,
    /// Where in `bytes` the active segment was to be closed.
    pub(crate) closed: Vec<usize>,
    /// Appends wait in the queue until [`Node::append`] is called.
    pub(crate) is_held: bool,
    pub(crate) synced: BatchId,
    pub(crate) appended: BatchId,
    pub(crate) stopped: Option<String>,
}

impl Log {
    fn active(&self) -> SegmentId {
        SegmentId(self.rolled + 1)
    }

    fn start(&self, segment: SegmentId) -> usize {
        self.sealed
            .get(&segment)
            .map_or(self.base, |(start, _)| *start)
    }
}

fn shared(bricks: u32, users: Vec<User>) -> Arc<Shared> {
    shared_of(NodeId(0), bricks, users)
}

/// What the bricks of a node see.
pub(crate) fn shared_of(node: NodeId, bricks: u32, users: Vec<User>) -> Arc<Shared> {
    Arc::new(Shared {
        identity: NodeIdentity {
            run_id: "r".repeat(40),
            node,
            node_id: "0".repeat(40),
            redis_version: "7.2.4",
            version: "0.0.0",
            started: UnixMillis(0),
            process_id: 1,
            directory: "/data".to_owned(),
            config_file: String::new(),
            os: "test".to_owned(),
            memory_total: 1 << 30,
            io_uring: Err("off".to_owned()),
        },
        address: NodeAddress {
            host: "127.0.0.1".to_owned(),
            port: 6379,
            has_tls: false,
            bricks: (0..bricks)
                .map(|brick| BrickAddress {
                    id: format!("{brick:040x}"),
                    port: 6380 + brick as u16,
                })
                .collect(),
        },
        limits: NodeLimits {
            request_deadline: Duration::from_secs(5),
            eviction_timeout: Duration::from_secs(5),
            // Tests hold disks back for as long as they like.
            suspect_after: Duration::from_secs(5),
            recovery_bandwidth: 0,
            segment_bytes: 64 << 20,
            partition_bytes: 0,
            default_replicas: 1,
            merge_after: Duration::from_secs(60),
            value_bytes_max: 1 << 20,
            hash_whole_bytes_max: HASH_WHOLE_BYTES_MAX,
        },
        settings: Settings {
            // Instructions count: a script ends at the same place each time.
            script_time_max: AtomicU64::new(0),
            ..Settings::default()
        },
        users: Users::new(users),
        keeps_users: Ok(()),
        stats: (0..bricks).map(|_| Stats::new()).collect(),
        process: ProcessStats::default(),
        counters: NodeCounters::new(UnixMillis(0)),
        quotas: Quotas::default(),
        scripts: NodeScripts::new(bricks as usize),
        acl_log: NodeAclLog::default(),
        channels: NodeChannels::default(),
        directory: NodeClients::default(),
        oversight: Oversight::new(bricks as usize),
        lowest_level: Arc::default(),
    })
}

fn registration(bricks: u32) -> Registration {
    Registration {
        key: NodeKey([0; 20]),
        run: 1,
        addresses: Addresses {
            host: "127.0.0.1".to_owned(),
            port: 6379,
            bricks: (0..bricks as u16).map(|brick| 6380 + brick).collect(),
            peer_port: 0,
            http_port: None,
        },
        bricks,
        weight: 1,
        zone: None,
        roles: Roles::default(),
        machine: Machine::default(),
    }
}

pub(crate) fn with(durability: Durability) -> TableAttributes {
    TableAttributes {
        durability,
        ..TableAttributes::default()
    }
}

/// A node of one brick, whose table is as durable as its log.
pub(crate) fn log() -> Node {
    Node::new(1, with(Durability::Log))
}

/// A node whose values, after these requests and a restart, are in a sealed segment alone; and a client of it.
pub(crate) fn restarted_on_disk(requests: &str) -> (Node, Client) {
    let attributes = TableAttributes {
        medium: Medium::Disk,
        maxmemory: Some(1),
        ..with(Durability::Log)
    };
    let mut node = Node::new(1, attributes);
    let client = node.connect(0, Port::Node);
    node.call(client, requests);
    node.roll(0);
    node.settle();
    node.restart();
    let client = node.connect(0, Port::Node);
    (node, client)
}

impl Node {
    /// A node whose default table is as asked.
    pub(crate) fn new(bricks: u32, attributes: TableAttributes) -> Self {
        Self::with_users(bricks, attributes, Vec::new())
    }

    pub(crate) fn with_users(bricks: u32, attributes: TableAttributes, users: Vec<User>) -> Self {
        let catalog = Catalog::found(Genesis {
            cluster: ClusterId(1),
            node: registration(bricks),
            attributes,
            partitions: None,
            seed: 7,
            created: UnixMillis(0),
        })
        .unwrap();
        let mut node = Self {
            bricks: Vec::new(),
            logs: (0..bricks).map(|_| Log::default()).collect(),
            now: Instant(1_000_000_000),
            unix: UnixMillis(1_700_000_000_000),
            no_change: None,
            elsewhere: None,
            audited: Vec::new(),
            reports: Vec::new(),
            catalog,
            users,
        };
        node.start();
        let bricks = node.bricks.into_iter();
        node.bricks = bricks
            .map(|brick| LogReplay::of(brick).end(&[], SegmentId(1)))
            .collect();
        node.turn();
        node
    }

    fn start(&mut self) {
        let count = self.logs.len() as u32;
        let shared = shared(count, self.users.clone());
        self.bricks = (0..count)
            .map(|brick| {
                let catalog = Arc::new(self.catalog.clone());
                let own = catalog
                    .node(shared.identity.node)
                    .map(|node| node.incarnation);
                let mut brick = Brick::new(BrickConfig {
                    id: BrickId(brick),
                    incarnation: own.unwrap_or_default(),
                    bricks: count,
                    shared: Arc::clone(&shared),
                    catalog,
                    seed: u64::from(brick),
                });
                brick.handle(Event::Lease {
                    until: Instant(u64::MAX),
                    version: 0,
                });
                brick
            })
            .collect();
    }

    /// Stops the bricks as a kill does and starts them from their logs.
    pub(crate) fn restart(&mut self) {
        for log in &mut self.logs {
            log.queue.clear();
            log.reads.clear();
            log.appended = BatchId(0);
            log.synced = BatchId(0);
            // What recovery has read it syncs before it is served.
            log.synced_bytes = log.bytes.len();
        }
        self.start();
        let started = std::mem::take(&mut self.bricks);
        for (brick, log) in started.into_iter().zip(&self.logs) {
            let mut recovery = LogReplay::of(brick);
            let active = (log.active(), (log.base, log.bytes.len()));
            let sealed: Vec<_> = log.sealed.iter().map(|(id, range)| (*id, *range)).collect();
            for (segment, (start, end)) in sealed.iter().copied().chain([active]) {
                let mut at = start;
                while at < end {
                    let record = record::decode(&log.bytes[at..]).unwrap();
                    let position = Position {
                        segment,
                        offset: HEADER_BYTES + (at - start) as u32,
                    };
                    recovery.on_record(&LogRecord::Whole { record, position });
                    at += record.len;
                }
            }
            let sealed: Vec<_> = sealed
                .iter()
                .map(|(id, (start, end))| (*id, (end - start) as u64))
                .collect();
            self.bricks.push(recovery.end(&sealed, log.active()));
        }
    }

    pub(crate) fn connect(&mut self, brick: usize, port: Port) -> Client {
        let accepted = Accepted {
            port,
            peer: "127.0.0.1:5000".to_owned(),
            local: "127.0.0.1:6379".to_owned(),
        };
        Client {
            brick,
            id: self.bricks[brick].accept(accepted).unwrap(),
        }
    }

    /// Sends a command and returns what has come back when nothing moves any more.
    pub(crate) fn call(&mut self, client: Client, command: &str) -> String {
        self.send(client, command);
        self.settle();
        self.receive(client)
    }

    /// Sends commands, one a line, as one pipeline.
    pub(crate) fn send(&mut self, client: Client, commands: &str) {
        let brick = &mut self.bricks[client.brick];
        for command in commands.lines() {
            brick
                .input(client.id)
                .extend_from_slice(command.trim().as_bytes());
            brick.input(client.id).extend_from_slice(b"\r\n");
        }
        brick.on_received(client.id);
        self.turn();
    }

    pub(crate) fn receive(&mut self, client: Client) -> String {
        let brick = &mut self.bricks[client.brick];
        let bytes = brick.output(client.id);
        let (reply, len) = (String::from_utf8_lossy(bytes).into_owned(), bytes.len());
        brick.on_sent(client.id, len);
        reply.replace("\r\n", " ").trim_end().to_owned()
    }

    /// Turns until nothing moves.
    pub(crate) fn settle(&mut self) {
        for _ in 0..20 {
            self.turn();
        }
    }

    pub(crate) fn advance(&mut self, duration: Duration) {
        self.now = self.now + duration;
        self.unix = UnixMillis(self.unix.0 + duration.as_millis() as u64);
        for at in 0..self.bricks.len() {
            self.bricks[at].begin_turn(self.now, self.unix);
            self.bricks[at].handle(Event::Tick);
        }
        self.settle();
    }

    /// It is later, and nothing has happened since.
    pub(crate) fn pass(&mut self, duration: Duration) {
        self.now = self.now + duration;
        self.unix = UnixMillis(self.unix.0 + duration.as_millis() as u64);
    }

    /// One turn of every brick's loop.
    pub(crate) fn turn(&mut self) {
        for at in 0..self.bricks.len() {
            let brick = &mut self.bricks[at];
            brick.begin_turn(self.now, self.unix);
            // As many runs as the server gives a turn; one where something is due.
            let is_due = brick.next_deadline().is_some_and(|it| it <= self.now);
            for round in 0..16 {
                if round == 0 && is_due || brick.has_work() {
                    brick.run();
                    brick.on_ran(Duration::from_micros(1));
                }
            }
            while let Some(effect) = self.bricks[at].poll_effect() {
                self.carry_out(at, effect);
            }
            if !self.logs[at].is_held {
                self.append(at);
                self.sync(at);
            }
        }
    }

    fn carry_out(&mut self, at: usize, effect: Effect) {
        match effect {
            Effect::Append(append) => self.logs[at].queue.push_back(append),
            Effect::Forward(to, messages) => {
                let from = BrickId(at as u32);
                self.bricks[to.0 as usize].handle(Event::Forward(from, messages));
            }
            Effect::Control(number, request) => {
                let reply = self.control(request);
                self.bricks[at].handle(Event::Control(number, reply));
            }
            Effect::Read(read) => self.logs[at].reads.push(read),
            Effect::Stop(reason) => self.logs[at].stopped = Some(reason),
            Effect::Audit(record) => self.audited.push(record),
            Effect::Report(text) => self.reports.push(text),
            Effect::Dial(_) | Effect::ClosePeer(..) => {
                unreachable!("a node that is alone has no peers")
            }
            Effect::Checkpoint(number) => {
                let log = &mut self.logs[at];
                let queued: usize = log.queue.iter().map(|append| append.bytes.len()).sum();
                log.closed.push(log.bytes.len() + queued);
                self.bricks[at].handle(Event::Checkpointed(number, Ok(())));
            }
            Effect::ReadSegment { segment, from, .. } => {
                let (start, end) = self.logs[at].sealed[&segment];
                let first = from.max(HEADER_BYTES);
                let skipped = (first - HEADER_BYTES) as usize;
                let bytes = &self.logs[at].bytes[start + skipped..end];
                let (records, is_damaged) = verified(first, bytes);
                self.bricks[at].handle(Event::SegmentChunk(LogChunk {
                    segment,
                    from,
                    records: &records,
                    next: None,
                    is_damaged,
                    is_known: false,
                }));
            }
            Effect::DeleteSegment(segment) => {
                self.logs[at].sealed.remove(&segment);
            }
        }
    }

    fn control(&mut self, request: ControlRequest) -> ControlReply {
        match request {
            ControlRequest::Change(_) if self.no_change.is_some() => {
                ControlReply::Failed(self.no_change.clone().unwrap_or_default())
            }
            ControlRequest::Change(change) => match self.catalog.apply(change) {
                Ok(applied) => {
                    let catalog = Arc::new(self.catalog.clone());
                    for brick in &mut self.bricks {
                        brick.handle(Event::Catalog(Arc::clone(&catalog)));
                    }
                    ControlReply::Changed(applied)
                }
                Err(refusal) => ControlReply::Refused(refusal),
            },
            ControlRequest::CatchUp => {
                if let Some(change) = self.elsewhere.take() {
                    self.control(ControlRequest::Change(change));
                }
                ControlReply::CaughtUp
            }
            ControlRequest::Authenticate {
                password, hashes, ..
            } => ControlReply::Authenticated(password == b"right" && !hashes.is_empty()),
            ControlRequest::SetAccount {
                name,
                initial,
                rules,
                ..
            } => {
                let hash = |it: &[u8]| format!("$argon2${}", String::from_utf8_lossy(it));
                let rules = rules.into_iter().map(|rule| match rule {
                    SetRule::Rule(rule) => rule,
                    SetRule::AddPassword(it) => AccountRule::AddHash(hash(&it)),
                    SetRule::RemovePassword(it) => AccountRule::RemoveHash(hash(&it)),
                });
                let rules = rules.collect();
                self.control(ControlRequest::Change(Change::SetAccount {
                    name,
                    initial,
                    rules,
                }))
            }
            ControlRequest::GeneratePassword { bits } => {
                ControlReply::Generated("a".repeat(bits.div_ceil(4) as usize))
            }
            ControlRequest::Shutdown
            | ControlRequest::Promote { .. }
            | ControlRequest::Evict { .. }
            | ControlRequest::Split { .. }
            | ControlRequest::Rest(_)
            | ControlRequest::Load(_)
            | ControlRequest::Small(_)
            | ControlRequest::Returned { .. }
            | ControlRequest::Summaries(_) => ControlReply::Failed("ERR not in tests".to_owned()),
        }
    }

    /// Appends what waits in a brick's queue.
    pub(crate) fn append(&mut self, at: usize) {
        while !self.logs[at].queue.is_empty() {
            self.append_one(at);
        }
    }

    /// Appends the first batch that waits in a brick's queue.
    pub(crate) fn append_one(&mut self, at: usize) {
        if let Some(append) = self.logs[at].queue.pop_front() {
            let before = self.logs[at].bytes.len() - self.logs[at].base;
            let offset = HEADER_BYTES + before as u32;
            self.logs[at].bytes.extend_from_slice(&append.bytes);
            self.logs[at].appended = append.id;
            let position = Position {
                segment: self.logs[at].active(),
                offset,
            };
            self.bricks[at].handle(Event::Appended {
                id: append.id,
                position,
            });
        }
    }

    /// Seals the active segment; what is appended next goes to another.
    pub(crate) fn roll(&mut self, at: usize) {
        let log = &mut self.logs[at];
        let (sealed, end) = (log.active(), log.bytes.len());
        log.sealed.insert(sealed, (log.base, end));
        // As if there were much more in it that is dead, so that it is worth cleaning.
        let bytes = (end - log.base) as u64 + (64 << 20);
        log.rolled += 1;
        log.base = end;
        self.bricks[at].handle(Event::Rolled { sealed, bytes });
    }

    /// Syncs what was appended.
    pub(crate) fn sync(&mut self, at: usize) {
        let appended = self.logs[at].appended;
        if appended > self.logs[at].synced {
            self.logs[at].synced = appended;
            self.logs[at].synced_bytes = self.logs[at].bytes.len();
            self.bricks[at].handle(Event::Synced(appended));
        }
    }

    /// Refuses what waits in a brick's queue, as a full disk does.
    pub(crate) fn refuse(&mut self, at: usize) {
        let first = self.logs[at].queue.front().map(|append| append.id);
        self.logs[at].queue.clear();
        if let Some(id) = first {
            let reason = "No space left on device".to_owned();
            self.bricks[at].handle(Event::AppendFailed { id, reason });
        }
    }

    /// Answers the reads that were asked for, from the log.
    pub(crate) fn answer_reads(&mut self, at: usize) {
        for read in std::mem::take(&mut self.logs[at].reads) {
            let log = &self.logs[at];
            let segment = read.position.segment;
            let token = read.token;
            if segment != log.active() && !log.sealed.contains_key(&segment) {
                let value = Err("the segment is gone".to_owned());
                self.bricks[at].handle(Event::Read { token, value });
                continue;
            }
            let start = log.start(segment);
            let offset = (read.position.offset - HEADER_BYTES) as usize;
            let bytes = log.bytes[start + offset..].to_vec();
            let record = record::decode(&bytes).unwrap();
            assert_eq!(record.header.op, read.op);
            let value = match record.header.kind {
                record::Kind::Batch => record::entries(record.value)
                    .map(|entry| entry.unwrap())
                    .find(|entry| entry.key == read.key)
                    .map(|entry| entry.value)
                    .unwrap(),
                _ => record.value,
            };
            let value = Ok(value);
            self.bricks[at].handle(Event::Read { token, value });
        }
        self.settle();
    }
}

/// A connection to one of the bricks.
#[derive(Clone, Copy)]
pub(crate) struct Client {
    pub(crate) brick: usize,
    pub(crate) id: ConnectionId,
}
