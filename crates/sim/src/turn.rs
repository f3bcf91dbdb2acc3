//! A turn of a brick's loop, as the server's driver makes it, and the workers of its log.

use crate::clock::{MICROSECOND, MILLISECOND, Nanos};
use crate::log_work::Worker;
use crate::network::{ConnectionId, Place, Use, WINDOW_BYTES};
use crate::process::Inbound;
use crate::world::{What, World};
use brickyard_brick::{self as brick, Accepted, Effect, Event, LinkId};
use brickyard_metadata::CatalogVersion;
use brickyard_node::Asker;
use brickyard_types::Instant;
use std::time::Duration;

/// The brick hears of the time at least this often.
const TICK: Duration = Duration::from_millis(100);

/// Batches of requests that one turn executes at most.
const RUNS_MAX: usize = 16;

impl World {
    /// A brick's loop has something to do.
    pub(crate) fn wake(&mut self, node: usize, brick: usize) {
        let delay = self.chance.delay(15 * MICROSECOND);
        self.turn_at(node, brick, self.now + delay);
    }

    fn turn_at(&mut self, node: usize, brick: usize, at: Nanos) {
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        let life = process.life;
        let Some(side) = process.bricks.get_mut(brick) else {
            return;
        };
        if side.turn_at.is_none_or(|noted| noted > at) {
            side.turn_at = Some(at);
        }
        // One that comes earlier sees to those that come later.
        if side.turns_noted.last().is_none_or(|noted| *noted > at) {
            side.turns_noted.push(at);
            self.agenda.note(at, What::Turn(node, life, brick));
        }
    }

    pub(crate) fn turn(&mut self, node: usize, brick: usize) {
        let machine = &mut self.machines[node];
        let (now, unix) = (machine.clocks.now(self.now), machine.clocks.unix(self.now));
        let Some(process) = &mut machine.process else {
            return;
        };
        let Some(side) = process.bricks.get_mut(brick) else {
            return;
        };
        let has_come = |noted: &mut Nanos| *noted <= self.now;
        while side.turns_noted.pop_if(has_come).is_some() {}
        // It was noted before another one came earlier.
        if side.turn_at.is_none_or(|due| due > self.now) {
            if let Some(due) = side.turn_at {
                self.turn_at(node, brick, due);
            }
            return;
        }
        side.turn_at = None;
        side.brick.begin_turn(now, unix);
        if now - side.ticked >= TICK {
            if machine.is_busy {
                side.taken += (now - side.ticked).min(TICK * 2);
            }
            side.ticked = now;
            side.brick.note_taken(side.taken);
            side.brick.handle(Event::Tick);
        }
        self.take_inbound(node, brick);
        self.receive(node, brick);
        if !self.take_reports(node, brick) {
            return;
        }
        let Some(side) = self.side(node, brick) else {
            return;
        };
        for _ in 0..RUNS_MAX {
            side.brick.begin_batch(now);
            side.brick.run();
            side.brick.on_ran(Duration::ZERO);
            if !side.brick.has_work() {
                break;
            }
        }
        if !self.carry_out(node, brick) {
            return;
        }
        if !self.send_outputs(node, brick) {
            return;
        }
        if let Some(reason) = self.side(node, brick).and_then(|it| it.stopped.take()) {
            // Only now: the clients were just told what is known of their writes.
            return self.stop_process(node, &reason);
        }
        self.close_clients(node, brick);
        self.publish(node, brick);
        self.judge_turn(node, brick);
        self.see_to_next_turn(node, brick, now);
    }

    fn side(&mut self, node: usize, brick: usize) -> Option<&mut crate::process::BrickSide> {
        self.machines[node].process.as_mut()?.bricks.get_mut(brick)
    }

