//! The read thread: single values of `disk` tables, and stretches of segments for the cleaner and for
//! replicas that catch up.
//!
//! In:  [`ReadOrder`]s from the loop; from the append thread, how far the log is whole. Out:
//!      [`ReadReport`]s, in order.

use super::sync::Progress;
use super::timing::DiskStats;
use crate::queue::{self, Reports};
use brickyard_brick::{ColdRead, Event};
use brickyard_store::{Disk, ReadRequest, Reader};
use brickyard_types::SegmentId;
use rtrb::Consumer;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Reads that the ring holds; the brick bounds how many it has in flight.
pub(super) const ORDERS_MAX: usize = 1024;

/// What the loop asks of the read thread.
#[derive(Debug)]
pub(super) enum ReadOrder {
    Value(ColdRead),
    Chunk {
        segment: SegmentId,
        from: u32,
        bytes_max: u32,
    },
    /// The segment is being deleted: close it, so that its space is given back.
    Forget(SegmentId),
}

/// What was read.
#[derive(Debug)]
pub(super) enum ReadReport {
    Value {
        token: u64,
        result: Result<(Vec<u8>, Range<usize>), String>,
    },
    Chunk {
        segment: SegmentId,
        from: u32,
        bytes: Vec<u8>,
        offsets: Vec<u32>,
        next: Option<u32>,
        is_damaged: bool,
    },
}

pub(super) struct ReadThread<D: Disk> {
    pub(super) reader: Reader<D>,
    pub(super) orders: Consumer<ReadOrder>,
    pub(super) reports: Reports<ReadReport>,
    pub(super) progress: Arc<Progress<D>>,
    pub(super) stats: Arc<DiskStats>,
}

impl<D: Disk> ReadThread<D> {
    /// Carries out orders until the loop ends.
    pub(super) fn run(mut self) {
        while let Some(order) = queue::wait(&mut self.orders) {
            match order {
                ReadOrder::Value(read) => self.read(&read),
                ReadOrder::Chunk {
                    segment,
                    from,
                    bytes_max,
                } => {
                    self.read_chunk(segment, from, bytes_max as usize);
                }
                ReadOrder::Forget(segment) => self.reader.forget(segment),
            }
        }
    }

    fn read_chunk(&mut self, segment: SegmentId, from: u32, bytes_max: usize) {
        // Whatever the loop has heard of is before this.
        let written = self.progress.end();
        let chunk = self.reader.scan_chunk(segment, from, bytes_max, written);
        let report = match chunk {
            Ok(chunk) => {
                let is_damaged = !chunk.damages.is_empty();
                for damage in &chunk.damages {
                    tracing::error!(%damage, "the log is damaged; the segment is kept");
                }
                let next = chunk.next;
                let (bytes, offsets) = chunk.into_parts();
                ReadReport::Chunk {
                    segment,
                    from,
                    bytes,
                    offsets,
                    next,
                    is_damaged,
                }
            }
            Err(error) => {
                // Not cleaned and not deleted: what cannot be read now may be readable later.
                tracing::error!(segment = segment.0, from, %error, "the log cannot be read");
                ReadReport::Chunk {
                    segment,
                    from,
                    bytes: Vec::new(),
                    offsets: Vec::new(),
                    next: None,
                    is_damaged: true,
                }
            }
        };
        self.reports.give(report);
    }

    fn read(&mut self, read: &ColdRead) {
        let request = ReadRequest {
            position: read.position,
            key: &read.key,
            value_len: read.value_len as usize,
            partition: read.partition,
            op: read.op,
            view: None,
        };
        let started = Instant::now();
        let mut buffer = Vec::new();
        let result = match self.reader.read(&request, &mut buffer) {
            Ok(found) => Ok((buffer, found.value)),
            Err(error) => {
                self.stats.read_failures.fetch_add(1, Relaxed);
                Err(error.to_string())
            }
        };
        self.stats.read.add(started.elapsed());
        self.reports.give(ReadReport::Value {
            token: read.token,
            result,
        });
    }
}

/// Passes a report to the brick as an event.
pub(super) fn deliver(report: &ReadReport, handle: &mut impl FnMut(Event<'_>)) {
    match report {
        ReadReport::Value { token, result } => handle(Event::Read {
            token: *token,
            value: match result {
                Ok((buffer, range)) => Ok(buffer.get(range.clone()).unwrap_or_default()),
                Err(reason) => Err(reason.clone()),
            },
        }),
        ReadReport::Chunk {
            segment,
            from,
            bytes,
            offsets,
            next,
            is_damaged,
        } => {
            handle(Event::SegmentChunk {
                segment: *segment,
                from: *from,
                bytes,
                offsets,
                next: *next,
                damaged: *is_damaged,
            });
        }
    }
}
