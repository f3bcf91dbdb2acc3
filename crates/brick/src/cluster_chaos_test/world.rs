//! Nodes of one brick each, their streams, and the turns of their loops.
//!
//! In:  a seed's decisions. Out: bytes carried in portions, logs that lag, catalogs that come late.

use super::Kind;
use super::control::Control;
use super::disk::Disk;
use super::mood::Mood;
use super::scenario::Scenario;
use crate::effect::{ControlRequest, Effect, Event};
use crate::harness::shared_of;
use crate::random::Random;
use crate::{Brick, BrickConfig, Direction, LinkId};
use brickyard_metadata::Catalog;
use brickyard_routing::{Member, NodeId, Seat};
use brickyard_types::{BrickId, Incarnation, Instant, UnixMillis};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// How long a client's request may take.
pub(super) const DEADLINE: Duration = Duration::from_millis(1500);

/// How far nodes' clocks are apart, in milliseconds.
pub(super) const SKEW_MS: u64 = 40;

pub(super) struct Node {
    pub(super) brick: Option<Brick>,
    pub(super) incarnation: Incarnation,
    pub(super) disk: Disk,
    skew: u64,
    ticked: Instant,
    /// What the control plane has sent and has not arrived.
    pub(super) catalogs: VecDeque<Arc<Catalog>>,
    pub(super) grants: VecDeque<(Instant, u64)>,
    /// Turns in a row that it does not get.
    pub(super) pause: u32,
    /// It pauses after its turn has begun.
    is_in_turn: bool,
    /// It had one in this step.
    pub(super) had_turn: bool,
    /// Turns in which it gets no catalog, or no grant.
    pub(super) maps_late: u32,
    pub(super) grants_late: u32,
}

/// A stream: the first end has dialed.
struct Link {
    ends: [(usize, LinkId); 2],
    is_closed: [bool; 2],
    /// On its way to each end.
    bytes: [Vec<u8>; 2],
}

pub(super) struct World {
    pub(super) nodes: Vec<Node>,
    links: Vec<Link>,
    connections: u64,
    pub(super) cut: BTreeSet<(usize, usize)>,
    /// From whom to whom nothing gets.
    pub(super) mute: BTreeSet<(usize, usize)>,
    pub(super) edition: u64,
    /// What is made likely; `None`: nothing above the rest.
    pub(super) scenario: Option<&'static Scenario>,
    pub(super) mood: Mood,
    /// In one segment in so many nothing seems to be dead.
    full_one_in: usize,
    pub(super) control: Control,
    pub(super) now: Instant,
    pub(super) unix: UnixMillis,
    pub(super) random: Random,
    /// What was done, for a seed that fails.
    pub(super) story: Vec<String>,
    /// All goes well from now on.
    pub(super) is_calm: bool,
    /// How many there were.
    pub(super) turns: u64,
}

impl World {
    pub(super) fn new(nodes: usize, control: Control, random: Random, kind: Kind) -> Self {
        let edition = kind.edition();
        let mut world = Self {
            nodes: Vec::new(),
            links: Vec::new(),
            connections: 0,
            cut: BTreeSet::new(),
            mute: BTreeSet::new(),
            edition,
            scenario: kind.scenario(),
            mood: Mood::usual(),
            full_one_in: usize::MAX,
            control,
            now: Instant(1_000_000_000),
            unix: UnixMillis(1_700_000_000_000),
            random,
            story: Vec::new(),
            is_calm: false,
            turns: 0,
        };
        if let Some(scenario) = world.scenario {
            world.full_one_in = scenario.full[world.below(4)];
        }
        for at in 0..nodes {
            let skew = world.random.next() % (SKEW_MS + 1);
            let sync_turns = world.scenario.map(|it| it.syncs[world.below(4)]);
            world.nodes.push(Node {
                brick: None,
                incarnation: Incarnation(0),
                disk: Disk::new(sync_turns),
                skew,
                ticked: Instant(0),
                catalogs: VecDeque::new(),
                grants: VecDeque::new(),
                pause: 0,
                is_in_turn: false,
                had_turn: false,
                maps_late: 0,
                grants_late: 0,
            });
            world.start(at);
        }
        world
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.random.next() % n.max(1) as u64) as usize
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(super) fn tell(&mut self, what: String) {
        let now = self.now.0 / 1_000_000;
        self.story.push(format!("{now} ms: {what}"));
    }

