//! The cluster: its machines, the network, and who looks on; and each node's part of it, which is told of everything (`node`) and whose wishes
//! are carried out.

use crate::check::check_lead;
use crate::check::memory::{Checkers, Risks};
use crate::clock::{MICROSECOND, MILLISECOND, Nanos};
use crate::ground::Ground;
use crate::host::{HostAction, SimHost};
use crate::loop_io::Outside;
use crate::machines::Machines;
use crate::network::{ConnectionId, Network, Place};
use crate::process::Ending;
use crate::shape::Harm;
use crate::what::What;
use brickyard_metadata::Node;
use brickyard_node::io::ToLoop;
use brickyard_node::peer::{MESSAGE_BYTES_MAX, take_frame};
use brickyard_node::{ControlLoop, Message, News, Report, Source};
use brickyard_store::ControlLogError;
use brickyard_types::{Incarnation, Instant, UnixMillis};

/// Ticks of the agreement in one lease, as in the server.
pub(crate) const TICKS_A_LEASE: u32 = 30;

/// See the module.
pub(crate) struct Cluster {
    pub(crate) ground: Ground,
    pub(crate) machines: Machines,
    pub(crate) network: Network,
    pub(crate) checkers: Checkers,
    pub(crate) risks: Risks,
}

impl Cluster {
    pub(crate) const fn now(&self) -> Nanos {
        self.ground.now()
    }

    /// What a node's two clocks show.
    pub(crate) fn shown(&self, node: usize) -> (Instant, UnixMillis) {
        let clocks = &self.machines[node].clocks;
        (clocks.now(self.now()), clocks.unix(self.now()))
    }

    pub(crate) fn at(&mut self, at: Nanos, what: What) {
        self.ground.at(at, what);
    }

    pub(crate) fn after(&mut self, delay: Nanos, what: What) {
        self.ground.after(delay, what);
    }

    /// Notes something for people.
    pub(crate) fn tell(&mut self, what: impl FnOnce() -> String) {
        self.ground.tell(what);
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        self.ground.count(what);
    }

    /// Somebody objects; the first one is heard.
    pub(crate) fn object(&mut self, what: String) {
        self.ground.object(what);
    }

    /// Something for a brick's next turn.
    pub(crate) fn give(&mut self, node: usize, brick: usize, put: impl FnOnce(&mut Outside)) {
        self.machines.give(&mut self.ground, node, brick, put);
    }

    /// Puts bytes on their way.
    pub(crate) fn send_bytes(&mut self, id: ConnectionId, end: usize, bytes: Vec<u8>) {
        self.network.send_bytes(&mut self.ground, id, end, bytes);
    }

    /// That end closes the connection.
    pub(crate) fn close_end(&mut self, id: ConnectionId, end: usize) {
        self.network.close_end(&mut self.ground, id, end);
    }

    /// Nothing is cut or slow between two nodes any more.
    pub(crate) fn heal(&mut self, from: usize, to: usize) {
        self.network.heal(&mut self.ground, from, to);
    }

    /// The control plane is there for a node again.
    pub(crate) fn heal_control(&mut self, node: usize) {
        self.network.heal_control(&mut self.ground, node);
    }

    /// Something happens to a node, or in it.
    pub(crate) fn happen(&mut self, what: What) {
        match what {
            What::Turn(node, life, brick) => {
                // A turn that a pause held up reads what came meanwhile.
                let until = self.machines[node].paused_until;
                if self.machines.lives(node, life) && until > self.now() {
                    let turn = What::Turn(node, life, brick);
                    self.at(until + MICROSECOND, turn);
                } else if self.machines.lives(node, life) {
                    self.turn(node, brick);
                }
            }
            What::Worked(node, life, brick, worker) => {
                self.machines
                    .worked(&mut self.ground, node, life, brick, worker)
            }
            What::SyncDue(node, life, brick) => {
                self.machines.sync_due(&mut self.ground, node, life, brick)
            }
            What::Stored(node, life) => self.stored(node, life),
            What::Tick(node, life) => {
                if self.is_present(node, life, || What::Tick(node, life)) {
                    self.tick(node, life);
                }
            }
            What::Look(node, life) => {
                if self.is_present(node, life, || What::Look(node, life)) {
                    self.control(node, |_| {});
                }
            }
            What::Recover(node, life) => {
                if self.is_present(node, life, || What::Recover(node, life)) {
                    self.recover(node);
                }
            }
            What::Dial(node, life, target, number) => {
                let again = target.clone();
                if self.is_present(node, life, || What::Dial(node, life, again, number)) {
                    self.dial(node, target, number);
                }
            }
            What::Hello {
                from,
                life,
                to,
                attempt,
                frame,
            } => self.hello(from, life, to, attempt, frame),
            What::Answered(node, life, attempt, answer) => {
                let again = (attempt.clone(), answer.clone());
                if self.is_present(node, life, || What::Answered(node, life, again.0, again.1)) {
                    self.answered(node, attempt, answer);
                }
            }
            What::Start(node) => self.start(node),
            What::Stop(node) => self.stop_in_order(node),
            other => unreachable!("{other:?} is of no node"),
        }
    }