    fn take_inbound(&mut self, node: usize, brick: usize) {
        loop {
            let Some(side) = self.side(node, brick) else {
                return;
            };
            let Some(inbound) = side.inbound.pop_front() else {
                return;
            };
            match inbound {
                Inbound::Tell(message) => side.brick.handle(message.into_event()),
                Inbound::Forward(from, messages) => {
                    side.brick.handle(Event::Forward(from, messages));
                }
                Inbound::Accept(connection, port) => {
                    let accepted = Accepted {
                        port,
                        peer: "client:1".to_owned(),
                        local: "node:6379".to_owned(),
                    };
                    match side.brick.accept(accepted) {
                        Ok(id) => {
                            side.clients.insert(id.0, connection);
                            if let Some(it) = self.network.get_mut(connection) {
                                it.what = Use::Client {
                                    brick,
                                    id: Some(id),
                                };
                            }
                        }
                        Err(_) => self.close_end(connection, 1),
                    }
                }
                Inbound::Stream {
                    connection,
                    end,
                    peer,
                    direction,
                    number,
                } => {
                    let is_open = |it: &crate::network::Connection| it.is_open[end];
                    if !self.network.get(connection).is_some_and(is_open) {
                        continue;
                    }
                    let Some(side) = self.side(node, brick) else {
                        return;
                    };
                    let link = side.brick.peer_number();
                    side.links.insert(link, connection);
                    side.brick.peer_opened(link, peer, direction, number);
                    if let Some(it) = self.network.get_mut(connection)
                        && let Use::Stream { links, .. } = &mut it.what
                    {
                        links[end] = Some(link);
                    }
                }
                Inbound::Closed(connection) => {
                    if let Some((&link, _)) = side.links.iter().find(|(_, it)| **it == connection) {
                        side.links.remove(&link);
                        side.brick.peer_closed(link);
                    } else if let Some((&id, _)) =
                        side.clients.iter().find(|(_, it)| **it == connection)
                    {
                        side.brick.on_end_of_stream(brick::ConnectionId(id));
                    }
                }
            }
        }
    }

    /// Receives what is there, from clients and from other bricks.
    fn receive(&mut self, node: usize, brick: usize) {
        let here = Place::Node(node);
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        let Some(side) = process.bricks.get_mut(brick) else {
            return;
        };
        let readable: Vec<_> = side.readable.iter().copied().collect();
        let mut freed = Vec::new();
        for (id, end) in readable {
            let Some(connection) = self.network.get_mut(id) else {
                side.readable.remove(&(id, end));
                continue;
            };
            if connection.ends[end].place != here || !connection.is_open[end] {
                side.readable.remove(&(id, end));
                continue;
            }
            let flow = &mut connection.flows[1 - end];
            match &connection.what {
                Use::Stream { links, .. } => {
                    // Not before the brick knows of it.
                    let Some(link) = links[end] else { continue };
                    let input = side.brick.peer_input(link);
                    for bytes in flow.arrived.drain(..) {
                        flow.bytes -= bytes.len();
                        input.extend_from_slice(&bytes);
                    }
                    if let (Some(coverage), Some(catalog)) = (&mut self.coverage, &process.catalog)
                    {
                        let bytes = input.clone();
                        coverage.look_at_frames(&bytes, &side.brick, catalog);
                    }
                    side.brick.on_peer_received(link);
                }
                Use::Client { id: Some(it), .. } => {
                    if !side.brick.wants_input(*it) {
                        continue;
                    }
                    let input = side.brick.input(*it);
                    for bytes in flow.arrived.drain(..) {
                        flow.bytes -= bytes.len();
                        input.extend_from_slice(&bytes);
                    }
                    side.brick.on_received(*it);
                }
                Use::Client { id: None, .. } => continue,
                Use::Control => {}
            }
            freed.push((id, end));
            side.readable.remove(&(id, end));
        }
        for (id, end) in freed {
            self.wake_sender(id, 1 - end);
        }
    }

    /// Who could not send everything can send more.
    fn wake_sender(&mut self, id: ConnectionId, end: usize) {
        let Some(connection) = self.network.get(id) else {
            return;
        };
        let sender = match (connection.ends[end].place, &connection.what) {
            (Place::Node(node), Use::Stream { bricks, .. }) => (node, bricks[end]),
            (Place::Node(node), Use::Client { brick, .. }) => (node, *brick),
            _ => return,
        };
        let process = self.machines[sender.0].process.as_ref();
        let is_blocked = process
            .and_then(|it| it.bricks.get(sender.1))
            .is_some_and(|it| it.blocked.contains(&id));
        if is_blocked {
            self.wake(sender.0, sender.1);
        }
    }

    /// Passes on what the disk did; false if the process died on the way.
    fn take_reports(&mut self, node: usize, brick: usize) -> bool {
        let Some(side) = self.side(node, brick) else {
            return false;
        };
        let mut has_moves = false;
        while let Some(report) = side.log.reports.pop_front() {
            let brick = &mut side.brick;
            report.deliver(&mut |event| {
                has_moves |= matches!(event, Event::SegmentChunk { .. });
                brick.handle(event);
            });
        }
        // What the cleaner moves gets a batch of its own, as in the server.
        !has_moves || self.carry_out(node, brick)
    }