    pub(super) fn seat(&self, at: usize) -> Seat {
        Seat {
            member: Member {
                node: NodeId(at as u32),
                brick: BrickId(0),
            },
            incarnation: self.nodes[at].incarnation,
        }
    }

    pub(super) fn is_up(&self, at: usize) -> bool {
        self.nodes[at].brick.is_some()
    }

    /// Whether a node is up that may fall now.
    pub(super) fn may_fall(&self, at: usize) -> bool {
        let down = (0..self.nodes.len()).filter(|at| !self.is_up(*at)).count();
        self.is_up(at) && self.scenario.is_none_or(|it| down < it.down_max)
    }

    fn start(&mut self, at: usize) {
        let incarnation = self.control.incarnation(at);
        let mut shared = shared_of(NodeId(at as u32), 1, Vec::new());
        if let Some(shared) = Arc::get_mut(&mut shared) {
            shared.limits.request_deadline = DEADLINE;
            shared.limits.eviction_timeout = Duration::from_millis(900);
        }
        let seed = self.random.next();
        let mut brick = Brick::new(BrickConfig {
            id: BrickId(0),
            incarnation,
            bricks: 1,
            shared,
            catalog: Arc::new(self.control.catalog.clone()),
            seed,
        });
        let node = &mut self.nodes[at];
        brick.begin_turn(self.now, UnixMillis(self.unix.0 + node.skew));
        let mut brick = node.disk.recover(brick);
        brick.handle(Event::WantClaims(1));
        node.incarnation = incarnation;
        node.brick = Some(brick);
        node.catalogs.clear();
        node.grants.clear();
    }

    pub(super) fn kill(&mut self, at: usize, is_power_cut: bool) {
        self.nodes[at].brick = None;
        self.nodes[at].is_in_turn = false;
        self.nodes[at].disk.forget(is_power_cut);
        // What a process has written is sent also when it is gone; but not by a machine without power.
        let is_sent = !is_power_cut || self.edition <= 3;
        for link in &mut self.links {
            for end in 0..2 {
                if link.ends[end].0 == at {
                    link.is_closed[end] = true;
                    link.bytes[end].clear();
                    if !is_sent {
                        link.bytes[1 - end].clear();
                    }
                }
            }
        }
        if is_power_cut {
            self.control.note_power_cut(at);
        }
    }

    pub(super) fn restart(&mut self, at: usize) {
        self.control.register(at);
        self.start(at);
    }

    /// A stream breaks, and what was on its way is lost.
    pub(super) fn break_link(&mut self) {
        let count = self.links.len();
        if count > 0 {
            let at = self.below(count);
            for end in 0..2 {
                self.links[at].bytes[end].clear();
                self.close_end(at, end);
            }
        }
    }

    /// All streams of a node break.
    pub(super) fn break_links(&mut self, at: usize) -> usize {
        let mut count = 0;
        for link in 0..self.links.len() {
            if self.links[link].ends.iter().any(|end| end.0 == at) {
                count += 1;
                for end in 0..2 {
                    self.links[link].bytes[end].clear();
                    self.close_end(link, end);
                }
            }
        }
        count
    }

    /// A node's log goes on in another segment.
    pub(super) fn roll(&mut self, at: usize) {
        let is_full = self.edition >= 4 && self.one_in(self.full_one_in);
        let node = &mut self.nodes[at];
        if let Some(brick) = &mut node.brick {
            node.disk.roll(brick, is_full);
        }
    }

    /// A node pauses between the beginning of its turn and what it reads then (PROTOCOL rule 22).
    pub(super) fn pause_in_turn(&mut self, at: usize, turns: u32) {
        let (now, unix) = (self.now, self.unix);
        let node = &mut self.nodes[at];
        if let Some(brick) = node.brick.as_mut().filter(|_| node.pause == 0) {
            brick.begin_turn(now, UnixMillis(unix.0 + node.skew));
            node.is_in_turn = true;
            node.pause = turns;
        }
    }

    fn close_end(&mut self, link: usize, end: usize) {
        if !std::mem::replace(&mut self.links[link].is_closed[end], true) {
            let (node, id) = self.links[link].ends[end];
            if let Some(brick) = &mut self.nodes[node].brick {
                brick.peer_closed(id);
            }
        }
    }

