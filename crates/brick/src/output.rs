//! A connection's replies, in order, some of them not yet allowed out.
//!
//! In:  replies rendered in request order, each with the [`CommitDependency`] that it waits for; values for
//!      the placeholders that requests left which are answered later; the progress of the log.
//! Out: bytes that may be sent.
//!
//! Invariants:
//! - Replies leave in the order of their requests.
//! - A reply leaves only after its commit dependency is met: the ops that it was decided against are committed
//!   (rules `answers wait for prepared values` and `reads follow own writes`).
//! - When operations are lost, every reply that waited for one of them becomes an error, and no other.

use crate::append::BatchId;
use crate::partly::{maybe_partly_done, partly_done};
use brickyard_types::PartitionId;
use std::collections::VecDeque;

/// What a reply waits for: that the operations of a partition, or of several, have committed up to a batch.
///
/// Batch 0 means "nothing".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommitDependency {
    pub(crate) batch: BatchId,
    /// The partition; [`CommitDependency::MANY`] for several.
    pub(crate) partition: PartitionId,
    /// The last batch with something that the reply says to have been done: if the log refuses that, nothing was.
    pub(crate) appended: BatchId,
}

impl CommitDependency {
    /// Waits for nothing.
    pub(crate) const NONE: Self = Self {
        batch: BatchId(0),
        partition: PartitionId(0),
        appended: BatchId(0),
    };

    /// Stands for several partitions. (Ids are given out from 1.)
    pub(crate) const MANY: PartitionId = PartitionId(u32::MAX);

    #[inline]
    pub(crate) fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// Waits for both.
    #[inline]
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            batch: self.batch.max(other.batch),
            appended: self.appended.max(other.appended),
            partition: match (self.batch.0, other.batch.0) {
                (_, 0) => self.partition,
                (0, _) => other.partition,
                _ if self.partition == other.partition => self.partition,
                _ => Self::MANY,
            },
        }
    }

    /// Whether the same batches are waited for, whatever the partition.
    #[inline]
    pub(crate) fn has_same_batches(self, other: Self) -> bool {
        self.batch == other.batch
    }

    /// Whether the failure of `lost` makes a reply behind this commit dependency untrue.
    pub(crate) fn is_hit_by(self, lost: Lost) -> bool {
        match lost {
            Lost::From(batch) => self.batch >= batch,
            Lost::Of(partition, batch) => {
                self.batch >= batch && (self.partition == partition || self.partition == Self::MANY)
            }
            // What was given up of several partitions is not told apart from what waits behind it.
            Lost::Only(partition, batch) => {
                self.batch == batch && self.partition == partition
                    || self.batch >= batch && self.partition == Self::MANY
            }
            Lost::Unwritten(batch) => self.appended >= batch,
        }
    }

    /// What becomes of a reply behind this commit dependency when `lost` is; `None`: it stays. Behind a commit dependency of several partitions nobody
    /// knows whether what was lost is of one of them: that it was not executed would be a promise.
    pub(crate) fn error(self, lost: Lost, error: &[u8]) -> Option<Vec<u8>> {
        let is_blurred =
            matches!(lost, Lost::Of(..) | Lost::Only(..)) && self.partition == Self::MANY;
        self.is_hit_by(lost).then(|| match is_blurred {
            true => maybe_partly_done(error),
            false => error.to_vec(),
        })
    }
}

/// Operations that will not commit, or of which nobody knows whether they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Those of this batch and of all later ones.
    From(BatchId),
    /// Those of a partition, in this batch and in later ones.
    Of(PartitionId, BatchId),
    /// Those of a partition, in this batch.
    Only(PartitionId, BatchId),
    /// Those that were prepared in this batch and in later ones, which the log has refused.
    Unwritten(BatchId),
}

/// How far the log has come: the commit dependencies at or below are met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frontier {
    pub(crate) appended: BatchId,
    pub(crate) synced: BatchId,
    /// All operations up to this batch have committed or were given up.
    pub(crate) committed: BatchId,
    /// Counts the runs of operations that have committed, were cut or given up.
    pub(crate) settled: u64,
}

