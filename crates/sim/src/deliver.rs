//! What gets to an end: bytes, and that the other end is gone.
//!
//! In:  entries of the agenda. Out: whoever is there hears of it: a client, the operator, a brick, a node's member.

use crate::clock::MICROSECOND;
use crate::loop_io::Socket;
use crate::network::{ConnectionId, Place, Use};
use crate::what::What;
use crate::world::World;

impl World {
    /// What was sent from that end and is due gets to the other one.
    pub(crate) fn deliver(&mut self, id: ConnectionId, end: usize) {
        let now = self.now();
        let Some(connection) = self.cluster.network.get_mut(id) else {
            return;
        };
        connection.flows[end].is_due = false;
        let (from, to) = (connection.ends[end].place, connection.ends[1 - end].place);
        let is_control = connection.what.is_control();
        if self.cluster.network.is_cut(from, to, is_control) {
            return;
        }
        if let Place::Node(node) = to
            && self.cluster.machines[node].paused_until > now
        {
            // Who goes on in the middle of a turn reads its sockets first.
            let late = if is_control { 10 * MICROSECOND } else { 0 };
            let until = self.cluster.machines[node].paused_until + late;
            if let Some(connection) = self.cluster.network.get_mut(id) {
                connection.flows[end].is_due = true;
            }
            return self.at(until, What::Deliver(id, end));
        }
        loop {
            let Some(connection) = self.cluster.network.get_mut(id) else {
                return;
            };
            let flow = &mut connection.flows[end];
            match flow.queue.front() {
                Some((at, _)) if *at > now => {
                    let at = *at;
                    if !std::mem::replace(&mut flow.is_due, true) {
                        self.at(at, What::Deliver(id, end));
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
                if !self.cluster.is_heard(id, end) {
                    if let Some(connection) = self.cluster.network.get_mut(id) {
                        connection.flows[end].queue.push_front((now, bytes));
                    }
                    return;
                }
                if let Some(connection) = self.cluster.network.get_mut(id) {
                    connection.flows[end].bytes -= bytes.len();
                }
                self.cluster.hear(id, end, &bytes);
            } else {
                flow.arrived.push_back(bytes);
                self.notify(id, 1 - end);
            }
        }
        let is_ending = self
            .cluster
            .network
            .get(id)
            .is_some_and(|it| it.flows[end].is_ending);
        if is_ending {
            self.hear_close(id, 1 - end);
        }
    }

    /// Whoever is at that end has something to read.
    fn notify(&mut self, id: ConnectionId, end: usize) {
        let Some(connection) = self.cluster.network.get(id) else {
            return;
        };
        match (connection.ends[end].place, &connection.what) {
            (Place::Client(client), _) => self.client_reads(client, id),
            (Place::Operator, _) => self.operator.read(&mut self.cluster, id),
            (Place::Node(node), Use::Stream { bricks }) => {
                let brick = bricks[end];
                self.cluster.arrive(
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
                self.cluster.arrive(
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

    /// That end hears that the connection is gone.
    pub(crate) fn hear_close(&mut self, id: ConnectionId, end: usize) {
        let now = self.now();
        let Some(connection) = self.cluster.network.get_mut(id) else {
            return;
        };
        let place = connection.ends[end].place;
        if let Place::Node(node) = place
            && self.cluster.machines[node].paused_until > now
        {
            let until = self.cluster.machines[node].paused_until;
            return self.at(until, What::Close(id, end));
        }
        let was_open = std::mem::replace(&mut connection.is_open[end], false);
        if connection.is_open == [false; 2] && !was_open {
            return self.cluster.network.forget_closed(id);
        }
        let what = connection.what.clone();
        let life = connection.ends[end].life;
        let socket = Socket {
            connection: id,
            end,
        };
        match place {
            Place::Client(client) => self.client_closed(client, id),
            Place::Operator => self.operator.is_left(&mut self.cluster, id),
            Place::Node(node) if !self.cluster.machines.lives(node, life) => {}
            Place::Node(node) => match what {
                Use::Control => self.cluster.control_closed(node, id, end),
                // It knows if it has closed it itself.
                _ if !was_open => {}
                Use::Stream { bricks } => self.cluster.end_socket(node, bricks[end], socket),
                Use::Client { brick } => self.cluster.end_socket(node, brick, socket),
            },
        }
        self.cluster.network.forget_closed(id);
    }
}
