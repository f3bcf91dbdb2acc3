//! Connections that come about, carry bytes and break.

use crate::clock::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use crate::host::Hello;
use crate::loop_io::Socket;
use crate::network::{ConnectionId, End, Place, Use};
use crate::power::node_at;
use crate::world::{What, World};
use brickyard_brick::Direction;
use brickyard_node::io::{Stream, ToLoop};
use brickyard_node::{Source, Target};
use brickyard_routing::Seat;

/// How long a connection may take to come about.
const CONNECT: Nanos = SECOND;

impl World {
    /// How long something takes from there to there.
    pub(crate) fn delay(&mut self, from: Place, to: Place) -> Nanos {
        let typical = self.shape.latency * self.network.times(from, to);
        let mut delay = self.chance.delay(typical);
        // A packet is lost now and then, and sent again.
        if !self.is_calm && self.chance.one_in(400) {
            delay += 200 * MILLISECOND;
        }
        delay
    }

    fn end_here(&self, node: usize) -> End {
        let process = self.machines[node].process.as_ref();
        End {
            place: Place::Node(node),
            life: process.map_or(0, |it| it.life),
        }
    }

    fn node_of(&self, target: &Target) -> Option<usize> {
        match target {
            Target::Seed(address) => node_at(address),
            Target::Node(id) => {
                // Whoever dials has the address, others maybe not yet; and nobody moves.
                let processes = self.machines.iter().filter_map(|it| it.process.as_ref());
                let mut catalogs = processes.filter_map(|it| it.member()?.catalog());
                let address = catalogs.find_map(|it| brickyard_node::peer_address(it, *id));
                node_at(&address?)
            }
        }
    }

    /// How long until somebody there hears of a connection; `None`: nobody does.
    fn reach(&mut self, from: usize, to: usize) -> Option<Nanos> {
        let (near, far) = (Place::Node(from), Place::Node(to));
        let is_cut = self.network.is_cut(near, far) || self.network.is_cut(far, near);
        let delay = self.delay(near, far);
        (!is_cut).then_some(delay)
    }

    /// A node makes a connection of the control plane.
    pub(crate) fn dial(&mut self, node: usize, life: u64, target: Target) {
        let Some(process) = &self.machines[node].process else {
            return;
        };
        let hello = process.common.host.me;
        let reached = self
            .node_of(&target)
            .and_then(|to| Some((to, self.reach(node, to)?)));
        match reached {
            Some((_, delay)) => self.after(
                delay,
                What::Hello {
                    from: node,
                    life,
                    target,
                    hello,
                },
            ),
            None => self.after(CONNECT, What::Answered(node, life, target, None)),
        }
    }

    /// Somebody says hello here.
    pub(crate) fn hello(&mut self, from: usize, life: u64, target: Target, hello: Hello) {
        let to = self.node_of(&target).filter(|to| *to != from);
        let is_there = to.is_some_and(|to| self.machines[to].is_up());
        let Some(to) = to.filter(|_| is_there && self.lives(from, life)) else {
            let delay = self.chance.delay(self.shape.latency);
            return self.after(delay, What::Answered(from, life, target, None));
        };
        let paused = self.machines[to].paused_until;
        if paused > self.now {
            let again = What::Hello {
                from,
                life,
                target,
                hello,
            };
            return self.agenda.note(paused, again);
        }
        let process = self.machines[to].process.as_ref();
        let member = process.and_then(crate::process::Process::member);
        let is_refused = member
            .zip(hello)
            .is_some_and(|(member, (id, life))| member.admit(id, life).is_err());
        let delay = self.delay(Place::Node(to), Place::Node(from));
        if is_refused {
            return self.after(delay, What::Answered(from, life, target, None));
        }
        let near = End {
            place: Place::Node(from),
            life,
        };
        let ends = [near, self.end_here(to)];
        let id = self.network.connect(ends, Use::Control);
        if let Some(process) = &mut self.machines[to].process {
            process.common.host.arrived.insert(id.0, hello);
        }
        self.after(delay, What::Answered(from, life, target, Some(id)));
    }

