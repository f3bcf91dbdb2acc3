//! Connections between nodes that come about, or do not: hellos, answers, attempts.
//!
//! What is said, who is refused and when another attempt follows is the server's (`node`); how long the frames take, and
//! whether anybody is there to read them, is decided here.

use crate::clock::Nanos;
use crate::cluster::Cluster;
use crate::loop_io::Socket;
use crate::network::{ConnectionId, End, Place, Use};
use crate::power::node_at;
use crate::what::{Answered, Attempt, What};
use brickyard_brick::Direction;
use brickyard_node::io::{Stream, ToLoop};
use brickyard_node::peer::{
    ANSWER, Answer, CONNECT, ConnectionKind, Greeted, HELLO_BYTES_MAX, HandshakeRefused, Hello,
    Welcome, on_answer, on_hello, take_frame,
};
use brickyard_node::{HostPort, Target};
use brickyard_routing::Replica;

impl Cluster {
    /// A node makes a connection of the control plane.
    pub(crate) fn dial(&mut self, node: usize, target: Target, number: u64) {
        let Some(process) = &self.machines[node].process else {
            return;
        };
        let host = &process.control.common.host;
        let dialed = host.wires.dialed.get(&target);
        let Some(dialed) = dialed.filter(|it| it.attempt == Some(number)) else {
            return;
        };
        let hello = host.contacts.introduction().hello(ConnectionKind::Control);
        let address = dialed.address.clone();
        self.greet(node, Attempt::Control { target, number }, &address, &hello);
    }

    /// A brick of a node wants a stream.
    pub(crate) fn dial_stream(
        &mut self,
        node: usize,
        own: Replica,
        peer: Replica,
        number: u64,
        address: &HostPort,
    ) {
        let Some(process) = &self.machines[node].process else {
            return;
        };
        let introduction = process.control.common.host.contacts.introduction();
        let hello = introduction.hello(ConnectionKind::Stream {
            from: own,
            to: peer,
            connection: number,
        });
        self.greet(node, Attempt::Stream { own, peer, number }, address, &hello);
    }

    fn greet(&mut self, node: usize, attempt: Attempt, address: &HostPort, hello: &Hello) {
        let life = self.machines[node].life;
        let to = node_at(address);
        let is_control = matches!(attempt, Attempt::Control { .. });
        let reached = to.and_then(|to| {
            Some((
                to,
                self.network.reach(&mut self.ground, node, to, is_control)?,
            ))
        });
        let mut patience = CONNECT;
        if let Some((to, delay)) = reached {
            patience += ANSWER;
            let attempt = attempt.clone();
            let hello = What::Hello {
                from: node,
                life,
                to,
                attempt,
                frame: hello.frame(),
            };
            self.after(delay, hello);
        }
        // Unless an answer comes before.
        let given_up = What::Answered(node, life, attempt, None);
        self.after(patience.as_nanos() as Nanos, given_up);
    }

    /// Somebody says hello.
    pub(crate) fn hello(
        &mut self,
        from: usize,
        life: u64,
        to: usize,
        attempt: Attempt,
        frame: Vec<u8>,
    ) {
        if !self.machines.lives(from, life) {
            return;
        }
        let (near, far) = (Place::Node(from), Place::Node(to));
        if !self.machines[to].is_up() {
            let delay = self.network.delay(&mut self.ground, far, near, false);
            return self.after(delay, What::Answered(from, life, attempt, None));
        }
        let paused = self.machines[to].paused_until;
        if paused > self.now() {
            let again = What::Hello {
                from,
                life,
                to,
                attempt,
                frame,
            };
            return self.at(paused, again);
        }
        let end = End { place: near, life };
        let (connection, answer) = match self.check_hello(to, frame) {
            Greeted::Ok(hello) => self.take(end, to, hello),
            Greeted::Refused(refused) => (None, Answer::Refused(refused)),
            Greeted::Stranger(what) => {
                return self.object(format!("node {to} does not understand node {from}: {what}"));
            }
        };
        let delay = self.network.delay(&mut self.ground, far, near, false);
        let answer = Some((connection, answer.frame()));
        self.after(delay, What::Answered(from, life, attempt, answer));
    }

    fn check_hello(&self, to: usize, mut frame: Vec<u8>) -> Greeted<Hello> {
        let Ok(Some(body)) = take_frame(&mut frame, HELLO_BYTES_MAX) else {
            return Greeted::Stranger("its first frame is damaged");
        };
        let hello = match on_hello(&body) {
            Greeted::Ok(hello) => hello,
            other => return other,
        };
        let Some(process) = &self.machines[to].process else {
            return Greeted::Refused(HandshakeRefused::Stopping);
        };
        match process.control.admit(&hello) {
            Ok(()) => Greeted::Ok(hello),
            Err(refused) => Greeted::Refused(refused),
        }
    }