/// Knows what has committed.
pub(crate) trait Meets {
    fn meets(&self, dependency: CommitDependency) -> bool;
}

impl Meets for Frontier {
    #[inline]
    fn meets(&self, dependency: CommitDependency) -> bool {
        dependency.batch <= self.committed
    }
}

/// Bytes that were sent and are still at the front of the buffer: moving the rest up each time would
/// cost more than the room.
const SENT_KEPT: usize = 64 * 1024;

/// Names a placeholder of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PlaceholderId(pub(crate) u64);

#[derive(Debug)]
enum Chunk {
    /// Rendered replies. `dependent` are the ranges of those that wait, with what for; `dependency` is the
    /// sum of them.
    Replies {
        bytes: Vec<u8>,
        dependency: CommitDependency,
        dependent: Vec<(u32, u32, CommitDependency)>,
    },
    /// The place of a reply that is made elsewhere.
    Placeholder {
        id: PlaceholderId,
        filled: Option<(Vec<u8>, CommitDependency)>,
        /// Its parts do not commit together: that one is refused must not deny the others.
        is_divided: bool,
    },
}

/// The replies of one connection.
#[derive(Debug, Default)]
pub(crate) struct Output {
    ready: Vec<u8>,
    sent: usize,
    held: VecDeque<Chunk>,
    held_bytes: usize,
    placeholders: usize,
    placeholder_next: u64,
}

impl Output {
    /// Bytes that may be sent now.
    #[inline]
    pub(crate) fn ready(&self) -> &[u8] {
        self.ready.get(self.sent..).unwrap_or_default()
    }

