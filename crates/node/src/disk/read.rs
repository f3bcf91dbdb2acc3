//! Reads single values of `disk` tables, and stretches of segments for the cleaner and for replicas that catch
//! up.

use brickyard_brick::{ColdRead, Event, LogChunk};
use brickyard_store::{Damage, Disk, ReadRequest, Reader};
use brickyard_types::record::VerifiedRecords;
use brickyard_types::{Position, SegmentId};
use std::collections::BTreeSet;
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
        /// All of that was met at the start.
        is_known: bool,
    },
}

/// See the module.
pub struct Reading<D: Disk> {
    reader: Reader<D>,
    /// What was damaged at the start.
    known: Vec<Damage>,
    /// Damage that was told of since: once is enough, however often it is read.
    told: BTreeSet<Position>,
}

/// Places that are remembered as told of; beyond that some are told of again.
const TOLD_MAX: usize = 1024;

impl<D: Disk> Reading<D> {
    /// Reads a log, of which this much was damaged at the start.
    #[must_use]
    pub fn new(reader: Reader<D>, known: Vec<Damage>) -> Self {
        Self {
            reader,
            known,
            told: BTreeSet::new(),
        }
    }

    /// Whether it is the first time that something is said of a place.
    fn is_news(&mut self, place: Position) -> bool {
        if self.told.len() >= TOLD_MAX {
            self.told.clear();
        }
        self.told.insert(place)
    }

    /// Whether the start has met that.
    fn has_met(&self, found: &Damage) -> bool {
        let end = |damage: &Damage| u64::from(damage.offset) + u64::from(damage.len);
        self.known.iter().any(|known| {
            known.segment == found.segment
                && known.offset <= found.offset
                && end(found) <= end(known)
        })
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
                self.reader.forget(*segment);
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
        match self.reader.scan_chunk(segment, from, bytes_max, written) {
            Ok(chunk) => {
                let is_damaged = !chunk.damages.is_empty();
                let is_known = chunk.damages.iter().all(|damage| self.has_met(damage));
                for damage in &chunk.damages {
                    let place = Position {
                        segment,
                        offset: damage.offset,
                    };
                    if !self.has_met(damage) && self.is_news(place) {
                        tracing::error!(%damage, "the log is damaged; the segment is kept");
                    }
                }
                ReadReport::Chunk {
                    segment,
                    from,
                    records: chunk.records,
                    next: chunk.next,
                    is_damaged,
                    is_known,
                }
            }
            Err(error) => {
                // Not cleaned and not deleted: what cannot be read now may be readable later.
                let place = Position {
                    segment,
                    offset: from,
                };
                if self.is_news(place) {
                    tracing::error!(segment = segment.0, from, %error, "the log cannot be read");
                }
                ReadReport::Chunk {
                    segment,
                    from,
                    records: VerifiedRecords::default(),
                    next: None,
                    is_damaged: true,
                    is_known: false,
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
        let result = match self.reader.read(&request, &mut buffer) {
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
                is_known,
            } => {
                handle(Event::SegmentChunk(LogChunk {
                    segment: *segment,
                    from: *from,
                    records,
                    next: *next,
                    is_damaged: *is_damaged,
                    is_known: *is_known,
                }));
            }
        }
    }
}
