//! What must hold: after each step, for each read, and once everything has healed.

use super::{KEYS, PARTITIONS, World};
use crate::Role;
use brickyard_routing::Seat;
use brickyard_types::PartitionId;
use brickyard_types::record::decode;

impl World {
    pub(crate) fn look(&mut self, at: usize, partition: PartitionId) {
        let key = format!("k{}", self.random.below(KEYS)).into_bytes();
        let Some(brick) = &self.cluster.bricks[at] else {
            return;
        };
        let status = brick.core.status(partition);
        if !status.serves_reads || !self.leased[at] {
            return;
        }
        let mut held = brick.host.pending.get(&partition).into_iter().flatten();
        let is_parked = held.any(|it| {
            let waits = status.role == Role::Backup || brick.core.is_inherited(partition, it.op);
            waits && decode(&it.raw).unwrap().key == key
        });
        if is_parked {
            return;
        }
        self.reads += 1;
        let table = brick.host.tables.get(&partition);
        let held = table.and_then(|it| it.get(&key)).map(|it| it.0);
        let newest = self.acknowledged.get(&(partition, key.clone())).copied();
        // A tombstone that was dropped says the same as none.
        let is_dropped = held.is_none() && self.is_deleted(partition, &key);
        assert!(
            is_dropped || held >= newest,
            "brick {at} {status:?} serves {held:?} of {partition} although {newest:?} was acknowledged"
        );
    }

    pub(crate) fn is_deleted(&self, partition: PartitionId, key: &[u8]) -> bool {
        let newest = self.acknowledged.get(&(partition, key.to_vec()));
        newest.is_none_or(|(view, op)| self.deletes.contains(&(partition, *view, *op)))
    }

    pub(crate) fn check(&mut self) {
        self.sort_requests();
        for at in 0..3 {
            let Some(brick) = &self.cluster.bricks[at] else {
                continue;
            };
            for (partition, view, op) in &brick.host.committed[self.read[at]..] {
                let first = self.outcome.entry((*partition, *op)).or_insert(*view);
                assert_eq!(
                    first, view,
                    "brick {at}: {partition} op {op} has two outcomes"
                );
            }
            for (partition, view, op) in &brick.host.committed[self.read[at]..] {
                if brick.core.status(*partition).role != Role::Primary {
                    continue;
                }
                // Acknowledged: from now on it must be seen.
                if let Some(key) = self.keys.get(&(*partition, *view, *op)) {
                    let key = (*partition, key.clone());
                    self.acknowledged.insert(key, (*view, *op));
                }
            }
            self.read[at] = brick.host.committed.len();
            for (partition, held) in &brick.host.pending {
                let held = held.iter().map(|it| (it.view, it.op));
                let known = brick.core.pending(*partition);
                assert!(
                    held.eq(known.map(|it| (it.view, it.op))),
                    "brick {at} and its replicator hold different records of {partition}"
                );
            }
            for wire in &self.cluster.wires {
                let unsent = brick.outbox.unsent(wire.link);
                let link = brick.core.links.get(wire.link);
                assert!(
                    link.is_none_or(|it| it.is_stale) || unsent <= 2 * self.output_bytes_max,
                    "brick {at} keeps {unsent} bytes for a peer that does not read"
                );
            }
            for it in brick.core.partitions.iter() {
                // PROTOCOL rules 8 and 11.
                let follows = it.follow.stream.is_some();
                let (place, id) = (&it.place, it.id);
                assert!(
                    !follows || place.is_current(),
                    "brick {at} follows {id} in {place:?}, and has acknowledged a newer view"
                );
            }
            for partition in PARTITIONS {
                let now = brick.core.committed(partition);
                let before = self.positions.insert((at, partition), now);
                // A catch-up may begin anew.
                let is_sure = brick.core.status(partition).role.is_in_sync();
                assert!(
                    !is_sure || before.is_none_or(|before| before <= now),
                    "brick {at}: the commit position of {partition} went back"
                );
            }
        }
    }

    /// Ends all faults and waits until every brick holds the same.
    pub(crate) fn heal(&mut self) {
        self.mood.held.clear();
        self.cluster.unread.clear();
        // However much there is to be sent again: everybody reads.
        for brick in self.cluster.bricks.iter_mut().flatten() {
            brick.outbox.limit(usize::MAX / 4);
        }
        for round in 0..400 {
            for at in 0..3 {
                self.adopt(at);
                if !self.leased[at] {
                    self.lease(at);
                }
                self.log(at);
                self.cluster.brick(at).sync();
                self.flush(at);
            }
            while !self.dials.is_empty() {
                self.dial();
            }
            for wire in 0..self.cluster.wires.len() {
                while !self.cluster.wires[wire].down.is_empty() {
                    self.cluster.deliver_down(wire).unwrap();
                }
                while !self.cluster.wires[wire].up.is_empty() {
                    self.cluster.deliver_up(wire).unwrap();
                }
            }
            while !self.walks.is_empty() {
                self.copy();
            }
            for partition in PARTITIONS {
                let group = self.plane.groups[&partition].clone();
                if group.change.is_some() {
                    let primary = group.change.as_ref().map(|it| it.primary);
                    if primary.is_some_and(|it| self.is_up(it)) {
                        self.advance(partition);
                    } else {
                        self.change(partition);
                    }
                } else if !group.in_sync().all(|it| self.is_up(it)) {
                    let up: Vec<Seat> = group.in_sync().filter(|it| self.is_up(*it)).collect();
                    match up.split_first() {
                        Some((primary, backups)) => {
                            self.plane
                                .propose(partition, *primary, backups.to_vec(), vec![]);
                        }
                        None => self.revive(partition),
                    }
                } else {
                    self.teach(partition, false);
                }
            }
            while !self.promotions.is_empty() {
                self.promote();
            }
            self.pass();
            self.check();
            if self.is_whole() {
                return;
            }
            assert!(
                round < 399,
                "the cluster does not heal: {:#?}",
                self.plane.groups
            );
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        PARTITIONS.iter().all(|partition| {
            let group = &self.plane.groups[partition];
            let committed = |at: usize| {
                let brick = self.cluster.bricks[at].as_ref();
                brick.map(|it| (it.core.committed(*partition), it.core.last(*partition).1))
            };
            let is_even = (0..3).all(|at| {
                committed(at) == committed(0) && committed(at).is_some_and(|(a, b)| a == b)
            });
            group.change.is_none() && group.backups.len() == 2 && is_even
        })
    }

    pub(crate) fn compare(&self) {
        for partition in PARTITIONS {
            let live = |at: usize| {
                let table = self.cluster.bricks[at]
                    .as_ref()
                    .unwrap()
                    .host
                    .tables
                    .get(&partition);
                let keys = table.into_iter().flatten();
                let live = keys.filter(|(_, (_, value))| value.is_some());
                live.map(|(key, held)| (key.clone(), held.clone()))
                    .collect::<Vec<_>>()
            };
            for at in 1..3 {
                assert_eq!(live(0), live(at), "{partition} differs at brick {at}");
            }
            for ((of, key), (view, op)) in &self.acknowledged {
                if *of != partition {
                    continue;
                }
                let held = live(0).into_iter().find(|(it, _)| it == key);
                match held {
                    Some((_, (at, _))) => assert!(at >= (*view, *op), "{at:?} < {view} {op}"),
                    None => assert!(
                        self.is_deleted(partition, key),
                        "{partition} lost {} of view {view} op {op}",
                        String::from_utf8_lossy(key)
                    ),
                }
            }
        }
    }
}
