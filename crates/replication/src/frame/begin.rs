//! The two frames that begin a partition's stream.

use super::FrameError;
use super::reader::Reader;
use crate::Run;
use crate::summary::put_runs;
use brickyard_types::{Op, PartitionId, TableId, View};

/// The primary begins a view of a partition on this stream, or begins it again (rules `votes belong to a stream` and
/// `uncommitted ops are voted for again`).
///
/// To a backup: its whole pending list follows, from `first` on. To a learner: it answers with its log summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Begin {
    /// The partition's table.
    pub table: TableId,
    /// The partition.
    pub partition: PartitionId,
    /// The view.
    pub view: View,
    /// The history that it belongs to.
    pub generation: u32,
    /// What the receiver is in this view.
    pub is_learner: bool,
    /// View and op of the primary's last committed record: what the pending list follows.
    pub first: (View, Op),
    /// The last op of the pending list.
    pub last: Op,
    /// The views of the ops above `first`.
    pub runs: Vec<Run>,
}

impl Begin {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.table.0.to_le_bytes());
        out.extend_from_slice(&self.partition.0.to_le_bytes());
        out.extend_from_slice(&self.view.0.to_le_bytes());
        out.extend_from_slice(&self.generation.to_le_bytes());
        out.push(u8::from(self.is_learner));
        put_position(out, self.first);
        out.extend_from_slice(&self.last.0.to_le_bytes());
        put_runs(out, &self.runs);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, FrameError> {
        let begin = Self {
            table: TableId(reader.u32("table")?),
            partition: reader.partition()?,
            view: reader.view()?,
            generation: reader.u32("generation")?,
            is_learner: reader.flag("role")?,
            first: reader.position()?,
            last: reader.op()?,
            runs: reader.runs()?,
        };
        if begin.last < begin.first.1 {
            return Err(FrameError::Field { what: "last" });
        }
        Ok(begin)
    }

    /// The primary's view at `op`; `None` where it has no such op, or it lies below `first`.
    #[must_use]
    pub fn view_at(&self, op: Op) -> Option<View> {
        if op == self.first.1 {
            return Some(self.first.0);
        }
        if op < self.first.1 || op > self.last {
            return None;
        }
        let run = self.runs.iter().rev().find(|run| run.first <= op)?;
        Some(run.view)
    }
}

/// The primary's answer to a log summary: where the learner's log is cut, and what its stream follows. The pending
/// list comes next, and beside it copies of what lies between the two (rule `a learner begins with what is pending`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyStart {
    /// The partition.
    pub partition: PartitionId,
    /// The view.
    pub view: View,
    /// Everything is copied: the learner drops what it has.
    pub is_full: bool,
    /// Up to here the learner's log agrees with the primary's.
    pub cut: Op,
    /// View and op of the primary's last committed record: what the pending list follows.
    pub first: (View, Op),
    /// The views of all of the primary's ops, as far as it remembers.
    pub runs: Vec<Run>,
}

impl CopyStart {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.partition.0.to_le_bytes());
        out.extend_from_slice(&self.view.0.to_le_bytes());
        out.push(u8::from(self.is_full));
        out.extend_from_slice(&self.cut.0.to_le_bytes());
        put_position(out, self.first);
        put_runs(out, &self.runs);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, FrameError> {
        Ok(Self {
            partition: reader.partition()?,
            view: reader.view()?,
            is_full: reader.flag("is_full")?,
            cut: reader.op()?,
            first: reader.position()?,
            runs: reader.runs()?,
        })
    }
}

pub(super) fn put_position(out: &mut Vec<u8>, (view, op): (View, Op)) {
    out.extend_from_slice(&view.0.to_le_bytes());
    out.extend_from_slice(&op.0.to_le_bytes());
}
