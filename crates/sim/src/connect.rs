//! Connections that come about, carry bytes and break.

use crate::clock::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use crate::loop_io::Socket;
use crate::network::{ConnectionId, End, Place, Use};
use crate::what::What;
use crate::world::World;
use brickyard_node::Source;

impl World {
    /// How long something takes from there to there.
    pub(crate) fn delay(&mut self, from: Place, to: Place, is_control: bool) -> Nanos {
        let typical = self.shape.latency * self.network.times(from, to, is_control);
        let mut delay = self.chance.delay(typical);
        // A packet is lost now and then, and sent again.
        if !self.stage.is_calm && self.chance.one_in(400) {
            delay += 200 * MILLISECOND;
        }
        delay
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
        let is_control = connection.what.is_control();
        let at = self.now + self.delay(from, to, is_control);
        self.notes.digest.bytes(&bytes);
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
        let is_control = connection.what.is_control();
        if self.network.is_cut(from, to, is_control) {
            return;
        }
        if let Place::Node(node) = to
            && self.machines[node].paused_until > now
        {
            // Who goes on in the middle of a turn reads its sockets first.
            let late = if is_control { 10 * MICROSECOND } else { 0 };
            let until = self.machines[node].paused_until + late;
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
            let mut dialed = it.control.common.host.wires.dialed.values();
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
            let mut dialed = process.control.common.host.wires.dialed.iter();
            let target = dialed.find(|(_, it)| it.connection == Some(id));
            let Some((target, _)) = target else { return };
            Source::Dialed(target.clone())
        };
        if end == 0 {
            let process = self.machines[node].process.as_ref();
            let is_known =
                process.is_some_and(|it| it.control.common.host.contacts.has_arrived(id.0));
            if !is_known {
                return;
            }
        }
        self.on_message(node, source, bytes);
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
        let is_control = connection.what.is_control();
        let delay = self.delay(from, to, is_control) + MICROSECOND;
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
        let host = &mut process.control.common.host;
        if end == 1 {
            host.contacts.on_left(id.0);
            return self.control(node, |control| control.on_closed(&Source::Arrived(id.0)));
        }
        let mut dialed = host.wires.dialed.iter();
        let found = dialed.find(|(_, it)| it.connection == Some(id));
        let Some(target) = found.map(|(target, _)| target.clone()) else {
            return;
        };
        host.contacts.on_lost(&target);
        let source = Source::Dialed(target.clone());
        self.control(node, |control| control.on_closed(&source));
        self.redial(node, &target, false);
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

    /// The control plane is there for a node again.
    pub(crate) fn heal_control(&mut self, node: usize) {
        self.network.heal_control(node);
        for id in self.network.at(Place::Node(node)) {
            self.deliver_again(id, 0);
            self.deliver_again(id, 1);
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