    /// A connection that is made to a node is taken.
    fn take(&mut self, from: End, to: usize, hello: Hello) -> (Option<ConnectionId>, Answer) {
        let here = End {
            place: Place::Node(to),
            life: self.machines[to].life,
        };
        let what = match hello.kind {
            ConnectionKind::Control => Use::Control,
            ConnectionKind::Stream { from, to, .. } => Use::Stream {
                bricks: [from.member.brick.0 as usize, to.member.brick.0 as usize],
            },
        };
        let id = self.network.connect([from, here], what);
        if let ConnectionKind::Stream {
            from: peer,
            to: own,
            connection,
        } = hello.kind
        {
            let stream = Stream {
                own,
                peer,
                direction: Direction::Incoming,
                connection,
                socket: Socket {
                    connection: id,
                    end: 1,
                },
            };
            self.give_stream(to, stream);
        }
        let Some(process) = &mut self.machines[to].process else {
            return (None, Answer::Refused(HandshakeRefused::Stopping));
        };
        let contacts = &mut process.control.common.host.contacts;
        contacts.on_arrived(id.0, hello);
        let welcome = contacts.introduction().welcome();
        (Some(id), Answer::Welcome(welcome))
    }

    fn give_stream(&mut self, node: usize, stream: Stream<Socket>) {
        let brick = stream.own.member.brick.0 as usize;
        self.give(node, brick, |outside| {
            outside.messages.push_back(ToLoop::Peer(stream));
        });
    }

    /// What came of an attempt; `None`: there was no answer.
    pub(crate) fn answered(&mut self, node: usize, attempt: Attempt, answer: Answered) {
        let connection = answer.as_ref().and_then(|(connection, _)| *connection);
        if !self.is_awaited(node, &attempt) {
            if let Some(id) = connection {
                self.close_end(id, 0);
            }
            return;
        }
        let greeted = answer.map(|(_, frame)| self.read_answer(node, &attempt, frame));
        let is_there = |id: &ConnectionId| {
            let there = self.network.get(*id);
            there.is_some_and(|it| it.is_open == [true; 2])
        };
        let connection = connection.filter(is_there);
        match (attempt, greeted, connection) {
            (Attempt::Control { target, .. }, Some(Greeted::Ok(welcome)), Some(id)) => {
                self.on_connected(node, target, welcome, id);
            }
            (Attempt::Control { target, .. }, greeted, _) => {
                let refused = match greeted {
                    Some(Greeted::Refused(refused)) => Some(refused),
                    _ => None,
                };
                self.on_not_connected(node, target, refused);
            }
            (Attempt::Stream { own, peer, number }, Some(Greeted::Ok(_)), Some(id)) => {
                self.control(node, |control| control.on_stream(own, peer));
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
                self.give_stream(node, stream);
            }
            (Attempt::Stream { own, peer, .. }, ..) => {
                self.control(node, |control| control.on_no_stream(own, peer));
            }
        }
    }

    /// Whether a node waits for what comes of an attempt; it does so no more after that.
    fn is_awaited(&mut self, node: usize, attempt: &Attempt) -> bool {
        let Some(process) = &mut self.machines[node].process else {
            return false;
        };
        let wires = &mut process.control.common.host.wires;
        match attempt {
            Attempt::Control { target, number } => {
                let dialed = wires.dialed.get_mut(target);
                dialed.is_some_and(|it| it.attempt.take_if(|it| it == number).is_some())
            }
            Attempt::Stream { number, .. } => wires.streams.remove(number),
        }
    }

    fn read_answer(&self, node: usize, attempt: &Attempt, mut frame: Vec<u8>) -> Greeted<Welcome> {
        let process = self.machines[node].process.as_ref();
        let dialed = process.map(|it| &it.control.common.host.wires.dialed);
        let expected = match attempt {
            Attempt::Control { target, .. } => dialed
                .and_then(|it| it.get(target))
                .and_then(|it| it.expected),
            Attempt::Stream { .. } => None,
        };
        match take_frame(&mut frame, HELLO_BYTES_MAX) {
            Ok(Some(body)) => on_answer(&body, expected),
            _ => Greeted::Stranger("its answer is damaged"),
        }
    }

    fn on_connected(&mut self, node: usize, target: Target, welcome: Welcome, id: ConnectionId) {
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        let host = &mut process.control.common.host;
        if let Some(dialed) = host.wires.dialed.get_mut(&target) {
            dialed.connection = Some(id);
        }
        host.contacts.on_welcomed(&target, welcome.key);
        // What the other end has said meanwhile was for this connection.
        self.network.deliver_again(&mut self.ground, id, 1);
        self.control(node, |control| control.on_welcome(target, welcome));
    }

    fn on_not_connected(&mut self, node: usize, target: Target, refused: Option<HandshakeRefused>) {
        self.machines
            .redial(&mut self.ground, node, &target, refused.is_some());
        if let Some(refused) = refused {
            self.control(node, |control| control.on_refused(&target, &refused));
        }
    }
}