    /// What came of a hello.
    pub(crate) fn answered(
        &mut self,
        node: usize,
        _life: u64,
        target: Target,
        connection: Option<ConnectionId>,
    ) {
        let connection = connection.filter(|id| {
            let there = self.network.get(*id);
            there.is_some_and(|it| it.is_open == [true; 2])
        });
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        let Some(dialed) = process.common.host.dialed.get_mut(&target) else {
            if let Some(id) = connection {
                self.close_end(id, 0);
            }
            return;
        };
        dialed.is_under_way = false;
        match connection {
            Some(id) => {
                dialed.connection = Some(id);
                dialed.failures = 0;
                // What the other end has said meanwhile was for this connection.
                self.deliver_again(id, 1);
                self.welcome(node, target);
            }
            None => {
                dialed.failures += 1;
                self.connect(node);
            }
        }
    }

    /// Who answers says who it is, and of which cluster.
    fn welcome(&mut self, node: usize, target: Target) {
        let Some(other) = self.node_of(&target) else {
            return;
        };
        let machine = &self.machines[other];
        let key = machine.key;
        let process = machine.process.as_ref();
        let member = process.and_then(crate::process::Process::member);
        let cluster = member.and_then(|it| Some(it.catalog()?.cluster()));
        self.founding(node, |founding, common| {
            founding.on_welcome(Source::Dialed(target), key, cluster, common);
        });
    }

    /// A brick of a node wants a stream.
    pub(crate) fn dial_stream(&mut self, node: usize, own: Seat, peer: Seat, connection: u64) {
        let Some(process) = &self.machines[node].process else {
            return;
        };
        let life = process.life;
        let to = self.node_of(&Target::Node(peer.member.node));
        let reached = to.and_then(|to| self.reach(node, to));
        match reached {
            Some(delay) => self.after(
                delay,
                What::StreamHello {
                    from: node,
                    life,
                    own,
                    peer,
                    connection,
                },
            ),
            None => self.after(
                CONNECT,
                What::StreamAnswered {
                    node,
                    life,
                    own,
                    peer,
                    number: connection,
                    connection: None,
                },
            ),
        }
    }

    pub(crate) fn stream_hello(
        &mut self,
        from: usize,
        life: u64,
        own: Seat,
        peer: Seat,
        connection: u64,
    ) {
        let to = self.node_of(&Target::Node(peer.member.node));
        let made = to.and_then(|to| self.take_stream(from, life, own, peer, connection, to));
        let delay = self.chance.delay(self.shape.latency);
        self.after(
            delay,
            What::StreamAnswered {
                node: from,
                life,
                own,
                peer,
                number: connection,
                connection: made,
            },
        );
    }

    fn take_stream(
        &mut self,
        from: usize,
        life: u64,
        own: Seat,
        peer: Seat,
        number: u64,
        to: usize,
    ) -> Option<ConnectionId> {
        if !self.lives(from, life) || self.machines[to].paused_until > self.now {
            return None;
        }
        let dialer = self.machines[from].process.as_ref()?.common.host.me?;
        let process = self.machines[to].process.as_ref()?;
        let member = process.member()?;
        member.admit(dialer.0, dialer.1).ok()?;
        let admitted = member.admit_stream(Some(dialer.0), own, peer, &process.common);
        admitted.ok()?;
        let bricks = [own.member.brick.0 as usize, peer.member.brick.0 as usize];
        let near = End {
            place: Place::Node(from),
            life,
        };
        let what = Use::Stream { bricks };
        let id = self.network.connect([near, self.end_here(to)], what);
        let stream = Stream {
            own: peer,
            peer: own,
            direction: Direction::Incoming,
            connection: number,
            socket: Socket {
                connection: id,
                end: 1,
            },
        };
        self.give(to, bricks[1], |outside| {
            outside.messages.push_back(ToLoop::Peer(stream));
        });
        Some(id)
    }