    /// Whether a process can do something now; if it is stopped for a while, it is done after that.
    fn is_present(&mut self, node: usize, life: u64, again: impl FnOnce() -> What) -> bool {
        if !self.machines.lives(node, life) {
            return false;
        }
        let until = self.machines[node].paused_until;
        if until > self.now() {
            self.at(until, again());
            return false;
        }
        true
    }

    /// Tells a node's part of the cluster something, and does what comes of it.
    pub(crate) fn control(&mut self, node: usize, tell: impl FnOnce(&mut ControlLoop<SimHost>)) {
        let (now, unix) = self.shown(node);
        let machine = &mut self.machines[node];
        let Some(process) = &mut machine.process else {
            return;
        };
        let host = &mut process.control.common.host;
        (host.now, host.unix) = (now, unix);
        tell(&mut process.control);
        // What is said at once may be said, and nothing be done of what comes of it.
        self.grant_wishes(node);
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        process.control.settle();
        self.grant_wishes(node);
        self.hear_news(node);
    }

    fn hear_news(&mut self, node: usize) {
        while let Some(process) = &mut self.machines[node].process
            && let Some(news) = process.control.take_news()
        {
            let life = process.life;
            match news {
                News::First(_) => {
                    let delay = self.ground.chance.delay(20 * MILLISECOND);
                    self.after(delay, What::Recover(node, life));
                }
                News::Founded(_) => self.tell(|| format!("node {node} founds a cluster")),
                News::TakenIn(_) => self.tell(|| format!("node {node} is taken into the cluster")),
                News::Failed(reason) => self.stop_process(node, &reason),
                News::Refused(what) => self.tell(|| format!("node {node} is not wanted: {what}")),
                News::Superseded(present) => self.on_superseded(node, present),
                News::Renumbered(other) => {
                    let reason = format!("it is {other} of the cluster now");
                    self.stop_process(node, &reason);
                }
                News::Drained => self.stop_in_order(node),
            }
        }
    }

    /// The node ends as it was told to, if it holds nothing alone that goes with it.
    pub(crate) fn stop_in_order(&mut self, node: usize) {
        let process = self.machines[node].process.as_ref();
        if process.is_none_or(|it| !it.control.is_draining())
            || !self.may_come_to(Harm::Memory, node)
        {
            return;
        }
        self.end(node, Ending::Stop);
        self.restart_soon(node, 3_000 * MILLISECOND);
    }

    /// A node learns that its life is over: if its node was removed, it ends.
    fn on_superseded(&mut self, node: usize, present: Option<Incarnation>) {
        if !self.retire(node) {
            self.object(format!(
                "node {node} was superseded by {present:?}, although no other process has its directory"
            ));
        }
    }

    fn grant_wishes(&mut self, node: usize) {
        loop {
            if self.dies_here(node) {
                return;
            }
            let Some(process) = &mut self.machines[node].process else {
                return;
            };
            let life = process.life;
            let Some(action) = process.control.common.host.wires.actions.pop_front() else {
                return;
            };
            match action {
                HostAction::Send(connection, bytes) => {
                    self.network
                        .send_message(&mut self.ground, node, connection, bytes)
                }
                HostAction::Close(connection, end) => self.close_end(connection, end),
                HostAction::Dial {
                    own,
                    peer,
                    connection,
                    address,
                } => self.dial_stream(node, own, peer, connection, &address),
                HostAction::Tell(brick, message) => self.give(node, brick, |outside| {
                    outside.messages.push_back(ToLoop::Brick(message));
                }),
                HostAction::Persist(persist) => {
                    if let Some(log) = &mut process.control.common.host.log {
                        log.queue.push_back(persist);
                        if !std::mem::replace(&mut log.is_busy, true) {
                            let delay = self.machines[node].disks.control_delay(
                                self.now(),
                                self.ground.shape.control_sync,
                                &mut self.ground.chance,
                            );
                            self.after(delay, What::Stored(node, life));
                        }
                    }
                }
                HostAction::Connect => self.machines.connect(&mut self.ground, node),
                HostAction::Shown(catalog) => {
                    process.catalog = Some(std::sync::Arc::clone(&catalog));
                    self.check_catalog(node, &catalog);
                }
                HostAction::ConfirmTail => {
                    let machine = &mut self.machines[node];
                    let process = machine.process.as_mut();
                    let confirmed = process.map(|it| it.boot.confirm_tail(machine.disks.own()));
                    // Without the note the next start asks once more.
                    drop(confirmed);
                }
                HostAction::Stop(reason) => {
                    self.object(format!("node {node} can make no more promises: {reason}"));
                }
            }
        }
    }

