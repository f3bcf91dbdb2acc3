//! The machines, the processes on them, and what their bricks have to do.
//!
//! In:  what is given to a brick, and what its workers come to. Out: entries of the agenda.
//!
//! Not here: what a loop does in its turn (`turn`), how processes start and end (`power`).

use crate::clock::{MICROSECOND, MILLISECOND, Nanos};
use crate::ground::Ground;
use crate::log_work::{Begun, LogWork, Worker};
use crate::loop_io::Outside;
use crate::process::{BrickSide, Machine};
use crate::random::Random;
use crate::shape::Shape;
use crate::what::What;
use brickyard_brick::PartitionStatus;
use brickyard_node::Target;
use brickyard_routing::Replica;
use std::ops::{Index, IndexMut};

/// See the module.
pub(crate) struct Machines {
    all: Vec<Machine>,
}

impl Index<usize> for Machines {
    type Output = Machine;

    fn index(&self, node: usize) -> &Machine {
        &self.all[node]
    }
}

impl IndexMut<usize> for Machines {
    fn index_mut(&mut self, node: usize) -> &mut Machine {
        &mut self.all[node]
    }
}

impl Machines {
    pub(crate) fn new(shape: &Shape, chance: &mut Random) -> Self {
        let all = (0..shape.nodes)
            .map(|at| Machine::new(at, shape, chance))
            .collect();
        Self { all }
    }