    pub(crate) fn stream_answered(
        &mut self,
        node: usize,
        own: Seat,
        peer: Seat,
        number: u64,
        connection: Option<ConnectionId>,
    ) {
        match connection {
            Some(id) => {
                let stream = Stream {
                    own,
                    peer,
                    direction: Direction::Outgoing,
                    connection: number,
                    socket: Socket {
                        connection: id,
                        end: 0,
                    },
                };
                self.give(node, own.member.brick.0 as usize, |outside| {
                    outside.messages.push_back(ToLoop::Peer(stream));
                });
                self.member(node, |member, _| member.on_stream(own, peer));
            }
            None => self.member(node, |member, common| {
                use brickyard_node::Host as _;
                member.on_no_stream(common.host.now(), own, peer);
            }),
        }
    }

    /// Sends a message of the control plane.
    pub(crate) fn send_message(&mut self, node: usize, id: ConnectionId, bytes: Vec<u8>) {
        let Some(connection) = self.network.get(id) else {
            return;
        };
        let end = usize::from(connection.ends[0].place != Place::Node(node));
        self.send_bytes(id, end, bytes);
    }

    /// Puts bytes on their way.
    pub(crate) fn send_bytes(&mut self, id: ConnectionId, end: usize, bytes: Vec<u8>) {
        let Some(connection) = self.network.get(id) else {
            return;
        };
        let (from, to) = (connection.ends[end].place, connection.ends[1 - end].place);
        let at = self.now + self.delay(from, to);
        self.digest.bytes(&bytes);
        if let Some(due) = self.network.send(id, end, at, bytes) {
            self.agenda.note(due.max(self.now), What::Deliver(id, end));
        }
    }

    /// What was sent from that end and is due gets to the other one.
    pub(crate) fn deliver(&mut self, id: ConnectionId, end: usize) {
        let now = self.now;
        let Some(connection) = self.network.get_mut(id) else {
            return;
        };
        connection.flows[end].is_due = false;
        let (from, to) = (connection.ends[end].place, connection.ends[1 - end].place);
        if self.network.is_cut(from, to) {
            return;
        }
        if let Place::Node(node) = to
            && self.machines[node].paused_until > now
        {
            let until = self.machines[node].paused_until;
            if let Some(connection) = self.network.get_mut(id) {
                connection.flows[end].is_due = true;
            }
            return self.agenda.note(until, What::Deliver(id, end));
        }
        loop {
            let Some(connection) = self.network.get_mut(id) else {
                return;
            };
            let flow = &mut connection.flows[end];
            match flow.queue.front() {
                Some((at, _)) if *at > now => {
                    let at = *at;
                    if !std::mem::replace(&mut flow.is_due, true) {
                        self.agenda.note(at, What::Deliver(id, end));
                    }
                    return;
                }
                Some(_) => {}
                None => break,
            }
            if !connection.is_open[1 - end] {
                flow.queue.clear();
                flow.bytes = 0;
                break;
            }
            let Some((_, bytes)) = flow.queue.pop_front() else {
                break;
            };
            if connection.what == Use::Control {
                // Nobody hears at the end that has dialed before it knows that it is connected.
                if !self.is_heard(id, end) {
                    if let Some(connection) = self.network.get_mut(id) {
                        connection.flows[end].queue.push_front((now, bytes));
                    }
                    return;
                }
                if let Some(connection) = self.network.get_mut(id) {
                    connection.flows[end].bytes -= bytes.len();
                }
                self.hear(id, end, &bytes);
            } else {
                flow.arrived.push_back(bytes);
                self.notify(id, 1 - end);
            }
        }
        let is_ending = self
            .network
            .get(id)
            .is_some_and(|it| it.flows[end].is_ending);
        if is_ending {
            self.hear_close(id, 1 - end);
        }
    }