    /// Whether this is where the plan has the process die: between two effects.
    pub(crate) fn dies_here(&mut self, node: usize) -> bool {
        let Some(left) = &mut self.machines[node].dies_after else {
            return false;
        };
        if *left > 0 {
            *left -= 1;
            return false;
        }
        self.machines[node].dies_after = None;
        // Others may have died since it was said that this one will.
        if !self.may_come_to(Harm::Memory, node) {
            return false;
        }
        self.kill(node, false);
        self.restart_soon(node, 3_000 * MILLISECOND);
        true
    }

    /// The control log has what was to be stored.
    pub(crate) fn stored(&mut self, node: usize, life: u64) {
        if !self.machines.lives(node, life) {
            return;
        }
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        let Some(log) = &mut process.control.common.host.log else {
            return;
        };
        let mut stored = None;
        let mut must_sync = false;
        let mut report = None;
        while let Some(persist) = log.queue.front() {
            match log.writer.write(persist) {
                Ok(()) => {
                    stored = Some(persist.number);
                    must_sync |= persist.must_sync;
                    log.queue.pop_front();
                }
                Err(error @ (ControlLogError::Full { .. } | ControlLogError::Io { .. })) => {
                    report = Some(Report::Refused(error.to_string()));
                    break;
                }
                Err(error) => return self.stop_process(node, &error.to_string()),
            }
        }
        if must_sync && let Err(error) = log.writer.sync() {
            return self.stop_process(node, &error.to_string());
        }
        log.is_busy = !log.queue.is_empty();
        if log.is_busy {
            self.after(200 * MILLISECOND, What::Stored(node, life));
        }
        if let Some(report) = report {
            self.control(node, |control| control.on_report(&report));
        }
        if let Some(number) = stored {
            let report = Report::Stored(number);
            self.control(node, |control| control.on_report(&report));
        }
    }

    /// The process ends itself: its disk cannot be trusted.
    pub(crate) fn stop_process(&mut self, node: usize, reason: &str) {
        self.tell(|| format!("node {node} stops: {reason}"));
        self.kill(node, false);
        self.restart_soon(node, 1_000 * MILLISECOND);
    }

    pub(crate) fn tick(&mut self, node: usize, life: u64) {
        let lease = self.ground.shape.control.lease;
        let span = (lease / TICKS_A_LEASE).as_nanos() as u64;
        let length = self.machines[node].clocks.true_length(span);
        self.after(length, What::Tick(node, life));
        self.control(node, ControlLoop::on_tick);
        check_lead(self, node);
        if self.dies_here(node) {
            return;
        }
        self.machines.connect(&mut self.ground, node);
    }

    /// A node has a message.
    pub(crate) fn on_message(&mut self, node: usize, source: Source, bytes: &[u8]) {
        let mut frame = bytes.to_vec();
        let body = take_frame(&mut frame, MESSAGE_BYTES_MAX).ok().flatten();
        let Some(message) = body.and_then(|body| Message::read(&body)) else {
            return self.object(format!("node {node} cannot read a message"));
        };
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        if let Some(coverage) = self.ground.notes.coverage() {
            coverage.look_at_message(&message, process);
        }
        self.control(node, |control| control.on_message(source, message));
    }

    pub(crate) fn is_heard(&self, id: ConnectionId, end: usize) -> bool {
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

    pub(crate) fn hear(&mut self, id: ConnectionId, end: usize, bytes: &[u8]) {
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

    pub(crate) fn control_closed(&mut self, node: usize, id: ConnectionId, end: usize) {
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
        self.machines.redial(&mut self.ground, node, &target, false);
    }

    /// A node that was removed has heard of it, and ends for ever.
    pub(crate) fn retire(&mut self, node: usize) -> bool {
        let is_right = self.machines[node].is_unwanted;
        if is_right {
            self.count("removed nodes that ended");
            self.end(node, Ending::Stop);
            self.machines[node].is_retired = true;
        }
        is_right
    }

    /// What the newest catalog says of a machine's node.
    pub(crate) fn member_of(&self, node: usize) -> Option<&Node> {
        let catalog = self.checkers.latest.as_ref()?;
        catalog.node_by_key(&self.machines[node].key)
    }
}
