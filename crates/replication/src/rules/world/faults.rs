//! What goes wrong.

use super::{PARTITIONS, World};
use crate::fixture::{Brick, FakeHost, header, seat_in};
use brickyard_types::record::{Kind, encode};
use brickyard_types::{Durability, PartitionId};

impl World {
    pub(crate) fn refuse_batch(&mut self, at: usize) {
        let Some(brick) = &mut self.cluster.bricks[at] else {
            return;
        };
        let from = brick.host.batch;
        brick.host.log.retain(|(mark, _)| *mark < from);
        brick.host.batch.0 += 1;
        brick.on_refused(from);
    }

    pub(crate) fn lose_stream(&mut self) {
        if !self.cluster.wires.is_empty() {
            let wire = self.random.index(self.cluster.wires.len());
            self.cluster.close(wire);
        }
    }

    /// One write in a cluster that is whole, somewhere on its way, and then a stream is lost.
    pub(crate) fn part(&mut self) {
        let partition = PARTITIONS[self.random.index(2)];
        for at in 0..3 {
            self.write(at, partition);
        }
        for _ in 0..self.random.below(40) {
            let at = self.random.index(3);
            match self.random.below(3) {
                0 => self.log(at),
                1 => self.flush(at),
                _ => self.deliver(),
            }
        }
        self.lose_stream();
    }

    pub(crate) fn lease(&mut self, at: usize) {
        let is_current = self.adopted[at] == self.plane.version;
        let Some(brick) = &mut self.cluster.bricks[at] else {
            return;
        };
        let is_leased = !self.leased[at] && is_current;
        self.leased[at] = is_leased;
        brick.core.lease(is_leased);
    }

    pub(crate) fn crash(&mut self, at: usize) {
        // PROTOCOL rule 36: what is in memory alone does not survive.
        if self.cluster.bricks[at].is_none() || self.durability == Durability::Memory {
            return;
        }
        self.crashes += 1;
        let brick = self.cluster.bricks[at].as_ref().unwrap();
        let sure = match self.durability {
            Durability::Fsync => brick.core.own.synced,
            _ => brick.core.own.appended,
        };
        let mut log = self.cluster.crash(at);
        let kept = log.iter().take_while(|(mark, _)| *mark <= sure).count();
        let left = kept + self.random.index(log.len() - kept + 1);
        log.truncate(left);
        self.plane.dead.insert(self.cluster.seats[at]);
        self.lives[at] += 1;
        let seat = seat_in(at, self.lives[at]);
        self.cluster.seats[at] = seat;
        let (mut host, rebuilds) = FakeHost::recover(&log);
        host.durability = self.durability;
        host.batch.0 = 2;
        let mut brick = Brick::new(seat);
        brick.host = host;
        brick.outbox.limit(self.output_bytes_max);
        for (partition, rebuild) in rebuilds {
            brick.restore(partition, &rebuild.finish());
        }
        self.cluster.bricks[at] = Some(brick);
        self.read[at] = 0;
        self.adopted[at] = 0;
        self.walks.retain(|walk| walk.brick != at);
        self.positions.retain(|(brick, _), _| *brick != at);
        self.leased[at] = false;
        self.cluster.brick(at).core.lease(false);
    }

    pub(crate) fn drop_tombstones(&mut self, at: usize, partition: PartitionId) {
        let Some(brick) = &mut self.cluster.bricks[at] else {
            return;
        };
        let role = brick.core.status(partition).role;
        let committed = brick.core.committed(partition);
        let Some(keys) = brick.host.tables.get_mut(&partition) else {
            return;
        };
        if !role.is_in_sync() {
            return;
        }
        let dead = keys.iter().filter(|(_, (_, value))| value.is_none());
        let ops = dead
            .map(|(_, ((_, op), _))| *op)
            .filter(|op| *op <= committed);
        let Some(horizon) = ops.max() else { return };
        keys.retain(|_, ((_, op), value)| value.is_some() || *op > horizon);
        let mut header = header(Kind::Horizon, partition, 0, horizon.0, 0);
        header.committed = None;
        let mut raw = Vec::new();
        encode(&mut raw, &header, &[], &[]);
        brick.host.put_log(&raw);
        brick.with(|core| core.raise_horizon(partition, horizon));
    }
}