    /// Carries out what the brick wants; false if the process died on the way.
    fn carry_out(&mut self, node: usize, brick: usize) -> bool {
        loop {
            let Some(side) = self.side(node, brick) else {
                return false;
            };
            let Some(effect) = side.brick.poll_effect() else {
                break;
            };
            let Some(effect) = side.log.take(effect) else {
                if self.dies_here(node) {
                    return false;
                }
                continue;
            };
            match effect {
                Effect::Forward(to, messages) => {
                    let from = brickyard_types::BrickId(brick as u32);
                    let inbound = Inbound::Forward(from, messages);
                    self.give(node, to.0 as usize, inbound);
                }
                Effect::Control(token, request) => self.ask_control(node, brick, token, request),
                Effect::Dial(peer) => {
                    self.member(node, |member, common| member.on_dial(brick, peer, common));
                }
                Effect::ClosePeer(link, reason) => self.close_link(node, brick, link, &reason),
                Effect::Report(what) => self.on_report_text(node, &what),
                Effect::Stop(reason) => side.stopped = Some(reason),
                _ => {}
            }
            if self.dies_here(node) || !self.machines[node].is_up() {
                return false;
            }
        }
        self.begin_work(node, brick);
        true
    }

    fn on_report_text(&mut self, node: usize, what: &str) {
        self.tell(|| format!("node {node} reports: {what}"));
    }

    fn ask_control(
        &mut self,
        node: usize,
        brick: usize,
        token: u64,
        request: brick::ControlRequest,
    ) {
        match request {
            brick::ControlRequest::Change(change) => self.member(node, |member, common| {
                use brickyard_node::Host as _;
                let now = common.host.now();
                member.on_change(now, Asker { brick, token }, change);
            }),
            request => self.member(node, |member, common| {
                member.on_brick(brick, request, common);
            }),
        }
    }

    fn close_link(&mut self, node: usize, brick: usize, link: LinkId, reason: &str) {
        self.tell(|| format!("node {node} closes a stream: {reason}"));
        let Some(side) = self.side(node, brick) else {
            return;
        };
        let connection = side.links.remove(&link);
        side.brick.peer_closed(link);
        if let Some(id) = connection {
            let end = self.network.get(id).and_then(|it| {
                let Use::Stream { links, .. } = &it.what else {
                    return None;
                };
                (0..2).find(|end| {
                    it.ends[*end].place == Place::Node(node) && links[*end] == Some(link)
                })
            });
            if let Some(end) = end {
                self.close_end(id, end);
            }
        }
    }

    /// Sends what the brick has for others; false if the process died on the way.
    fn send_outputs(&mut self, node: usize, brick: usize) -> bool {
        let Some(side) = self.side(node, brick) else {
            return false;
        };
        let blocked = std::mem::take(&mut side.blocked);
        let mut links: Vec<LinkId> = Vec::new();
        let mut clients: Vec<brick::ConnectionId> = Vec::new();
        for (link, id) in &side.links {
            if blocked.contains(id) {
                links.push(*link);
            }
        }
        for (client, id) in &side.clients {
            if blocked.contains(id) {
                clients.push(brick::ConnectionId(*client));
            }
        }
        while let Some(link) = side.brick.poll_peer_output() {
            links.push(link);
        }
        while let Some(id) = side.brick.poll_output() {
            clients.push(id);
        }
        for link in links {
            if self.dies_here(node) {
                return false;
            }
            let Some(side) = self.side(node, brick) else {
                return false;
            };
            let Some(&id) = side.links.get(&link) else {
                continue;
            };
            let bytes = side.brick.peer_output(link).to_vec();
            let end = self.end_at(id, node, Some(link));
            let (sent, is_blocked) = self.send_some(id, end, bytes);
            let Some(side) = self.side(node, brick) else {
                return false;
            };
            side.brick.on_peer_sent(link, sent);
            if is_blocked {
                side.blocked.insert(id);
            }
        }
        for client in clients {
            if self.dies_here(node) {
                return false;
            }
            let Some(side) = self.side(node, brick) else {
                return false;
            };
            let Some(&id) = side.clients.get(&client.0) else {
                continue;
            };
            let bytes = side.brick.output(client).to_vec();
            let (sent, is_blocked) = self.send_some(id, 1, bytes);
            let Some(side) = self.side(node, brick) else {
                return false;
            };
            side.brick.on_sent(client, sent);
            if is_blocked {
                side.blocked.insert(id);
            }
        }
        true
    }

    fn end_at(&self, id: ConnectionId, node: usize, link: Option<LinkId>) -> usize {
        let Some(connection) = self.network.get(id) else {
            return 0;
        };
        let Use::Stream { links, .. } = &connection.what else {
            return 1;
        };
        usize::from(!(connection.ends[0].place == Place::Node(node) && links[0] == link))
    }

    /// Sends as much as the socket takes: how much, and whether there is more.
    fn send_some(&mut self, id: ConnectionId, end: usize, mut bytes: Vec<u8>) -> (usize, bool) {
        if bytes.is_empty() {
            return (0, false);
        }
        let Some(connection) = self.network.get(id) else {
            return (bytes.len(), false);
        };
        let room = WINDOW_BYTES.saturating_sub(connection.flows[end].bytes);
        let is_blocked = bytes.len() > room;
        bytes.truncate(room);
        let len = bytes.len();
        if len > 0 {
            self.send_bytes(id, end, bytes);
        }
        (len, is_blocked)
    }

