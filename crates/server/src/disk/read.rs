//! The read thread: single values of `disk` tables, and stretches of segments for the cleaner and for
//! replicas that catch up.
//!
//! In:  [`ReadOrder`]s from the loop; from the append thread, how far the log is whole. Out:
//!      [`ReadReport`]s, in order; for the sync thread, the segments to delete, which nothing reads any more.

use super::progress::Progress;
use super::timing::DiskStats;
use crate::clock;
use crate::queue::{self, Orders, Reports};
use brickyard_node::disk::{Carried, ReadOrder, ReadReport, Reading};
use brickyard_store::Disk;
use brickyard_types::SegmentId;
use rtrb::Consumer;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Reads that the ring holds; the brick bounds how many it has in flight.
pub(super) const ORDERS_MAX: usize = 1024;

pub(super) struct ReadThread<D: Disk> {
    pub(super) log: Reading<D>,
    pub(super) orders: Consumer<ReadOrder>,
    pub(super) reports: Reports<ReadReport>,
    pub(super) deletes: Orders<SegmentId>,
    pub(super) progress: Arc<Progress<D>>,
    pub(super) stats: Arc<DiskStats>,
}

impl<D: Disk> ReadThread<D> {
    /// Carries out orders until the loop ends.
    pub(super) fn run(mut self) {
        while let Some(order) = queue::wait(&mut self.orders) {
            let started = clock::now();
            self.stats.read.begin(started);
            // Whatever the loop has heard of is before this.
            let written = self.progress.end();
            let carried = self.log.carry_out(&order, written);
            self.stats.read.end();
            let report = match carried {
                Carried::Report(report) => report,
                Carried::Closed(segment) => {
                    self.deletes.give(segment);
                    self.deletes.flush();
                    continue;
                }
            };
            if matches!(order, ReadOrder::Value(_)) {
                self.stats.read.add(clock::now() - started);
            }
            if report.is_failed_value() {
                self.stats.read_failures.fetch_add(1, Relaxed);
            }
            self.reports.give(report);
        }
    }
}