    fn dial(&mut self, at: usize, seat: Seat) {
        let other = seat.member.node.0 as usize;
        let is_there = self
            .links
            .iter()
            .any(|link| link.ends[0].0 == at && link.ends[1].0 == other && !link.is_closed[0]);
        let is_reachable = other != at
            && !self.cut.contains(&(at.min(other), at.max(other)))
            && self.is_up(other)
            && self.nodes[other].incarnation == seat.incarnation;
        if is_there || !is_reachable || (!self.is_calm && self.one_in(3)) {
            return;
        }
        self.connections += 1;
        let (number, me) = (self.connections, self.seat(at));
        let (Some(near), Some(far)) = (self.number(at), self.number(other)) else {
            return;
        };
        self.links.push(Link {
            ends: [(at, near), (other, far)],
            is_closed: [false; 2],
            bytes: [Vec::new(), Vec::new()],
        });
        if let Some(brick) = &mut self.nodes[other].brick {
            brick.peer_opened(far, me, Direction::Incoming, number);
        }
        if let Some(brick) = &mut self.nodes[at].brick {
            brick.peer_opened(near, seat, Direction::Outgoing, number);
        }
    }

    fn number(&mut self, at: usize) -> Option<LinkId> {
        Some(self.nodes[at].brick.as_mut()?.peer_number())
    }

    /// One turn of every node's loop, in some order.
    pub(super) fn turn(&mut self) {
        self.turns += 1;
        let count = self.nodes.len();
        let first = self.below(count);
        for at in (0..count).map(|at| (at + first) % count) {
            let node = &mut self.nodes[at];
            node.had_turn = node.pause == 0 || self.is_calm;
            if !node.had_turn {
                node.pause -= 1;
                continue;
            }
            let (now, unix) = (self.now, UnixMillis(self.unix.0 + node.skew));
            let Some(brick) = &mut node.brick else {
                continue;
            };
            if !std::mem::take(&mut node.is_in_turn) {
                brick.begin_turn(now, unix);
            }
            self.hear_control(at);
            self.carry_to(at);
            let node = &mut self.nodes[at];
            let Some(brick) = &mut node.brick else {
                continue;
            };
            node.disk.work(brick, &mut self.random);
            if now - node.ticked >= Duration::from_millis(80) {
                node.ticked = now;
                brick.handle(Event::Tick);
            }
            for _ in 0..8 {
                brick.begin_batch(now);
                brick.run();
                if !brick.has_work() {
                    break;
                }
            }
            self.carry_out(at);
            self.take_output(at);
        }
        self.links.retain(|link| link.is_closed != [true; 2]);
    }

    fn hear_control(&mut self, at: usize) {
        let (calm, dice) = (self.is_calm, self.random.next());
        let is_cut = self.control.is_cut(at);
        let node = &mut self.nodes[at];
        let Some(brick) = &mut node.brick else {
            return;
        };
        if is_cut {
            node.catalogs.clear();
            node.grants.clear();
            return;
        }
        if self.control.asked.remove(&at) {
            brick.handle(Event::WantClaims(1));
        }
        let are_late = node.grants_late > 0;
        node.grants_late = node.grants_late.saturating_sub(1);
        if (calm || dice % 3 > 0) && !are_late {
            for (until, version) in node.grants.drain(..) {
                brick.handle(Event::Lease { until, version });
            }
        }
        let are_late = node.maps_late > 0;
        node.maps_late = node.maps_late.saturating_sub(1);
        if (calm || dice % 5 > 1)
            && !are_late
            && let Some(catalog) = node.catalogs.pop_back()
        {
            node.catalogs.clear();
            brick.handle(Event::Catalog(catalog));
        }
    }

    fn carry_to(&mut self, at: usize) {
        for index in 0..self.links.len() {
            for end in 0..2 {
                let link = &self.links[index];
                let (node, id) = link.ends[end];
                let other = link.ends[1 - end].0;
                if node != at || link.is_closed[end] {
                    continue;
                }
                if self.cut.contains(&(at.min(other), at.max(other)))
                    || self.mute.contains(&(other, at))
                {
                    continue;
                }
                let lag = self.mood.lag(other, at);
                if !self.is_calm && lag > 1 && !self.one_in(lag) {
                    continue;
                }
                let waiting = self.links[index].bytes[end].len();
                let len = if self.is_calm || self.one_in(2) {
                    waiting
                } else {
                    self.below(waiting + 1)
                };
                let bytes: Vec<u8> = self.links[index].bytes[end].drain(..len).collect();
                let Some(brick) = &mut self.nodes[at].brick else {
                    return;
                };
                if len > 0 {
                    brick.peer_input(id).extend_from_slice(&bytes);
                    brick.on_peer_received(id);
                }
                let link = &self.links[index];
                if link.is_closed[1 - end] && link.bytes[end].is_empty() {
                    self.close_end(index, end);
                }
            }
        }
    }