    fn close_clients(&mut self, node: usize, brick: usize) {
        loop {
            let Some(side) = self.side(node, brick) else {
                return;
            };
            while side.brick.poll_paused().is_some() {}
            while let Some(id) = side.brick.poll_resumed() {
                if let Some(&connection) = side.clients.get(&id.0) {
                    side.readable.insert((connection, 1));
                }
            }
            let Some(id) = side.brick.poll_closed() else {
                return;
            };
            if let Some(connection) = side.clients.remove(&id.0) {
                self.close_end(connection, 1);
            }
        }
    }

    /// Lets the member see how far the brick is.
    fn publish(&mut self, node: usize, brick: usize) {
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        let Some(side) = process.bricks.get(brick) else {
            return;
        };
        let version = side.brick.catalog_version();
        let (stopped, accepted) = side.brick.acknowledged();
        let host = &mut process.common.host;
        let (Some(state), Some(adopted)) =
            (host.states.get_mut(brick), host.adopted.get_mut(brick))
        else {
            return;
        };
        let is_same = *adopted == version
            && state.stopped == CatalogVersion(stopped)
            && state.accepted == CatalogVersion(accepted);
        state.turns += 1;
        state.stopped = CatalogVersion(stopped);
        state.accepted = CatalogVersion(accepted);
        *adopted = version;
        if !is_same {
            self.look_soon(node);
        }
    }

    fn see_to_next_turn(&mut self, node: usize, brick: usize, now: Instant) {
        let clocks = self.machines[node].clocks.clone();
        let Some(side) = self.side(node, brick) else {
            return;
        };
        let wait = if side.brick.has_work() || !side.inbound.is_empty() {
            Duration::from_micros(20)
        } else {
            let deadline = side.brick.next_deadline();
            deadline.map_or(TICK, |deadline| (deadline - now).min(TICK))
        };
        let span = (wait.as_nanos() as u64).max(20 * MICROSECOND);
        let at = self.now + clocks.true_length(span);
        self.turn_at(node, brick, at);
    }

    /// How long something takes on a node's disk.
    pub(crate) fn disk_delay(&mut self, node: usize, typical: Nanos) -> Nanos {
        let machine = &self.machines[node];
        let held = machine.stuck_until.saturating_sub(self.now);
        held + self.chance.delay(typical * machine.slow)
    }

    /// Workers that have nothing to do begin what there is.
    pub(crate) fn begin_work(&mut self, node: usize, brick: usize) {
        for worker in [Worker::Append, Worker::Sync, Worker::Read, Worker::Hint] {
            let now = self.now;
            let is_early = worker == Worker::Sync && self.chance.one_in(2);
            let Some(process) = &mut self.machines[node].process else {
                return;
            };
            let life = process.life;
            let Some(side) = process.bricks.get_mut(brick) else {
                return;
            };
            match side.log.begin(worker, now, is_early) {
                Some(None) => {
                    let typical = match worker {
                        Worker::Append => 20 * MICROSECOND,
                        Worker::Sync => self.shape.sync,
                        Worker::Read => 100 * MICROSECOND,
                        Worker::Hint => 10 * MILLISECOND,
                    };
                    let delay = self.disk_delay(node, typical);
                    self.after(delay, What::Worked(node, life, brick, worker));
                }
                Some(Some(due)) if side.sync_at.is_none_or(|at| at <= now) => {
                    side.sync_at = Some(due);
                    self.agenda.note(due, What::SyncDue(node, life, brick));
                }
                Some(Some(_)) | None => {}
            }
        }
    }

    pub(crate) fn sync_due(&mut self, node: usize, life: u64, brick: usize) {
        if self.lives(node, life) {
            self.begin_work(node, brick);
        }
    }

    /// A worker is done; the disk has done it though the process may be stopped for a while.
    pub(crate) fn worked(&mut self, node: usize, life: u64, brick: usize, worker: Worker) {
        if !self.lives(node, life) {
            return;
        }
        let now = self.now;
        if self.machines[node].stuck_until > now {
            let until = self.machines[node].stuck_until;
            return self
                .agenda
                .note(until, What::Worked(node, life, brick, worker));
        }
        let Some(side) = self.side(node, brick) else {
            return;
        };
        side.log.finish(worker, now);
        let has_news = !side.log.reports.is_empty();
        self.begin_work(node, brick);
        if has_news {
            self.wake(node, brick);
        }
    }
}
