//! All frames, what they carry, and their bytes.

use super::begin::put_position;
use super::reader::Reader;
use super::{Begin, CopyStart, FrameError, HEAD_BYTES, Writer};
use crate::summary::put_runs;
use crate::{ReplicaSummary, Sequence};
use brickyard_types::{Op, PartitionId, View};

/// Kind bytes; below 64 from sender to receiver, from 64 on from receiver to sender, 0 both ways.
pub(crate) mod byte {
    pub(crate) const MESSAGE: u8 = 0;
    pub(crate) const BEGIN: u8 = 1;
    pub(crate) const RECORDS: u8 = 2;
    pub(crate) const SEQUENCE: u8 = 3;
    pub(crate) const COPY_START: u8 = 4;
    pub(crate) const COPY: u8 = 5;
    pub(crate) const COPY_END: u8 = 6;
    pub(crate) const PING: u8 = 7;
    pub(crate) const YIELD: u8 = 8;
    pub(crate) const VOTE: u8 = 64;
    pub(crate) const REFUSE: u8 = 65;
    pub(crate) const SUMMARY: u8 = 66;
    pub(crate) const COPY_DONE: u8 = 67;
    pub(crate) const JOIN: u8 = 68;
    pub(crate) const PONG: u8 = 69;
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Not the replicator's: handed to the owner.
    Message(&'a [u8]),
    /// A partition's stream begins.
    Begin(Begin),
    /// Prepared records, one after the other, of any partitions that began on this stream.
    Records(&'a [u8]),
    /// Everything of this turn has been sent; the receiver votes for it. Turn 0: nothing to vote for.
    Sequence {
        /// The turn.
        sequence: Sequence,
        /// How far partitions are committed.
        commits: Commits<'a>,
    },
    /// A learner's catch-up begins.
    CopyStart(CopyStart),
    /// Copied records of one partition.
    Copy {
        /// The partition.
        partition: PartitionId,
        /// The records, one after the other.
        records: &'a [u8],
    },
    /// All copies were sent: with them the learner holds everything up to this op.
    CopyEnd {
        /// The partition.
        partition: PartitionId,
        /// The view of the stream.
        view: View,
        /// What [`CopyStart::first`] said.
        at: (View, Op),
    },
    /// Are you there?
    Ping,
    /// The primary prepares nothing more before this view, in which the receiver is to be primary, and has sent all that it has.
    Yield {
        /// The partition.
        partition: PartitionId,
        /// The view that is proposed.
        view: View,
    },
    /// How far the receiver holds this stream.
    Vote(Vote),
    /// From here on no vote of this stream covers the partition in this view (rule `votes cover what was appended`).
    Refuse(Refuse),
    /// What a learner holds.
    Summary {
        /// The partition.
        partition: PartitionId,
        /// The view in which it was asked.
        view: View,
        /// The log summary.
        summary: ReplicaSummary,
    },
    /// All copies are in the learner's log, as durably as the table asks.
    CopyDone {
        /// The partition.
        partition: PartitionId,
        /// The view of the stream.
        view: View,
    },
    /// The receiver's map has caught up: begin the partition again in this view.
    Join {
        /// The partition.
        partition: PartitionId,
        /// The view that it knows now.
        view: View,
    },
    /// Here.
    Pong,
}

/// How far a stream's receiver holds it: in memory, in its log, on its disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vote {
    /// Up to this turn everything has arrived.
    pub received: Sequence,
    /// Up to this turn its log has everything.
    pub appended: Sequence,
    /// Up to this turn its log is synced.
    pub synced: Sequence,
}

impl Vote {
    /// Everything up to this turn, as durably as can be.
    #[must_use]
    pub const fn up_to(sequence: Sequence) -> Self {
        Self {
            received: sequence,
            appended: sequence,
            synced: sequence,
        }
    }
}

/// Why a replica is out of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Reason {
    /// It has acknowledged a newer view.
    OldView = 1,
    /// Its map does not know this view yet; it will ask again ([`Frame::Join`]).
    NewView = 2,
    /// Its map does not give it this role from this sender.
    NotMember = 3,
    /// A record did not follow the one before it.
    Gap = 4,
    /// It lacks what it should hold; only a catch-up helps.
    Behind = 5,
    /// Obeying would cut what it knows to be committed.
    Damage = 6,
    /// Its own log did not take the records.
    Log = 7,
}