    fn carry_out(&mut self, at: usize) {
        while let Some(effect) = self.nodes[at].brick.as_mut().and_then(Brick::poll_effect) {
            let node = &mut self.nodes[at];
            match effect {
                Effect::Append(append) => node.disk.append(append),
                Effect::Read(read) => node.disk.read(read),
                Effect::ReadSegment { segment, from, .. } => node.disk.read_segment(segment, from),
                Effect::DeleteSegment(segment) => {
                    node.disk.delete(segment);
                    self.tell(format!("node {at} removes segment {}", segment.0));
                }
                Effect::Checkpoint(token) => node.disk.checkpoint(token),
                Effect::Dial(seat) => self.dial(at, seat),
                Effect::ClosePeer(id, reason) => {
                    self.tell(format!("node {at} closes {id:?}: {reason}"));
                    let found = self.links.iter().enumerate().find_map(|(index, link)| {
                        let end = link.ends.iter().position(|end| *end == (at, id))?;
                        (!link.is_closed[end]).then_some((index, end))
                    });
                    if let Some((index, end)) = found {
                        self.close_end(index, end);
                    }
                }
                Effect::Report(text) => self.report(at, &text),
                Effect::Control(_, request) => self.ask_control(at, request),
                Effect::Stop(text) => panic!("node {at} stops: {text}"),
                Effect::Forward(..) => panic!("a node has one brick here"),
            }
        }
    }

    fn report(&mut self, at: usize, text: &str) {
        self.tell(format!("node {at} reports: {text}"));
        // Everything else is told because it must not happen.
        assert!(
            text.contains("not on this brick") || text.contains("no room"),
            "node {at} reports: {text}"
        );
    }

    fn ask_control(&mut self, at: usize, request: ControlRequest) {
        if !self.control.is_cut(at) || matches!(request, ControlRequest::Claims(_)) {
            let seat = self.seat(at);
            self.control.hear(seat, request);
        }
    }

    fn take_output(&mut self, at: usize) {
        while let Some(id) = self.nodes[at]
            .brick
            .as_mut()
            .and_then(Brick::poll_peer_output)
        {
            let Some(brick) = &mut self.nodes[at].brick else {
                return;
            };
            let bytes = brick.peer_output(id).to_vec();
            brick.on_peer_sent(id, bytes.len());
            let links = self.links.iter_mut();
            let found = links
                .filter_map(|link| {
                    let end = link.ends.iter().position(|end| *end == (at, id))?;
                    (!link.is_closed[end]).then_some((link, end))
                })
                .next();
            if let Some((link, end)) = found
                && !link.is_closed[1 - end]
            {
                link.bytes[1 - end].extend_from_slice(&bytes);
            }
        }
    }

    /// The control plane's share of a step.
    pub(super) fn rule(&mut self) {
        for at in 0..self.nodes.len() {
            let seat = self.seat(at);
            let acknowledged = self.nodes[at].brick.as_ref().map(Brick::acknowledged);
            if let Some(acknowledged) = acknowledged
                && self.nodes[at].pause == 0
                && let Some(grant) = self.control.renew(seat, acknowledged, self.now)
            {
                self.nodes[at].grants.push_back(grant);
            }
        }
        let before = self.control.catalog.version();
        let notes = self
            .control
            .decide(self.now, self.is_calm, &mut self.random);
        for note in notes {
            self.tell(note);
        }
        if self.control.catalog.version() != before {
            self.spread();
        }
    }

    pub(super) fn spread(&mut self) {
        let catalog = Arc::new(self.control.catalog.clone());
        for node in &mut self.nodes {
            node.catalogs.push_back(Arc::clone(&catalog));
        }
    }

    pub(super) fn pass(&mut self, milliseconds: u64) {
        self.now = self.now + Duration::from_millis(milliseconds);
        self.unix = UnixMillis(self.unix.0 + milliseconds);
    }
}
