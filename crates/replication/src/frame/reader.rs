//! Taking a frame's body apart, field by field.

use super::FrameError;
use crate::Run;
use crate::summary::{RUN_BYTES, read_run};
use brickyard_types::{Op, PartitionId, View};

/// What is left of a body.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) const fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    fn take<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], FrameError> {
        let (head, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or(FrameError::Field { what })?;
        self.rest = rest;
        Ok(*head)
    }

    pub(super) fn u8(&mut self, what: &'static str) -> Result<u8, FrameError> {
        Ok(self.take::<1>(what)?[0])
    }

    /// 0 or 1.
    pub(super) fn flag(&mut self, what: &'static str) -> Result<bool, FrameError> {
        match self.u8(what)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(FrameError::Field { what }),
        }
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, FrameError> {
        Ok(u32::from_le_bytes(self.take(what)?))
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, FrameError> {
        Ok(u64::from_le_bytes(self.take(what)?))
    }

    pub(super) fn partition(&mut self) -> Result<PartitionId, FrameError> {
        Ok(PartitionId(self.u32("partition")?))
    }

    pub(super) fn view(&mut self) -> Result<View, FrameError> {
        Ok(View(self.u32("view")?))
    }

    /// An op. The highest numbers are no ops, so that the one after an op is always one.
    pub(super) fn op(&mut self) -> Result<Op, FrameError> {
        match self.u64("op")? {
            op if op < u64::MAX / 2 => Ok(Op(op)),
            _ => Err(FrameError::Field { what: "op" }),
        }
    }

    pub(super) fn position(&mut self) -> Result<(View, Op), FrameError> {
        Ok((self.view()?, self.op()?))
    }

    /// Runs that rise in view and op.
    pub(super) fn runs(&mut self) -> Result<Vec<Run>, FrameError> {
        const WRONG: FrameError = FrameError::Field { what: "runs" };
        let count = usize::from(u16::from_le_bytes(self.take("runs")?));
        let (bytes, rest) = self.rest.split_at_checked(count * RUN_BYTES).ok_or(WRONG)?;
        self.rest = rest;
        let runs: Vec<Run> = bytes.chunks_exact(RUN_BYTES).filter_map(read_run).collect();
        let is_sound = |run: &Run| run.first.0 > 0 && run.first.0 < u64::MAX / 2;
        let do_rise = |pair: &[Run]| pair[0].view < pair[1].view && pair[0].first < pair[1].first;
        if !runs.iter().all(is_sound) || !runs.windows(2).all(do_rise) {
            return Err(WRONG);
        }
        Ok(runs)
    }

    pub(super) const fn rest(&mut self) -> &'a [u8] {
        let rest = self.rest;
        self.rest = &[];
        rest
    }

    pub(super) const fn end(self) -> Result<(), FrameError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(FrameError::Field { what: "length" })
        }
    }
}
