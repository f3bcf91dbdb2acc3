//! What is wrong with a log, and whom it concerns.

use brickyard_types::record::DecodeError;
use brickyard_types::{Op, PartitionId, SegmentId};
use std::fmt;

/// A stretch of a segment that cannot be believed. It is reported, stepped over and never yielded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// In which segment.
    pub segment: SegmentId,
    /// Where the stretch starts in the file, in bytes.
    pub offset: u32,
    /// How long it is, in bytes.
    pub len: u32,
    /// Which part of the segment it is.
    pub part: Part,
    /// What is lost with it.
    pub tainted: Tainted,
    /// What did not verify, if it is a record.
    pub cause: Option<DecodeError>,
}

/// Parts of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The 64 bytes at its start; no record is lost.
    Header,
    /// One or more records.
    Record,
    /// The ranges at its end; no record is lost.
    Footer,
}

/// Whose operations a damaged stretch may have held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tainted {
    /// Nobody's.
    Nothing,
    /// This one of this partition: the record's header is sound.
    Op(PartitionId, Op),
    /// One or more ops of some of these partitions: the footer counts more records than were found.
    Partitions(Vec<PartitionId>),
    /// Any partition of the brick.
    All,
}

impl Damage {
    /// Whether a record may be lost with it.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        self.tainted != Tainted::Nothing
    }

    /// Whether the partition's content can no longer be believed to be complete.
    #[must_use]
    pub fn taints(&self, partition: PartitionId) -> bool {
        match &self.tainted {
            Tainted::Nothing => false,
            Tainted::Op(tainted, _) => *tainted == partition,
            Tainted::Partitions(tainted) => tainted.contains(&partition),
            Tainted::All => true,
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            segment,
            offset,
            len,
            ..
        } = self;
        let part = match self.part {
            Part::Header => "segment header",
            Part::Record => "record",
            Part::Footer => "footer",
        };
        write!(
            f,
            "segment {segment} offset {offset}: {len} bytes damaged ({part}"
        )?;
        if let Some(cause) = &self.cause {
            write!(f, ", {cause}")?;
        }
        write!(f, "); ")?;
        match &self.tainted {
            Tainted::Nothing => write!(f, "no record is lost"),
            Tainted::Op(partition, op) => write!(f, "lost: partition {partition} op {op}"),
            Tainted::Partitions(partitions) => {
                write!(f, "lost: operations of partitions ")?;
                for (index, partition) in partitions.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{partition}")?;
                }
                Ok(())
            }
            Tainted::All => write!(f, "lost: operations of unknown partitions"),
        }
    }
}

/// Joins damages that touch, so that a torn page is one line in the report.
pub(crate) fn push_damage(damages: &mut Vec<Damage>, damage: Damage) {
    if let Some(last) = damages.last_mut()
        && last.segment == damage.segment
        && last.part == damage.part
        && last.tainted == damage.tainted
        && last.offset + last.len == damage.offset
    {
        last.len += damage.len;
        return;
    }
    let last = damages.last().map(|last| (last.segment, last.offset));
    assert!(
        last <= Some((damage.segment, damage.offset)) || damage.part != Part::Record,
        "damage at {} of segment {} after {last:?}",
        damage.offset,
        damage.segment
    );
    damages.push(damage);
}

#[cfg(test)]
#[path = "damage_test.rs"]
mod damage_test;
