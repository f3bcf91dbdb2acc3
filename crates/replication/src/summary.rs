//! What a replica says it holds, and the control records that make such log summaries durable.
//!
//! In:  values of `ViewStart` and `Baseline` records. Out: their fields, and back.

use crate::history::Run;
use brickyard_types::{Op, View};

/// The replica holds everything up to (view, op) of a generation (rule `log summaries begin at a baseline`). The
/// default is the partition's beginning, which every replica holds.
///
/// Its record's header has the view and op; its value is
/// `generation u32, count u16, count x (view u32, first op u64)`: the views that the ops up to it belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// The generation; 0 for the beginning.
    pub generation: u32,
    /// The view of the op.
    pub view: View,
    /// The last op that the baseline covers.
    pub op: Op,
    /// Which views the ops up to it belong to.
    pub runs: Vec<Run>,
}

/// The value of a `ViewStart` record: what the view follows (rule `a cut is a record`).
///
/// `view u32, op u64, generation u32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewStart {
    /// View and op of the record before it.
    pub predecessor: (View, Op),
    /// The generation of this view.
    pub generation: u32,
}

/// What a replica may claim to hold, for the control plane's report and for a primary that has to bring it
/// up to date.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicaSummary {
    /// The generation of its records; 0: it has none.
    pub generation: u32,
    /// The highest op that it knows to be committed and claims.
    pub committed: Op,
    /// The last record of what it claims.
    pub last: (View, Op),
    /// Nothing is missing up to `last`. Else `last` is only where a catch-up may begin.
    pub is_complete: bool,
    /// Every tombstone above this op is there.
    pub watermark: Op,
    /// Which views the ops up to `last` belong to, as far as is remembered; oldest first.
    pub runs: Vec<Run>,
}

pub(crate) const RUN_BYTES: usize = 12;

pub(crate) fn put_runs(out: &mut Vec<u8>, runs: &[Run]) {
    // Histories are bounded (`RUNS_MAX`); what is older than the bound is left out.
    let runs = &runs[runs.len().saturating_sub(crate::history::RUNS_MAX)..];
    out.extend_from_slice(&(runs.len() as u16).to_le_bytes());
    for run in runs {
        out.extend_from_slice(&run.view.0.to_le_bytes());
        out.extend_from_slice(&run.first.0.to_le_bytes());
    }
}

impl Baseline {
    /// Appends the value of the baseline's record.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.generation.to_le_bytes());
        put_runs(out, &self.runs);
    }

    /// Reads the value of a baseline record whose header says (view, op); `None` if it is not one.
    #[must_use]
    pub fn decode(view: View, op: Op, value: &[u8]) -> Option<Self> {
        let (generation, rest) = value.split_first_chunk::<4>()?;
        let (count, rest) = rest.split_first_chunk::<2>()?;
        let count = usize::from(u16::from_le_bytes(*count));
        if rest.len() != count * RUN_BYTES {
            return None;
        }
        let runs = rest.chunks_exact(RUN_BYTES).filter_map(read_run).collect();
        Some(Self {
            generation: u32::from_le_bytes(*generation),
            view,
            op,
            runs,
        })
    }
}

pub(crate) fn read_run(bytes: &[u8]) -> Option<Run> {
    let (view, rest) = bytes.split_first_chunk::<4>()?;
    let (first, _) = rest.split_first_chunk::<8>()?;
    Some(Run {
        view: View(u32::from_le_bytes(*view)),
        first: Op(u64::from_le_bytes(*first)),
    })
}

impl ViewStart {
    /// The value of the record.
    #[must_use]
    pub fn encode(&self) -> [u8; 16] {
        let mut out = [0; 16];
        out[..4].copy_from_slice(&self.predecessor.0.0.to_le_bytes());
        out[4..12].copy_from_slice(&self.predecessor.1.0.to_le_bytes());
        out[12..].copy_from_slice(&self.generation.to_le_bytes());
        out
    }

    /// Reads the value of a record; `None` if it is not one.
    #[must_use]
    pub fn decode(value: &[u8]) -> Option<Self> {
        let (run, generation) = value.split_first_chunk::<12>()?;
        let Run { view, first } = read_run(run)?;
        Some(Self {
            predecessor: (view, first),
            generation: u32::from_le_bytes(generation.try_into().ok()?),
        })
    }
}
