//! A node's part of the cluster: its member is told of everything, and what it wishes is done.

use crate::clock::{MICROSECOND, MILLISECOND};
use crate::host::{SimHost, Wish};
use crate::power::become_member;
use crate::process::{Inbound, Phase};
use crate::shape::Harm;
use crate::world::{What, World};
use brickyard_control::message::{Join, Joined, ToLeader, ToNode};
use brickyard_node::storage;
use brickyard_node::{Common, Host as _, Member, Message, Report, Source, Target, Urgency};
use brickyard_store::ControlLogError;

/// Ticks of the agreement in one lease, as in the server.
const TICKS_A_LEASE: u32 = 30;

/// How often a node asks to be taken in.
const JOIN_REPEAT: u64 = 150 * MILLISECOND;

impl World {
    /// Tells a node's member something, and does what comes of it.
    pub(crate) fn member(
        &mut self,
        node: usize,
        tell: impl FnOnce(&mut Member, &mut Common<SimHost>),
    ) {
        let machine = &mut self.machines[node];
        let (now, unix) = (machine.clocks.now(self.now), machine.clocks.unix(self.now));
        let Some(process) = &mut machine.process else {
            return;
        };
        process.common.host.now = now;
        process.common.host.unix = unix;
        if let Phase::Member(member) = &mut process.phase {
            tell(member, &mut process.common);
            member.settle(&mut process.common);
        }
        self.grant_wishes(node);
        self.see_to_bricks(node);
        self.see_to_end(node);
    }

    /// A node that learns that its life is over ends.
    fn see_to_end(&mut self, node: usize) {
        let process = self.machines[node].process.as_ref();
        let superseded = process.and_then(|it| it.member()?.superseded());
        if let Some(present) = superseded {
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
            let Some(wish) = process.common.host.wishes.pop_front() else {
                return;
            };
            match wish {
                Wish::Send(connection, bytes) => self.send_message(node, connection, bytes),
                Wish::Dial {
                    own,
                    peer,
                    connection,
                } => self.dial_stream(node, own, peer, connection),
                Wish::Tell(brick, message) => {
                    if let Some(side) = process.bricks.get_mut(brick) {
                        side.inbound.push_back(Inbound::Tell(message));
                        self.wake(node, brick);
                    }
                }
                Wish::Persist(persist) => {
                    if let Some(control) = &mut process.control {
                        control.queue.push_back(persist);
                        if !std::mem::replace(&mut control.is_busy, true) {
                            let delay = self.disk_delay(node, self.shape.sync);
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
                    let confirmed = process.map(|it| it.boot.confirm_tail(&machine.disk));
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
        let Some(control) = &mut process.control else {
            return;
        };
        let mut stored = None;
        let mut must_sync = false;
        let mut report = None;
        while let Some(persist) = control.queue.front() {
            match control.writer.write(persist) {
                Ok(()) => {
                    stored = Some(persist.number);
                    must_sync |= persist.must_sync;
                    control.queue.pop_front();
                }
                Err(error @ (ControlLogError::Full { .. } | ControlLogError::Io { .. })) => {
                    report = Some(Report::Refused(error.to_string()));
                    break;
                }
                Err(error) => return self.stop_process(node, &error.to_string()),
            }
        }
        if must_sync && let Err(error) = control.writer.sync() {
            return self.stop_process(node, &error.to_string());
        }
        control.is_busy = !control.queue.is_empty();
        if control.is_busy {
            self.after(200 * MILLISECOND, What::Stored(node, life));
        }
        if let Some(report) = report {
            self.member(node, |member, _| member.on_report(&report));
        }
        if let Some(number) = stored {
            self.member(node, |member, _| member.on_report(&Report::Stored(number)));
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
        self.member(node, |member, common| member.on_tick(common));
        self.ask_to_join(node);
        if self.dies_here(node) {
            return;
        }
        self.connect(node);
    }

    /// A node without a cluster asks members in turn, as `server::cluster::founding` does.
    fn ask_to_join(&mut self, node: usize) {
        let now = self.now;
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        let Phase::Joining { asked, .. } = &mut process.phase else {
            return;
        };
        if now - *asked < JOIN_REPEAT {
            return;
        }
        *asked = now;
        let join = Message::ToLeader(ToLeader::Join(Join {
            cluster: None,
            registration: process.registration.clone(),
        }));
        let host = &mut process.common.host;
        let targets = host.connected();
        if let Some(target) = targets.get(self.chance.index(targets.len())) {
            host.reply(&Source::Dialed(target.clone()), &join, Urgency::Normal);
        }
        self.grant_wishes(node);
    }

    /// A node has a message.
    pub(crate) fn on_message(&mut self, node: usize, source: &Source, bytes: &[u8]) {
        let Some(message) = Message::read(bytes) else {
            return self.object(format!("node {node} cannot read a message"));
        };
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        if let Phase::Member(_) = process.phase {
            return self.member(node, |member, common| {
                member.on_message(source, message, common);
            });
        }
        if let Message::ToNode(ToNode::Joined(joined)) = message {
            self.on_joined(node, &joined);
        }
    }

    fn on_joined(&mut self, node: usize, joined: &Joined) {
        let directory = self.machines[node].directory.clone();
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        if joined.run != process.registration.run {
            return;
        }
        let registered = match &joined.outcome {
            Ok(registered) => *registered,
            Err(refusal) => {
                let what = format!("the cluster does not take node {node}: {refusal}");
                return self.object(what);
            }
        };
        let Phase::Joining { stored, .. } = &mut process.phase else {
            return;
        };
        let stored = match stored.take() {
            Some(stored) => Ok(*stored),
            None => storage::joined(&directory),
        };
        let begun = stored
            .map_err(|error| error.to_string())
            .and_then(|stored| {
                process.common.host.me = Some((registered.node, registered.incarnation));
                become_member(process, registered.node, stored)
            });
        match begun {
            Ok(()) => {
                self.tell(|| format!("node {node} is taken into the cluster"));
                self.member(node, |_, _| {});
            }
            Err(reason) => self.stop_process(node, &reason),
        }
    }

    /// A brick has come on: its member hears of it soon.
    pub(crate) fn look_soon(&mut self, node: usize) {
        if let Some(process) = &self.machines[node].process {
            let life = process.life;
            let delay = self.chance.delay(30 * MICROSECOND);
            self.after(delay, What::Look(node, life));
        }
    }

    /// The connections that a node wants and does not have are made.
    pub(crate) fn connect(&mut self, node: usize) {
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        let life = process.life;
        let mut wanted: Vec<(Target, u64)> = Vec::new();
        for (target, dialed) in &mut process.common.host.dialed {
            if dialed.connection.is_none() && !dialed.is_under_way {
                dialed.is_under_way = true;
                let pause = (100 * MILLISECOND) << dialed.failures.min(3);
                wanted.push((target.clone(), if dialed.failures == 0 { 0 } else { pause }));
            }
        }
        for (target, pause) in wanted {
            self.after(pause, What::Dial(node, life, target));
        }
    }
}
