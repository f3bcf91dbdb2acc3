//! Turns of a brick's loop: when they are, and what is done of what they want done.
//!
//! The loop is the server's (`node`); it notes what it does to the world (`loop_io`), and that is carried out here.

use crate::clock::{MICROSECOND, Nanos};
use crate::cluster::Cluster;
use crate::loop_io::{Act, LoopIo, Socket};
use crate::network::{Place, Use};
use brickyard_brick::{ControlRequest, Role};
use brickyard_metadata::CatalogVersion;
use brickyard_node::io::{Ask, LoopProgress};
use brickyard_node::{BrickLoop, ChangeOrigin};
use brickyard_types::{BrickId, PartitionId};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

/// The shortest time from one turn to the next.
const TURN: Nanos = 20 * MICROSECOND;

/// The most that a loop takes of a core's time from one turn to the next, as far as anybody is told.
const TAKEN_MAX: Duration = Duration::from_millis(200);

impl Cluster {
    pub(crate) fn turn(&mut self, node: usize, brick: usize) {
        let now = self.now();
        let Some(side) = self.machines.side(node, brick) else {
            return;
        };
        while side.turns_noted.pop_if(|noted| *noted <= now).is_some() {}
        // It was noted before another one came earlier.
        if side.turn_at.is_none_or(|due| due > now) {
            if let Some(due) = side.turn_at {
                self.machines.turn_at(&mut self.ground, node, brick, due);
            }
            return;
        }
        side.turn_at = None;
        self.note_taken(node, brick);
        let roles = self.roles(node, brick);
        let began = self
            .machines
            .side(node, brick)
            .and_then(|it| it.began.take());
        let Some((brick_loop, mut io)) = self.loop_and_io(node, brick) else {
            return;
        };
        io.began.set(began);
        brick_loop.turn(&mut io);
        let seen = io.seen.take();
        self.look_at_frames(node, seen, &roles);
        if self.carry_out(node, brick) {
            self.check_turn(node, brick);
            self.schedule_next_turn(node, brick);
        }
    }

    fn loop_and_io(&mut self, node: usize, brick: usize) -> Option<(&mut BrickLoop, LoopIo<'_>)> {
        let time = self.now();
        let (now, unix) = self.shown(node);
        let machine = &mut self.machines[node];
        let side = machine.process.as_mut()?.bricks.get_mut(brick)?;
        let io = LoopIo {
            began: Cell::new(None),
            now,
            unix,
            taken: side.taken,
            network: &mut self.network,
            log: &mut side.log,
            disk_is_stuck: machine.disks.stuck_until() > time,
            outside: &mut side.outside,
            seen: self.ground.notes.is_covered().then(Vec::new),
        };
        Some((&mut side.brick_loop, io))
    }

    /// A loop that is busy has taken all the time since its last turn.
    fn note_taken(&mut self, node: usize, brick: usize) {
        let machine = &self.machines[node];
        let (now, is_busy) = (machine.clocks.now(self.now()), machine.is_busy);
        let Some(side) = self.machines.side(node, brick) else {
            return;
        };
        let since = now - std::mem::replace(&mut side.turned_at, now);
        if is_busy {
            side.taken += since.min(TAKEN_MAX);
        }
    }

    /// What the brick is to its partitions; nothing if nobody looks.
    fn roles(&self, node: usize, brick: usize) -> BTreeMap<PartitionId, Role> {
        let process = self.machines[node].process.as_ref();
        let side = process.and_then(|it| it.bricks.get(brick));
        let side = side.filter(|_| self.ground.notes.is_covered()).into_iter();
        let statuses = side.flat_map(|it| it.inspect().statuses());
        statuses.map(|it| (it.partition, it.role)).collect()
    }

    fn look_at_frames(
        &mut self,
        node: usize,
        seen: Option<Vec<Vec<u8>>>,
        roles: &BTreeMap<PartitionId, Role>,
    ) {
        let process = self.machines[node].process.as_ref();
        let catalog = process.and_then(|it| it.catalog.as_ref());
        let has_small_room = self.ground.shape.output_soft < 1 << 20;
        if let (Some(coverage), Some(catalog)) = (self.ground.notes.coverage(), catalog) {
            for bytes in seen.iter().flatten() {
                coverage.look_at_frames(bytes, roles, catalog, has_small_room);
            }
        }
    }

    /// Does what the loop wants done; false if the process died on the way.
    fn carry_out(&mut self, node: usize, brick: usize) -> bool {
        let life = self.machines[node].life;
        loop {
            let Some(side) = self.machines.side(node, brick) else {
                return false;
            };
            let Some(act) = side.outside.acts.pop_front() else {
                return true;
            };
            let is_felt = !matches!(act, Act::Flush | Act::Freed(_) | Act::Publish(_));
            if is_felt && self.dies_here(node) {
                return false;
            }
            self.act(node, brick, act);
            if !self.machines.lives(node, life) {
                return false;
            }
        }
    }

