//! Reads single values of `disk` tables, and stretches of segments for the cleaner and for replicas that catch
//! up.

use brickyard_brick::{ColdRead, Event, LogChunk};
use brickyard_store::{Disk, ReadRequest, Reader};
use brickyard_types::record::VerifiedRecords;
use brickyard_types::{Position, SegmentId};
use std::ops::Range;

/// What the brick asks for.
#[derive(Debug)]
pub enum ReadOrder {
    /// A value.
    Value(ColdRead),
    /// Records of a segment.
    Chunk {
        /// Which segment.
        segment: SegmentId,
        /// From where on.
        from: u32,
        /// About how much.
        bytes_max: u32,
    },
    /// Nothing lives in the segment any more: close it, and pass it on to be deleted.
    Delete(SegmentId),
}

/// What came of an order.
#[derive(Debug)]
pub enum Carried {
    /// The loop is to be told.
    Report(ReadReport),
    /// Nothing reads the segment any more: the sync worker may delete it.
    Closed(SegmentId),
}

/// What was read.
#[derive(Debug)]
pub enum ReadReport {
    /// A value, and where in the buffer it is.
    Value {
        /// Whose.
        token: u64,
        /// Or why it cannot be had.
        result: Result<(Vec<u8>, Range<usize>), String>,
    },
    /// Records of a segment, as in [`Event::SegmentChunk`].
    Chunk {
        /// Which segment.
        segment: SegmentId,
        /// Where the chunk starts.
        from: u32,
        /// The records.
        records: VerifiedRecords,
        /// Where to go on.
        next: Option<u32>,
        /// The segment has damage.
        is_damaged: bool,
    },
}

/// See the module.
pub struct Reading<D: Disk>(Reader<D>);

impl<D: Disk> Reading<D> {
    /// Reads a log.
    #[must_use]
    pub fn new(reader: Reader<D>) -> Self {
        Self(reader)
    }

    /// Reads; `written` is how far the log is whole.
    pub fn carry_out(&mut self, order: &ReadOrder, written: Position) -> Carried {
        match order {
            ReadOrder::Value(read) => Carried::Report(self.value(read)),
            ReadOrder::Chunk {
                segment,
                from,
                bytes_max,
            } => Carried::Report(self.chunk(*segment, *from, *bytes_max as usize, written)),
            ReadOrder::Delete(segment) => {
                self.0.forget(*segment);
                Carried::Closed(*segment)
            }
        }
    }

    fn chunk(
        &mut self,
        segment: SegmentId,
        from: u32,
        bytes_max: usize,
        written: Position,
    ) -> ReadReport {
        match self.0.scan_chunk(segment, from, bytes_max, written) {
            Ok(chunk) => {
                let is_damaged = !chunk.damages.is_empty();
                for damage in &chunk.damages {
                    tracing::error!(%damage, "the log is damaged; the segment is kept");
                }
                ReadReport::Chunk {
                    segment,
                    from,
                    records: chunk.records,
                    next: chunk.next,
                    is_damaged,
                }
            }
            Err(error) => {
                // Not cleaned and not deleted: what cannot be read now may be readable later.
                tracing::error!(segment = segment.0, from, %error, "the log cannot be read");
                ReadReport::Chunk {
                    segment,
                    from,
                    records: VerifiedRecords::default(),
                    next: None,
                    is_damaged: true,
                }
            }
        }
    }

    fn value(&mut self, read: &ColdRead) -> ReadReport {
        let request = ReadRequest {
            position: read.position,
            key: &read.key,
            value_len: read.value_len as usize,
            partition: read.partition,
            op: read.op,
            view: None,
        };
        let mut buffer = Vec::new();
        let result = match self.0.read(&request, &mut buffer) {
            Ok(found) => Ok((buffer, found.value)),
            Err(error) => Err(error.to_string()),
        };
        ReadReport::Value {
            token: read.token,
            result,
        }
    }
}

impl ReadReport {
    /// Whether a value could not be had.
    #[must_use]
    pub fn is_failed_value(&self) -> bool {
        matches!(self, Self::Value { result: Err(_), .. })
    }

    /// Tells the brick.
    pub fn deliver(&self, handle: &mut impl FnMut(Event<'_>)) {
        match self {
            Self::Value { token, result } => handle(Event::Read {
                token: *token,
                value: match result {
                    Ok((buffer, range)) => Ok(buffer.get(range.clone()).unwrap_or_default()),
                    Err(reason) => Err(reason.clone()),
                },
            }),
            Self::Chunk {
                segment,
                from,
                records,
                next,
                is_damaged,
            } => {
                handle(Event::SegmentChunk(LogChunk {
                    segment: *segment,
                    from: *from,
                    records,
                    next: *next,
                    is_damaged: *is_damaged,
                }));
            }
        }
    }
}
