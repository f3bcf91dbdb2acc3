//! Connections between nodes, and between clients and nodes: what TCP gives, and what it does not.
//!
//! In:  bytes, cuts, delays. Out: bytes at the other end, in order, or a connection that is gone.
//!
//! Within a connection nothing is lost, doubled or overtaken; when it breaks, what was on its way is lost.
//! Between connections everything may overtake everything.

use crate::clock::Nanos;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Names a connection of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionId(pub(crate) u64);

/// What can have an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Node(usize),
    Client(usize),
    Operator,
}

/// An end: where, and of which life of the process there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) place: Place,
    pub(crate) life: u64,
}

/// What a connection is for; the first end has made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Messages of the control plane.
    Control,
    /// Between two bricks, of these numbers.
    Stream { bricks: [usize; 2] },
    /// A client's, to a brick.
    Client { brick: usize },
}

/// One direction.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    /// What is on its way, and when it is there.
    pub(crate) queue: VecDeque<(Nanos, Vec<u8>)>,
    pub(crate) bytes: usize,
    /// Bytes that a loop has sent in this turn and that are not on their way yet.
    pub(crate) reserved: usize,
    last: Nanos,
    /// Nothing comes any more: the connection is closed behind it.
    pub(crate) is_ending: bool,
    /// What is there and was not read.
    pub(crate) arrived: VecDeque<Vec<u8>>,
    /// A delivery is on the agenda.
    pub(crate) is_due: bool,
}

impl Flow {
    /// What is on its way is lost; what has arrived is there.
    pub(crate) fn lose(&mut self) {
        self.queue.clear();
        self.bytes = self.arrived.iter().map(Vec::len).sum();
    }
}

impl Use {
    pub(crate) const fn is_control(&self) -> bool {
        matches!(self, Self::Control)
    }
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) ends: [End; 2],
    pub(crate) what: Use,
    /// Whether each end holds it open.
    pub(crate) is_open: [bool; 2],
    /// What is sent before an end has heard of that is lost as well: nothing ever comes behind a gap.
    pub(crate) is_broken: bool,
    /// By the end that sends.
    pub(crate) flows: [Flow; 2],
}

/// Bytes that may be on their way in one direction: sockets have bounded buffers.
pub(crate) const WINDOW_BYTES: usize = 256 << 10;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Network {
    connections: BTreeMap<ConnectionId, Connection>,
    next: u64,
    /// From where nothing gets to where.
    cuts: BTreeSet<(usize, usize)>,
    /// Everything takes so many times as long from where to where.
    slow: BTreeMap<(usize, usize), u64>,
    /// Nodes whose messages of the control plane get nowhere (`None`), or take so many times as long.
    control: BTreeMap<usize, Option<u64>>,
}

impl Network {
    pub(crate) fn connect(&mut self, ends: [End; 2], what: Use) -> ConnectionId {
        self.next += 1;
        let id = ConnectionId(self.next);
        let connection = Connection {
            ends,
            what,
            is_open: [true; 2],
            is_broken: false,
            flows: [Flow::default(), Flow::default()],
        };
        self.connections.insert(id, connection);
        id
    }

    pub(crate) fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections.get_mut(&id)
    }

    /// Puts bytes on their way; when they will be there, if nothing that is due earlier is waited for already.
    pub(crate) fn send(
        &mut self,
        id: ConnectionId,
        end: usize,
        at: Nanos,
        bytes: Vec<u8>,
    ) -> Option<Nanos> {
        let connection = self.connections.get_mut(&id)?;
        if !connection.is_open[end] || connection.is_broken {
            return None;
        }
        let flow = &mut connection.flows[end];
        flow.last = flow.last.max(at);
        flow.bytes += bytes.len();
        flow.queue.push_back((flow.last, bytes));
        let first = flow.queue.front().map(|(at, _)| *at);
        let is_new = !std::mem::replace(&mut flow.is_due, true);
        first.filter(|_| is_new)
    }

    pub(crate) fn cut(&mut self, from: usize, to: usize) {
        self.cuts.insert((from, to));
    }

    pub(crate) fn slow(&mut self, from: usize, to: usize, times: u64) {
        self.slow.insert((from, to), times);
    }

    pub(super) fn mend(&mut self, from: usize, to: usize) {
        self.cuts.remove(&(from, to));
        self.slow.remove(&(from, to));
    }

    /// A node neither says nor hears anything of the control plane.
    pub(crate) fn cut_control(&mut self, node: usize) {
        self.control.insert(node, None);
    }

    pub(crate) fn slow_control(&mut self, node: usize, times: u64) {
        self.control.insert(node, Some(times));
    }

    pub(super) fn mend_control(&mut self, node: usize) {
        self.control.remove(&node);
    }

    pub(crate) fn is_cut(&self, from: Place, to: Place, is_control: bool) -> bool {
        match (from, to) {
            (Place::Node(from), Place::Node(to)) => {
                let is_silent = |node| self.control.get(&node) == Some(&None);
                let is_deaf = is_control && (is_silent(from) || is_silent(to));
                is_deaf || self.cuts.contains(&(from, to))
            }
            _ => false,
        }
    }

    pub(crate) fn times(&self, from: Place, to: Place, is_control: bool) -> u64 {
        match (from, to) {
            (Place::Node(from), Place::Node(to)) => {
                let slow = |node| self.control.get(node).copied().flatten();
                let ends = [from, to];
                let control = ends.iter().filter_map(slow).max().filter(|_| is_control);
                let way = self.slow.get(&(from, to)).copied();
                way.max(control).unwrap_or(1)
            }
            _ => 1,
        }
    }

    /// Forgets a connection that neither end holds open.
    pub(crate) fn forget_closed(&mut self, id: ConnectionId) {
        if self.get(id).is_some_and(|it| it.is_open == [false; 2]) {
            self.connections.remove(&id);
        }
    }

    /// Connections with an end there.
    pub(crate) fn at(&self, place: Place) -> Vec<ConnectionId> {
        let all = self.connections.iter();
        all.filter(|(_, it)| it.ends.iter().any(|end| end.place == place))
            .map(|(id, _)| *id)
            .collect()
    }

    /// Bytes that are on their way or were not read, over all.
    pub(crate) fn bytes_waiting(&self) -> usize {
        let flows = self.connections.values().flat_map(|it| it.flows.iter());
        flows.map(|flow| flow.bytes).sum()
    }
}