    fn act(&mut self, node: usize, brick: usize, act: Act) {
        match act {
            Act::Append(order) => self.machines.with_log(node, brick, |log| log.append(order)),
            Act::Read(order) => self.machines.with_log(node, brick, |log| log.read(order)),
            Act::Flush => self.machines.begin_work(&mut self.ground, node, brick),
            Act::Forward(to, messages) => {
                let from = BrickId(brick as u32);
                self.give(node, to.0 as usize, |outside| {
                    outside.forwards.push_back((from, messages));
                });
            }
            Act::Ask(ask) => self.ask_member(node, brick, ask),
            Act::Send(socket, bytes) => self.send_from(socket, bytes),
            Act::Freed(socket) => self.wake_sender(Socket {
                end: 1 - socket.end,
                ..socket
            }),
            Act::Close(socket) => self.close_end(socket.connection, socket.end),
            Act::Publish(progress) => self.publish(node, brick, &progress),
            Act::Report(what) => self.tell(|| format!("node {node} reports: {what}")),
            Act::Stop(reason) => self.stop_process(node, &reason),
        }
    }

    fn ask_member(&mut self, node: usize, brick: usize, ask: Ask) {
        match ask {
            Ask::Dial(peer) => self.control(node, |control| control.on_dial(brick, peer)),
            Ask::Request(token, ControlRequest::Change(change)) => {
                let origin = ChangeOrigin { brick, token };
                self.control(node, |control| control.on_change(origin, change));
            }
            Ask::Request(token, ControlRequest::CatchUp) => {
                let origin = ChangeOrigin { brick, token };
                self.control(node, |control| control.on_catch_up(origin));
            }
            Ask::Request(_, request) => {
                self.control(node, |control| control.on_brick(brick, request));
            }
        }
    }

    fn send_from(&mut self, socket: Socket, bytes: Vec<u8>) {
        if let Some(connection) = self.network.get_mut(socket.connection) {
            connection.flows[socket.end].reserved -= bytes.len();
        }
        self.send_bytes(socket.connection, socket.end, bytes);
    }

    /// There is room again for what is sent from that end.
    pub(crate) fn wake_sender(&mut self, socket: Socket) {
        let Some(connection) = self.network.get(socket.connection) else {
            return;
        };
        let (node, brick) = match (connection.ends[socket.end].place, &connection.what) {
            (Place::Node(node), Use::Stream { bricks }) => (node, bricks[socket.end]),
            (Place::Node(node), Use::Client { brick }) => (node, *brick),
            _ => return,
        };
        let side = self.machines.side(node, brick);
        if side.is_some_and(|it| it.outside.unblock(socket)) {
            self.machines.wake(&mut self.ground, node, brick);
        }
    }

    /// Lets the member see how far the brick is.
    fn publish(&mut self, node: usize, brick: usize, progress: &LoopProgress) {
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        let host = &mut process.control.common.host;
        let (Some(state), Some(adopted)) =
            (host.states.get_mut(brick), host.adopted.get_mut(brick))
        else {
            return;
        };
        let (stopped, accepted) = (
            CatalogVersion(progress.stopped),
            CatalogVersion(progress.accepted),
        );
        let is_same =
            *adopted == progress.catalog && state.stopped == stopped && state.accepted == accepted;
        state.turns += 1;
        state.stopped = stopped;
        state.accepted = accepted;
        *adopted = progress.catalog;
        if !is_same {
            self.machines.look_soon(&mut self.ground, node);
        }
    }

    fn schedule_next_turn(&mut self, node: usize, brick: usize) {
        let Some((brick_loop, io)) = self.loop_and_io(node, brick) else {
            return;
        };
        let wait = brick_loop.timeout(&io).as_nanos() as u64;
        let span = self.machines[node].clocks.true_length(wait.max(TURN));
        let next = self.now() + span;
        self.machines.turn_at(&mut self.ground, node, brick, next);
    }

    pub(crate) fn arrive(&mut self, node: usize, brick: usize, socket: Socket) {
        self.give(node, brick, |outside| outside.on_arrived(socket));
    }

    /// The other end of a brick's socket is gone: what has arrived is there, and behind it the end.
    pub(crate) fn end_socket(&mut self, node: usize, brick: usize, socket: Socket) {
        let Some(connection) = self.network.get_mut(socket.connection) else {
            return;
        };
        let flow = &mut connection.flows[1 - socket.end];
        let rest = std::mem::take(&mut flow.arrived);
        let bytes: usize = rest.iter().map(Vec::len).sum();
        flow.bytes -= bytes;
        self.give(node, brick, |outside| outside.on_ended(socket, rest));
    }
}