impl Reason {
    fn read(byte: u8) -> Result<Self, FrameError> {
        const ALL: [Reason; 7] = [
            Reason::OldView,
            Reason::NewView,
            Reason::NotMember,
            Reason::Gap,
            Reason::Behind,
            Reason::Damage,
            Reason::Log,
        ];
        let found = ALL.into_iter().find(|reason| *reason as u8 == byte);
        found.ok_or(FrameError::Field { what: "reason" })
    }
}

/// What a receiver does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refuse {
    /// The partition.
    pub partition: PartitionId,
    /// The view of the stream.
    pub view: View,
    /// The first op that it does not hold, as far as it can tell.
    pub op: Op,
    /// Why.
    pub reason: Reason,
}

/// Commit positions, still in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commits<'a>(&'a [u8]);

const COMMIT_BYTES: usize = 12;

impl<'a> Commits<'a> {
    /// The partitions and how far each is committed.
    pub fn iter(self) -> impl Iterator<Item = (PartitionId, Op)> + 'a {
        self.0.chunks_exact(COMMIT_BYTES).filter_map(|bytes| {
            let (partition, op) = bytes.split_first_chunk::<4>()?;
            let partition = PartitionId(u32::from_le_bytes(*partition));
            Some((partition, Op(u64::from_le_bytes(op.try_into().ok()?))))
        })
    }
}

/// Writes a [`Frame::Sequence`].
pub(crate) fn put_sequence(out: &mut Vec<u8>, sequence: Sequence, commits: &[(PartitionId, Op)]) {
    let writer = Writer::begin(out, byte::SEQUENCE);
    out.extend_from_slice(&sequence.0.to_le_bytes());
    for (partition, op) in commits {
        out.extend_from_slice(&partition.0.to_le_bytes());
        out.extend_from_slice(&op.0.to_le_bytes());
    }
    writer.end(out);
}