    pub(crate) const fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Machine> {
        self.all.iter_mut()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Machine> {
        self.all.iter()
    }

    /// A brick's loop has something to do.
    pub(crate) fn wake(&mut self, ground: &mut Ground, node: usize, brick: usize) {
        let delay = ground.chance.delay(15 * MICROSECOND);
        self.turn_at(ground, node, brick, ground.now() + delay);
    }

    /// Something for a brick's next turn.
    pub(crate) fn give(
        &mut self,
        ground: &mut Ground,
        node: usize,
        brick: usize,
        put: impl FnOnce(&mut Outside),
    ) {
        if let Some(side) = self.side(node, brick) {
            put(&mut side.outside);
            self.wake(ground, node, brick);
        }
    }

    pub(crate) fn turn_at(&mut self, ground: &mut Ground, node: usize, brick: usize, at: Nanos) {
        let Some(process) = &mut self.all[node].process else {
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
            ground.at(at, What::Turn(node, life, brick));
        }
    }

    pub(crate) fn side(&mut self, node: usize, brick: usize) -> Option<&mut BrickSide> {
        self.all[node].process.as_mut()?.bricks.get_mut(brick)
    }

    pub(crate) fn with_log(&mut self, node: usize, brick: usize, order: impl FnOnce(&mut LogWork)) {
        if let Some(side) = self.side(node, brick) {
            order(&mut side.log);
        }
    }

    /// Workers that have nothing to do begin what there is.
    pub(crate) fn begin_work(&mut self, ground: &mut Ground, node: usize, brick: usize) {
        for worker in [Worker::Append, Worker::Sync, Worker::Read, Worker::Hint] {
            let now = ground.now();
            let is_early = worker == Worker::Sync && ground.chance.one_in(2);
            let Some(process) = &mut self.all[node].process else {
                return;
            };
            let life = process.life;
            let Some(side) = process.bricks.get_mut(brick) else {
                return;
            };
            let is_noted =
                |due: Nanos, at: &Option<Nanos>| at.is_some_and(|at| at > now && at <= due);
            match side.log.begin(worker, now, is_early) {
                Begun::Work => {
                    let typical = match worker {
                        Worker::Append => 20 * MICROSECOND,
                        Worker::Sync => ground.shape.sync,
                        Worker::Read => 100 * MICROSECOND,
                        Worker::Hint => 10 * MILLISECOND,
                    };
                    let delay = self.all[node].disks.delay(now, typical, &mut ground.chance);
                    ground.after(delay, What::Worked(node, life, brick, worker));
                }
                Begun::Sleep(due) if !is_noted(due, &side.sync_at) => {
                    side.sync_at = Some(due);
                    ground.at(due, What::SyncDue(node, life, brick));
                }
                Begun::Sleep(_) | Begun::Nothing => {}
            }
        }
        if self
            .side(node, brick)
            .is_some_and(|it| it.log.has_reports())
        {
            self.wake(ground, node, brick);
        }
    }

    pub(crate) fn sync_due(&mut self, ground: &mut Ground, node: usize, life: u64, brick: usize) {
        if self.lives(node, life) {
            self.with_log(node, brick, LogWork::wake_sync);
            self.begin_work(ground, node, brick);
        }
    }

    /// A worker is done; the disk has done it though the process may be stopped for a while.
    pub(crate) fn worked(
        &mut self,
        ground: &mut Ground,
        node: usize,
        life: u64,
        brick: usize,
        worker: Worker,
    ) {
        if !self.lives(node, life) {
            return;
        }
        let now = ground.now();
        let until = self.all[node].disks.stuck_until();
        if until > now {
            return ground.at(until, What::Worked(node, life, brick, worker));
        }
        let Some(process) = &mut self.all[node].process else {
            return;
        };
        let Some(side) = process.bricks.get_mut(brick) else {
            return;
        };
        side.log.finish(worker, now, process.catalog.as_deref());
        self.begin_work(ground, node, brick);
    }

    /// A brick has come on: its member hears of it soon.
    pub(crate) fn look_soon(&mut self, ground: &mut Ground, node: usize) {
        if let Some(process) = &self.all[node].process {
            let life = process.life;
            let delay = ground.chance.delay(30 * MICROSECOND);
            ground.after(delay, What::Look(node, life));
        }
    }

    /// Whether that life of a node's process is the present one.
    pub(crate) fn lives(&self, node: usize, life: u64) -> bool {
        let process = self.all[node].process.as_ref();
        process.is_some_and(|it| it.life == life)
    }

    /// The process of a replica, if it lives, and its brick's number.
    pub(crate) fn replica_of(&self, replica: Replica) -> Option<(usize, usize)> {
        let node = self.all.iter().position(|it| {
            let member = it.process.as_ref().and_then(|it| it.member());
            member.is_some_and(|member| {
                member.me() == replica.member.node
                    && member.incarnation() == Some(replica.incarnation)
            })
        })?;
        Some((node, replica.member.brick.0 as usize))
    }

    /// How a replica stands to a partition, if its process lives and has read its log.
    pub(crate) fn status_of(
        &self,
        replica: Replica,
        partition: brickyard_types::PartitionId,
    ) -> Option<PartitionStatus> {
        let (node, brick) = self.replica_of(replica)?;
        let side = self.all[node].process.as_ref()?.bricks.get(brick)?;
        let mut statuses = side.inspect().statuses();
        statuses.find(|it| it.partition == partition)
    }

    pub(crate) fn describe(&self) -> String {
        let mut out = String::new();
        for (node, machine) in self.all.iter().enumerate() {
            let Some(process) = &machine.process else {
                out += &format!("node {node} is down\n");
                continue;
            };
            if let Some(member) = process.member() {
                out += &format!("node {node}: {:?}\n", member.show(&process.control.common));
            }
            for side in &process.bricks {
                out += &side.inspect().describe_replicas();
                out += &side.inspect().lazy_free();
                out.push('\n');
            }
        }
        out
    }

    /// The connections that a node wants and does not have are made.
    pub(crate) fn connect(&mut self, ground: &mut Ground, node: usize) {
        let Some(process) = &mut self.all[node].process else {
            return;
        };
        let life = process.life;
        let wires = &mut process.control.common.host.wires;
        let mut wanted = Vec::new();
        for (target, dialed) in &mut wires.dialed {
            if dialed.connection.is_none() && dialed.attempt.is_none() {
                wires.attempts += 1;
                dialed.attempt = Some(wires.attempts);
                wanted.push((target.clone(), wires.attempts, dialed.pause));
            }
        }
        for (target, number, pause) in wanted {
            ground.after(
                pause.as_nanos() as Nanos,
                What::Dial(node, life, target, number),
            );
        }
    }

    /// A connection is gone, or there was none: another attempt follows.
    pub(crate) fn redial(
        &mut self,
        ground: &mut Ground,
        node: usize,
        target: &Target,
        is_refused: bool,
    ) {
        let Some(process) = &mut self.all[node].process else {
            return;
        };
        if let Some(dialed) = process.control.common.host.wires.dialed.get_mut(target) {
            let was_connected = dialed.connection.take().is_some();
            if was_connected {
                dialed.redial.on_connected();
            }
            if is_refused {
                dialed.redial.on_refused();
            }
            dialed.pause = dialed.redial.pause();
        }
        self.connect(ground, node);
    }
}
