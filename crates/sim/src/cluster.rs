//! A node's part of the cluster: it is told of everything (`node`), and what it wishes is done.

use crate::clock::{MICROSECOND, MILLISECOND};
use crate::host::{SimHost, Wish};
use crate::process::Ending;
use crate::shape::Harm;
use crate::what::What;
use crate::world::World;
use brickyard_node::io::ToLoop;
use brickyard_node::peer::{MESSAGE_BYTES_MAX, take_frame};
use brickyard_node::{ControlLoop, Message, News, Report, Source};
use brickyard_store::ControlLogError;
use brickyard_types::Incarnation;

/// Ticks of the agreement in one lease, as in the server.
const TICKS_A_LEASE: u32 = 30;

impl World {
    /// Tells a node's part of the cluster something, and does what comes of it.
    pub(crate) fn control(&mut self, node: usize, tell: impl FnOnce(&mut ControlLoop<SimHost>)) {
        let machine = &mut self.machines[node];
        let (now, unix) = (machine.clocks.now(self.now), machine.clocks.unix(self.now));
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
                    let delay = self.chance.delay(20 * MILLISECOND);
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
            let Some(wish) = process.control.common.host.wires.wishes.pop_front() else {
                return;
            };
            match wish {
                Wish::Send(connection, bytes) => self.send_message(node, connection, bytes),
                Wish::Close(connection, end) => self.close_end(connection, end),
                Wish::Dial {
                    own,
                    peer,
                    connection,
                    address,
                } => self.dial_stream(node, own, peer, connection, &address),
                Wish::Tell(brick, message) => self.give(node, brick, |outside| {
                    outside.messages.push_back(ToLoop::Brick(message));
                }),
                Wish::Persist(persist) => {
                    if let Some(log) = &mut process.control.common.host.log {
                        log.queue.push_back(persist);
                        if !std::mem::replace(&mut log.is_busy, true) {
                            let delay = self.disk_delay(node, self.shape.control_sync);
                            self.after(delay, What::Stored(node, life));
                        }
                    }
                }
                Wish::Connect => self.connect(node),
                Wish::Shown(catalog) => {
                    process.catalog = Some(std::sync::Arc::clone(&catalog));
                    self.judge_catalog(node, &catalog);
                }
                Wish::ConfirmTail => {
                    let machine = &mut self.machines[node];
                    let process = machine.process.as_mut();
                    let confirmed = process.map(|it| it.boot.confirm_tail(machine.disks.own()));
                    // Without the note the next start asks once more.
                    drop(confirmed);
                }
                Wish::Stop(reason) => {
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
        if !self.lives(node, life) {
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
        let lease = self.shape.control.lease;
        let span = (lease / TICKS_A_LEASE).as_nanos() as u64;
        let length = self.machines[node].clocks.true_length(span);
        self.after(length, What::Tick(node, life));
        self.control(node, ControlLoop::on_tick);
        if self.dies_here(node) {
            return;
        }
        self.connect(node);
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
        if let Some(coverage) = &mut self.notes.coverage {
            coverage.look_at_message(&message, process);
        }
        self.control(node, |control| control.on_message(source, message));
    }

    /// A brick has come on: its member hears of it soon.
    pub(crate) fn look_soon(&mut self, node: usize) {
        if let Some(process) = &self.machines[node].process {
            let life = process.life;
            let delay = self.chance.delay(30 * MICROSECOND);
            self.after(delay, What::Look(node, life));
        }
    }
}