impl<'a> Frame<'a> {
    /// Reads one whole frame, head included.
    ///
    /// # Errors
    /// [`FrameError`]; the bytes come from another machine and are believed in nothing.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, FrameError> {
        let wrong = FrameError::Field { what: "length" };
        if super::frame_len(bytes)? != Some(bytes.len()) {
            return Err(wrong);
        }
        let (head, body) = bytes.split_first_chunk::<HEAD_BYTES>().ok_or(wrong)?;
        let expected = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        let got = crc32fast::hash(&bytes[HEAD_BYTES - 1..]);
        if got != expected {
            return Err(FrameError::Checksum { expected, got });
        }
        let mut reader = Reader::new(body);
        let frame = Self::read(head[8], &mut reader)?;
        reader.end()?;
        Ok(frame)
    }

    fn read(kind: u8, reader: &mut Reader<'a>) -> Result<Self, FrameError> {
        Ok(match kind {
            byte::MESSAGE => Self::Message(reader.rest()),
            byte::BEGIN => Self::Begin(Begin::read(reader)?),
            byte::RECORDS => Self::Records(reader.rest()),
            byte::SEQUENCE => {
                let sequence = Sequence(reader.u64("sequence")?);
                let commits = reader.rest();
                if !commits.len().is_multiple_of(COMMIT_BYTES) || sequence == Sequence::NEVER {
                    return Err(FrameError::Field { what: "sequence" });
                }
                Self::Sequence {
                    sequence,
                    commits: Commits(commits),
                }
            }
            byte::COPY_START => Self::CopyStart(CopyStart::read(reader)?),
            byte::COPY => Self::Copy {
                partition: reader.partition()?,
                records: reader.rest(),
            },
            byte::COPY_END => Self::CopyEnd {
                partition: reader.partition()?,
                view: reader.view()?,
                at: reader.position()?,
            },
            byte::PING => Self::Ping,
            byte::YIELD => Self::Yield {
                partition: reader.partition()?,
                view: reader.view()?,
            },
            byte::VOTE => Self::Vote(Vote {
                received: Sequence(reader.u64("received")?),
                appended: Sequence(reader.u64("appended")?),
                synced: Sequence(reader.u64("synced")?),
            }),
            byte::REFUSE => Self::Refuse(Refuse {
                partition: reader.partition()?,
                view: reader.view()?,
                op: reader.op()?,
                reason: Reason::read(reader.u8("reason")?)?,
            }),
            byte::SUMMARY => Self::Summary {
                partition: reader.partition()?,
                view: reader.view()?,
                summary: ReplicaSummary {
                    generation: reader.u32("generation")?,
                    committed: reader.op()?,
                    last: reader.position()?,
                    is_complete: reader.flag("is_complete")?,
                    watermark: reader.op()?,
                    runs: reader.runs()?,
                },
            },
            byte::COPY_DONE => Self::CopyDone {
                partition: reader.partition()?,
                view: reader.view()?,
            },
            byte::JOIN => Self::Join {
                partition: reader.partition()?,
                view: reader.view()?,
            },
            byte::PONG => Self::Pong,
            _ => return Err(FrameError::Field { what: "kind" }),
        })
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::Message(_) => byte::MESSAGE,
            Self::Begin(_) => byte::BEGIN,
            Self::Records(_) => byte::RECORDS,
            Self::Sequence { .. } => byte::SEQUENCE,
            Self::CopyStart(_) => byte::COPY_START,
            Self::Copy { .. } => byte::COPY,
            Self::CopyEnd { .. } => byte::COPY_END,
            Self::Ping => byte::PING,
            Self::Yield { .. } => byte::YIELD,
            Self::Vote(_) => byte::VOTE,
            Self::Refuse(_) => byte::REFUSE,
            Self::Summary { .. } => byte::SUMMARY,
            Self::CopyDone { .. } => byte::COPY_DONE,
            Self::Join { .. } => byte::JOIN,
            Self::Pong => byte::PONG,
        }
    }

    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let writer = Writer::begin(out, self.kind());
        match self {
            Self::Message(bytes) | Self::Records(bytes) => out.extend_from_slice(bytes),
            Self::Begin(begin) => begin.put(out),
            Self::Sequence { sequence, commits } => {
                out.extend_from_slice(&sequence.0.to_le_bytes());
                out.extend_from_slice(commits.0);
            }
            Self::CopyStart(start) => start.put(out),
            Self::Copy { partition, records } => {
                out.extend_from_slice(&partition.0.to_le_bytes());
                out.extend_from_slice(records);
            }
            Self::CopyEnd {
                partition,
                view,
                at,
            } => {
                put_partition(out, *partition, *view);
                put_position(out, *at);
            }
            Self::Vote(vote) => {
                for sequence in [vote.received, vote.appended, vote.synced] {
                    out.extend_from_slice(&sequence.0.to_le_bytes());
                }
            }
            Self::Refuse(refuse) => {
                put_partition(out, refuse.partition, refuse.view);
                out.extend_from_slice(&refuse.op.0.to_le_bytes());
                out.push(refuse.reason as u8);
            }
            Self::Summary {
                partition,
                view,
                summary,
            } => {
                put_partition(out, *partition, *view);
                out.extend_from_slice(&summary.generation.to_le_bytes());
                out.extend_from_slice(&summary.committed.0.to_le_bytes());
                put_position(out, summary.last);
                out.push(u8::from(summary.is_complete));
                out.extend_from_slice(&summary.watermark.0.to_le_bytes());
                put_runs(out, &summary.runs);
            }
            Self::CopyDone { partition, view }
            | Self::Join { partition, view }
            | Self::Yield { partition, view } => {
                put_partition(out, *partition, *view);
            }
            Self::Ping | Self::Pong => {}
        }
        writer.end(out);
    }
}

fn put_partition(out: &mut Vec<u8>, partition: PartitionId, view: View) {
    out.extend_from_slice(&partition.0.to_le_bytes());
    out.extend_from_slice(&view.0.to_le_bytes());
}