    /// Takes note that `len` of the ready bytes are gone.
    pub(crate) fn on_sent(&mut self, len: usize) {
        assert!(
            len <= self.ready().len(),
            "{len} bytes were sent of {} that were ready",
            self.ready().len()
        );
        self.sent += len;
        if self.sent == self.ready.len() {
            self.ready.clear();
            self.sent = 0;
            // One large reply must not keep its memory for the connection's life.
            if self.ready.capacity() > 256 * 1024 {
                self.ready = Vec::new();
            }
        } else if self.sent > SENT_KEPT && self.sent > self.ready.len() / 2 {
            // A client that always leaves something unread must not make us keep all it has read.
            self.ready.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Puts a message that answers no request between two replies, before those that wait.
    pub(crate) fn push(&mut self, message: &[u8]) {
        // What is ready are whole replies, except while one is being written, when nobody pushes.
        self.ready.extend_from_slice(message);
    }

    /// Bytes held in memory for this client, sent ones not counted.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.ready.len() - self.sent + self.held_bytes
    }

    /// Whether anything waits for a commit dependency or a placeholder.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// The place that all that is held waits for first, if that is one to be filled.
    pub(crate) fn first_hole(&self) -> Option<PlaceholderId> {
        match self.held.front() {
            Some(Chunk::Placeholder {
                id, filled: None, ..
            }) => Some(*id),
            _ => None,
        }
    }

    /// Whether nothing was answered behind this place, which is still to be filled.
    pub(crate) fn ends_with(&self, placeholder: PlaceholderId) -> bool {
        let last = self.held.back();
        matches!(last, Some(Chunk::Placeholder { id, filled: None, .. }) if *id == placeholder)
    }

    /// How many replies are being made elsewhere.
    #[inline]
    pub(crate) fn placeholders(&self) -> usize {
        self.placeholders
    }

    /// The buffer that the next reply belongs in; give it back by [`Output::end`] with the length
    /// that it had.
    #[inline]
    pub(crate) fn begin(&mut self) -> &mut Vec<u8> {
        if self.held.is_empty() {
            return &mut self.ready;
        }
        self.tail()
    }

    fn tail(&mut self) -> &mut Vec<u8> {
        if !matches!(self.held.back(), Some(Chunk::Replies { .. })) {
            self.held.push_back(Chunk::Replies {
                bytes: Vec::new(),
                dependency: CommitDependency::NONE,
                dependent: Vec::new(),
            });
        }
        match self.held.back_mut() {
            Some(Chunk::Replies { bytes, .. }) => bytes,
            _ => unreachable!("pushed two lines up"),
        }
    }

    /// Ends the reply that was written behind `start` of the buffer from [`Output::begin`]: it
    /// leaves when `dependency` is met.
    #[inline]
    pub(crate) fn end(&mut self, start: usize, dependency: CommitDependency) {
        if self.held.is_empty() {
            assert!(
                start <= self.ready.len(),
                "a reply begins at {start}, behind the end at {}",
                self.ready.len()
            );
            if !dependency.is_none() {
                let reply = self.ready.split_off(start);
                self.push_dependent(reply, dependency);
            }
            return;
        }
        self.end_held(start, dependency);
    }

    fn end_held(&mut self, start: usize, dependency: CommitDependency) {
        let Some(Chunk::Replies {
            bytes,
            dependency: sum,
            dependent,
        }) = self.held.back_mut()
        else {
            unreachable!("begin() made the tail");
        };
        assert!(
            start <= bytes.len(),
            "a reply begins at {start}, behind the end at {}",
            bytes.len()
        );
        self.held_bytes += bytes.len() - start;
        if dependency.is_none() {
            return;
        }
        if dependent.is_empty() || sum.has_same_batches(dependency) {
            // The batch that is being built, again: by far the most common case.
            dependent.push((start as u32, bytes.len() as u32, dependency));
            *sum = sum.and(dependency);
        } else {
            // A later batch gets a chunk of its own, or a steady stream would never be let out.
            let reply = bytes.split_off(start);
            self.held_bytes -= reply.len();
            self.push_dependent(reply, dependency);
        }
    }

    fn push_dependent(&mut self, bytes: Vec<u8>, dependency: CommitDependency) {
        self.held_bytes += bytes.len();
        let dependent = vec![(0, bytes.len() as u32, dependency)];
        self.held.push_back(Chunk::Replies {
            bytes,
            dependency,
            dependent,
        });
    }

    /// Leaves the place of a reply that is made elsewhere.
    pub(crate) fn open_placeholder(&mut self) -> PlaceholderId {
        let id = PlaceholderId(self.placeholder_next);
        self.placeholder_next += 1;
        self.placeholders += 1;
        self.held.push_back(Chunk::Placeholder {
            id,
            filled: None,
            is_divided: false,
        });
        id
    }

    /// Puts the reply into its place; a placeholder that is not there any more is left alone.
    pub(crate) fn fill_placeholder(
        &mut self,
        placeholder: PlaceholderId,
        reply: Vec<u8>,
        dependency: CommitDependency,
    ) {
        for chunk in &mut self.held {
            if let Chunk::Placeholder { id, filled, .. } = chunk
                && *id == placeholder
                && filled.is_none()
            {
                assert!(
                    self.placeholders > 0,
                    "{placeholder:?} is filled, and there is none"
                );
                self.placeholders -= 1;
                self.held_bytes += reply.len();
                *filled = Some((reply, dependency));
                return;
            }
        }
    }

    /// What fills the placeholder is a write whose parts do not commit together.
    pub(crate) fn mark_divided(&mut self, placeholder: PlaceholderId) {
        for chunk in &mut self.held {
            if let Chunk::Placeholder { id, is_divided, .. } = chunk
                && *id == placeholder
            {
                *is_divided = true;
            }
        }
    }

    /// Lets out what has committed; whether anything is ready then.
    pub(crate) fn advance(&mut self, progress: &impl Meets) -> bool {
        while let Some(chunk) = self.held.front() {
            let is_met = match chunk {
                Chunk::Replies {
                    dependency,
                    dependent,
                    ..
                } => {
                    progress.meets(*dependency)
                        || dependent.len() > 1 && dependent.iter().all(|it| progress.meets(it.2))
                }
                Chunk::Placeholder {
                    filled: Some((_, dependency)),
                    ..
                } => progress.meets(*dependency),
                Chunk::Placeholder { filled: None, .. } => false,
            };
            if !is_met {
                break;
            }
            let bytes = match self.held.pop_front() {
                Some(
                    Chunk::Replies { bytes, .. }
                    | Chunk::Placeholder {
                        filled: Some((bytes, _)),
                        ..
                    },
                ) => bytes,
                _ => unreachable!("looked at above"),
            };
            assert!(
                self.held_bytes >= bytes.len(),
                "{} bytes of {} that wait are let out",
                bytes.len(),
                self.held_bytes
            );
            self.held_bytes -= bytes.len();
            if self.ready.is_empty() {
                self.ready = bytes;
            } else {
                self.ready.extend_from_slice(&bytes);
            }
        }
        assert!(
            !self.held.is_empty() || (self.held_bytes, self.placeholders) == (0, 0),
            "nothing waits, but {} bytes and {} holes",
            self.held_bytes,
            self.placeholders
        );
        !self.ready().is_empty()
    }

    /// A reply that waits has waited for too long: it becomes `error`, a whole line.
    pub(crate) fn give_up(
        &mut self,
        placeholder: PlaceholderId,
        error: &[u8],
        progress: &impl Meets,
    ) {
        for chunk in &mut self.held {
            if let Chunk::Placeholder {
                id,
                filled: Some((bytes, dependency)),
                ..
            } = chunk
                && *id == placeholder
                && !progress.meets(*dependency)
            {
                self.held_bytes = self.held_bytes - bytes.len() + error.len();
                *bytes = error.to_vec();
                *dependency = CommitDependency::NONE;
            }
        }
    }

    /// Operations were lost: each reply that waits for one of them becomes `error`, a whole line.
    pub(crate) fn refuse(&mut self, lost: Lost, error: &[u8]) {
        for chunk in &mut self.held {
            match chunk {
                Chunk::Placeholder {
                    filled: Some((bytes, dependency)),
                    is_divided,
                    ..
                } if let Some(told) = dependency.error(lost, error) => {
                    let error = if *is_divided {
                        partly_done(error)
                    } else {
                        told
                    };
                    self.held_bytes = self.held_bytes - bytes.len() + error.len();
                    *bytes = error;
                    *dependency = CommitDependency::NONE;
                }
                Chunk::Replies {
                    bytes,
                    dependency,
                    dependent,
                } if dependency.is_hit_by(lost) => {
                    let before = bytes.len();
                    refuse_replies(bytes, dependency, dependent, lost, error);
                    self.held_bytes = self.held_bytes - before + bytes.len();
                }
                Chunk::Placeholder { .. } | Chunk::Replies { .. } => {}
            }
        }
    }
}

fn refuse_replies(
    bytes: &mut Vec<u8>,
    dependency: &mut CommitDependency,
    dependent: &mut Vec<(u32, u32, CommitDependency)>,
    lost: Lost,
    error: &[u8],
) {
    let mut rewritten = Vec::with_capacity(bytes.len());
    let mut kept = Vec::new();
    let mut copied = 0;
    *dependency = CommitDependency::NONE;
    for &(start, end, reply_dependency) in dependent.iter() {
        let (start, end) = (start as usize, end as usize);
        rewritten.extend_from_slice(bytes.get(copied..start).unwrap_or_default());
        if let Some(error) = reply_dependency.error(lost, error) {
            rewritten.extend_from_slice(&error);
        } else {
            let at = rewritten.len() as u32;
            rewritten.extend_from_slice(bytes.get(start..end).unwrap_or_default());
            kept.push((at, rewritten.len() as u32, reply_dependency));
            *dependency = dependency.and(reply_dependency);
        }
        copied = end;
    }
    rewritten.extend_from_slice(bytes.get(copied..).unwrap_or_default());
    *bytes = rewritten;
    *dependent = kept;
}

#[cfg(test)]
#[path = "output_test.rs"]
mod output_test;