    /// Looks again at what was held up.
    pub(crate) fn deliver_again(&mut self, id: ConnectionId, end: usize) {
        let now = self.now;
        if let Some(connection) = self.network.get_mut(id) {
            let flow = &mut connection.flows[end];
            let has_more = !flow.queue.is_empty() || flow.is_ending;
            if has_more && !std::mem::replace(&mut flow.is_due, true) {
                self.agenda.note(now, What::Deliver(id, end));
            }
        }
    }

    fn is_heard(&self, id: ConnectionId, end: usize) -> bool {
        if end == 0 {
            return true;
        }
        let Some(connection) = self.network.get(id) else {
            return false;
        };
        let Place::Node(node) = connection.ends[0].place else {
            return false;
        };
        let process = self.machines[node].process.as_ref();
        process.is_some_and(|it| {
            let mut dialed = it.common.host.dialed.values();
            dialed.any(|it| it.connection == Some(id))
        })
    }

    fn hear(&mut self, id: ConnectionId, end: usize, bytes: &[u8]) {
        let Some(connection) = self.network.get(id) else {
            return;
        };
        let Place::Node(node) = connection.ends[1 - end].place else {
            return;
        };
        let source = if end == 0 {
            Source::Arrived(id.0)
        } else {
            let Some(process) = &self.machines[node].process else {
                return;
            };
            let mut dialed = process.common.host.dialed.iter();
            let target = dialed.find(|(_, it)| it.connection == Some(id));
            let Some((target, _)) = target else { return };
            Source::Dialed(target.clone())
        };
        if end == 0 {
            let process = self.machines[node].process.as_ref();
            let is_known = process.is_some_and(|it| it.common.host.arrived.contains_key(&id.0));
            if !is_known {
                return;
            }
        }
        self.on_message(node, &source, bytes);
    }

    /// Whoever is at that end has something to read.
    fn notify(&mut self, id: ConnectionId, end: usize) {
        let Some(connection) = self.network.get(id) else {
            return;
        };
        match (connection.ends[end].place, &connection.what) {
            (Place::Client(client), _) => self.client_reads(client, id),
            (Place::Operator, _) => self.operator_reads(id),
            (Place::Node(node), Use::Stream { bricks }) => {
                let brick = bricks[end];
                self.arrive(
                    node,
                    brick,
                    Socket {
                        connection: id,
                        end,
                    },
                );
            }
            (Place::Node(node), Use::Client { brick }) => {
                let brick = *brick;
                self.arrive(
                    node,
                    brick,
                    Socket {
                        connection: id,
                        end,
                    },
                );
            }
            (Place::Node(_), Use::Control) => {}
        }
    }

    fn arrive(&mut self, node: usize, brick: usize, socket: Socket) {
        self.give(node, brick, |outside| outside.on_arrived(socket));
    }

    /// The other end of a brick's socket is gone: what has arrived is there, and behind it the end.
    fn end_socket(&mut self, node: usize, brick: usize, socket: Socket) {
        let Some(connection) = self.network.get_mut(socket.connection) else {
            return;
        };
        let flow = &mut connection.flows[1 - socket.end];
        let rest = std::mem::take(&mut flow.arrived);
        let bytes: usize = rest.iter().map(Vec::len).sum();
        flow.bytes -= bytes;
        self.give(node, brick, |outside| outside.on_ended(socket, rest));
    }

    /// That end closes the connection; the other one hears of it behind what was sent.
    pub(crate) fn close_end(&mut self, id: ConnectionId, end: usize) {
        let Some(connection) = self.network.get_mut(id) else {
            return;
        };
        if !std::mem::replace(&mut connection.is_open[end], false) {
            return;
        }
        connection.flows[end].is_ending = true;
        let other = &mut connection.flows[1 - end];
        other.queue.clear();
        other.arrived.clear();
        other.bytes = 0;
        let (from, to) = (connection.ends[end].place, connection.ends[1 - end].place);
        let delay = self.delay(from, to) + MICROSECOND;
        self.after(delay, What::Deliver(id, end));
    }

