//! What goes wrong: crashes, restarts, leases.

use crate::map::Role;
use crate::scope::Durability;
use crate::state::{BRICKS, Brick, Disk, Stream};
use crate::world::World;
use crate::{Rule, Rules};

impl World<'_> {
    /// The process is killed: the operating system has what was written.
    pub(crate) fn kill(&mut self, at: usize) {
        self.state.left.kills -= 1;
        self.crash(at);
    }

    /// The machine loses power: what was not synced is gone.
    pub(crate) fn cut_power(&mut self, at: usize) {
        self.state.left.power_cuts -= 1;
        self.crash(at);
        let brick = self.brick(at);
        brick.disk.log.cut(brick.disk.synced);
        brick.disk.is_tail_sure = false;
        if self.scope.durability != Durability::Memory {
            self.forgive();
        }
    }

    /// What is left is what is on the disk. What it had sent may still arrive.
    fn crash(&mut self, at: usize) {
        let is_memory = self.scope.durability == Durability::Memory;
        let brick = self.brick(at);
        let mut log = brick.disk.log;
        log.cut(brick.disk.partial.unwrap_or_else(|| log.last()));
        if is_memory {
            log.cut(0);
        }
        *brick = Brick {
            life: brick.life,
            disk: Disk {
                log,
                synced: brick.disk.synced.min(log.last()),
                partial: None,
                is_tail_sure: brick.disk.is_tail_sure,
            },
            ..Brick::default()
        };
        for other in 0..BRICKS {
            // What was on its way to it is lost; so is whatever it would have been answered.
            self.hang_up(other, at);
            let stream = self.state.stream_mut(at, other);
            stream.is_connected = false;
            stream.up.clear();
        }
    }

    /// The brick comes back in another life, and registers.
    pub(crate) fn restart(&mut self, at: usize) {
        self.state.left.restarts -= 1;
        let version = self.state.plane.version();
        let brick = self.brick(at);
        brick.is_up = true;
        brick.life += 1;
        brick.adopted = version;
        brick.lease.names = Some(version);
        let shown = brick
            .disk
            .log
            .iter()
            .map(|(_, entry)| entry.committed)
            .max();
        brick.committed = shown.unwrap_or(0);
        let (life, committed) = (brick.life, brick.committed);
        self.state.plane.lives[at] = life;
        // Rule `a restart cuts nothing`.
        if self.rules.lack(Rule::RestartsCutNothing) {
            self.cut(at, committed);
        }
        for other in 0..BRICKS {
            // What the former life had sent and nobody has heard yet is dropped with its connections.
            *self.state.stream_mut(at, other) = Stream::default();
        }
        let map = self.state.plane.map();
        if map.group.role_of(self.state.replica(at), Rules::all()) != Role::None
            || self.rules.lack(Rule::ViewsNameLives)
        {
            self.adopt_map(at, map);
        }
        // Whoever has it as a member dials it again; in another life it is none.
        for other in 0..BRICKS {
            if other != at && self.is_there(other, at) {
                self.disconnect(other, at);
                self.connect(other, at);
            }
        }
    }

    /// Nobody has renewed the brick's lease.
    pub(crate) fn lapse(&mut self, at: usize) {
        self.state.left.lapses -= 1;
        let is_late = self.rules.lack(Rule::ClocksAreRead);
        let brick = self.brick(at);
        brick.lease.is_late = is_late && brick.is_leased();
        brick.lease.names = None;
    }

    /// The brick's lease is renewed, if it owes no acknowledgement.
    pub(crate) fn grant(&mut self, at: usize) -> bool {
        let replica = self.state.replica(at);
        let map = self.state.plane.map();
        let owes = map.change.is_some_and(|change| {
            let is_fenced = change.fenced[at] == replica.life;
            is_fenced && self.state.bricks[at].adopted < change.version
        });
        // Rules `grants count for adopted maps` and `members name an incarnation`: nor does another life get
        // anything.
        if owes || !self.state.plane.is_current(replica) {
            return false;
        }
        self.state.left.grants -= 1;
        // Rule `grants count for adopted maps`: it counts for a brick that has adopted that version.
        let names = !self.rules.lack(Rule::GrantsNameMaps);
        let version = if names { self.state.plane.version() } else { 0 };
        self.brick(at).lease.names = Some(version);
        // What was voted for meanwhile counts now.
        self.settle(at);
        true
    }
}
