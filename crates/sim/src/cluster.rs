//! A node's part of the cluster: its member is told of everything, and what it wishes is done.

use crate::clock::{MICROSECOND, MILLISECOND};
use crate::host::{SimHost, Wish};
use crate::power::become_member;
use crate::process::Ending;
use crate::process::Phase;
use crate::shape::Harm;
use crate::what::What;
use crate::world::World;
use brickyard_metadata::Catalog;
use brickyard_node::forming::kept;
use brickyard_node::io::ToLoop;
use brickyard_node::peer::{MESSAGE_BYTES_MAX, take_frame};
use brickyard_node::storage;
use brickyard_node::{ClusterMember, Common, Ended, Founding, Message, Report, Source};
use brickyard_routing::NodeId;
use brickyard_store::ControlLogError;
use brickyard_types::Incarnation;

/// Ticks of the agreement in one lease, as in the server.
const TICKS_A_LEASE: u32 = 30;

impl World {
    /// Tells a node's member something, and does what comes of it.
    pub(crate) fn member(
        &mut self,
        node: usize,
        tell: impl FnOnce(&mut ClusterMember, &mut Common<SimHost>),
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
        self.go_on_draining(node);
    }

    /// A node that was told to stop does so when others have what it held.
    fn go_on_draining(&mut self, node: usize) {
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        let (Some(draining), Phase::Member(member)) = (&mut process.draining, &mut process.phase)
        else {
            return;
        };
        let is_over = draining.poll(member, &mut process.common);
        member.settle(&mut process.common);
        self.grant_wishes(node);
        if is_over {
            self.stop_in_order(node);
        }
    }

    /// The node ends as it was told to, if it holds nothing alone that goes with it.
    pub(crate) fn stop_in_order(&mut self, node: usize) {
        let process = self.machines[node].process.as_ref();
        if process.is_none_or(|it| it.draining.is_none()) || !self.may_come_to(Harm::Memory, node) {
            return;
        }
        self.end(node, Ending::Stop);
        self.restart_soon(node, 3_000 * MILLISECOND);
    }

    /// A node that learns that its life is over ends.
    fn see_to_end(&mut self, node: usize) {
        let process = self.machines[node].process.as_ref();
        let Some(member) = process.and_then(crate::process::Process::member) else {
            return;
        };
        if let Some(other) = member.renumbered() {
            let reason = format!("it is {other} of the cluster now");
            return self.stop_process(node, &reason);
        }
        if let Some(present) = member.superseded() {
            self.on_superseded(node, present);
        }
    }

    /// A node learns that its life is over: if its node was removed, it ends.
    pub(crate) fn on_superseded(&mut self, node: usize, present: Option<Incarnation>) {
        if !self.retire(node) {
            self.object(format!(
                "node {node} was superseded by {present:?}, although no other process has its directory"
            ));
        }
    }

    pub(crate) fn grant_wishes(&mut self, node: usize) {
        loop {
            if self.dies_here(node) {
                return;
            }
            let Some(process) = &mut self.machines[node].process else {
                return;
            };
            let life = process.life;
            let Some(wish) = process.common.host.wires.wishes.pop_front() else {
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
                    if let Some(control) = &mut process.control {
                        control.queue.push_back(persist);
                        if !std::mem::replace(&mut control.is_busy, true) {
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
        self.founding(node, |founding, common| founding.on_tick(common));
        if self.dies_here(node) {
            return;
        }
        self.connect(node);
    }

    /// Tells a node without a cluster something, and does what comes of it.
    pub(crate) fn founding(
        &mut self,
        node: usize,
        tell: impl FnOnce(&mut Founding, &mut Common<SimHost>),
    ) {
        let machine = &mut self.machines[node];
        let now = machine.clocks.now(self.now);
        let Some(process) = &mut machine.process else {
            return;
        };
        let Phase::Founding(founding, _) = &mut process.phase else {
            return;
        };
        process.common.host.now = now;
        tell(founding, &mut process.common);
        let ended = founding.take_ended();
        self.grant_wishes(node);
        if let Some(ended) = ended {
            self.end_founding(node, ended);
        }
    }

    fn end_founding(&mut self, node: usize, ended: Ended) {
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        let registration = process.registration.clone();
        let phase = std::mem::replace(&mut process.phase, Phase::Between);
        let Phase::Founding(mut founding, stored) = phase else {
            return;
        };
        let made = match ended {
            Ended::Found => self.found(node, &registration).map(|stored| {
                kept::remove(&self.machines[node].disk);
                let catalog = stored.catalog.as_ref();
                let own = catalog.and_then(|it| it.node_by_key(&registration.key));
                let me = own.map_or(NodeId(0), |it| it.id);
                (me, None, catalog.map(Catalog::cluster), stored)
            }),
            Ended::Joined(taken_in) => {
                let registered = taken_in.registered;
                process.common.taken_in = Some(taken_in);
                let kept = founding.joined(taken_in.cluster);
                let machine = &mut self.machines[node];
                let directory = machine.directory.clone();
                let stored = kept::store(&machine.disk, &kept)
                    .map_err(|error| error.to_string())
                    .and_then(|()| match stored {
                        Some(stored) => Ok(*stored),
                        None => storage::joined(&directory).map_err(|error| error.to_string()),
                    });
                let me = (registered.node, registered.incarnation);
                stored.map(|stored| (me.0, Some(me), Some(taken_in.cluster), stored))
            }
        };
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        let begun = made.and_then(|(me, life, cluster, stored)| {
            let host = &mut process.common.host;
            host.contacts.introduce(&mut host.wires, |introduction| {
                introduction.cluster = cluster;
                introduction.node = life.or(introduction.node);
            });
            become_member(process, me, stored)
        });
        match begun {
            Ok(()) => {
                self.tell(|| match ended {
                    Ended::Found => format!("node {node} founds a cluster"),
                    Ended::Joined(..) => format!("node {node} is taken into the cluster"),
                });
                self.member(node, |_, _| {});
            }
            Err(reason) => self.stop_process(node, &reason),
        }
    }

    /// A node has a message.
    pub(crate) fn on_message(&mut self, node: usize, source: &Source, bytes: &[u8]) {
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
        if let Phase::Member(_) = process.phase {
            return self.member(node, |member, common| {
                member.on_message(source, message, common);
            });
        }
        self.founding(node, |founding, common| {
            founding.on_message(source.clone(), message, common);
        });
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