    /// The process at an end is gone.
    pub(crate) fn lose_end(&mut self, id: ConnectionId, gone: End, is_silent: bool) {
        let Some(connection) = self.network.get_mut(id) else {
            return;
        };
        let Some(end) = connection.ends.iter().position(|end| *end == gone) else {
            return;
        };
        if !is_silent {
            return self.close_end(id, end);
        }
        connection.is_open[end] = false;
        for flow in &mut connection.flows {
            flow.lose();
        }
        // Nobody says anything: it is noticed in the end.
        let noticed = SECOND + self.chance.below(6 * SECOND);
        self.after(noticed, What::Close(id, 1 - end));
    }

    /// That end hears that the connection is gone.
    pub(crate) fn hear_close(&mut self, id: ConnectionId, end: usize) {
        let Some(connection) = self.network.get_mut(id) else {
            return;
        };
        let place = connection.ends[end].place;
        if let Place::Node(node) = place
            && self.machines[node].paused_until > self.now
        {
            let until = self.machines[node].paused_until;
            return self.agenda.note(until, What::Close(id, end));
        }
        let was_open = std::mem::replace(&mut connection.is_open[end], false);
        if connection.is_open == [false; 2] && !was_open {
            self.network.connections.remove(&id);
            return;
        }
        let what = connection.what.clone();
        let life = connection.ends[end].life;
        let socket = Socket {
            connection: id,
            end,
        };
        match place {
            Place::Client(client) => self.client_closed(client, id),
            Place::Operator => self.operator_is_left(id),
            Place::Node(node) if !self.lives(node, life) => {}
            Place::Node(node) => match what {
                Use::Control => self.control_closed(node, id, end),
                // It knows if it has closed it itself.
                _ if !was_open => {}
                Use::Stream { bricks } => self.end_socket(node, bricks[end], socket),
                Use::Client { brick } => self.end_socket(node, brick, socket),
            },
        }
        let is_gone = self
            .network
            .get(id)
            .is_some_and(|it| it.is_open == [false; 2]);
        if is_gone {
            self.network.connections.remove(&id);
        }
    }

    fn control_closed(&mut self, node: usize, id: ConnectionId, end: usize) {
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        let host = &mut process.common.host;
        if end == 1 {
            host.arrived.remove(&id.0);
            return self.founding(node, |founding, _| founding.forget(&Source::Arrived(id.0)));
        }
        let found = host
            .dialed
            .iter_mut()
            .find(|(_, it)| it.connection == Some(id));
        let Some((target, dialed)) = found else {
            return;
        };
        dialed.connection = None;
        dialed.failures = 1;
        let target = target.clone();
        if let Target::Node(other) = target {
            self.member(node, |member, _| member.on_lost(other));
        }
        self.founding(node, |founding, _| founding.forget(&Source::Dialed(target)));
        self.connect(node);
    }

    /// Nothing is cut or slow between two nodes any more; what was held up goes on, or the connection breaks.
    pub(crate) fn heal(&mut self, from: usize, to: usize) {
        self.network.heal(from, to);
        for id in self.network.at(Place::Node(from)) {
            let Some(connection) = self.network.get(id) else {
                continue;
            };
            for end in 0..2 {
                let is_it = connection.ends[end].place == Place::Node(from)
                    && connection.ends[1 - end].place == Place::Node(to);
                if is_it {
                    self.deliver_again(id, end);
                    break;
                }
            }
        }
    }

    /// A connection breaks: both ends hear of it, each in its time, and what was on its way is lost.
    pub(crate) fn break_connection(&mut self, id: ConnectionId) {
        let Some(connection) = self.network.get_mut(id) else {
            return;
        };
        connection.is_broken = true;
        for flow in &mut connection.flows {
            flow.lose();
        }
        for end in 0..2 {
            let delay = self.chance.delay(MILLISECOND);
            self.after(delay, What::Close(id, end));
        }
    }
}
