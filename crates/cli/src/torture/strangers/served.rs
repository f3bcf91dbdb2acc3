//! How the cluster's own clients were served.
//!
//! In:  recordings. Out: how many operations, how long they took, what was refused.

use brickyard_torture::{Kind, Outcome, Recording};
use std::time::Duration;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Served {
    /// What each operation took, of writes and of reads, in microseconds.
    micros: [Vec<u32>; 2],
    /// Attempts that were refused, and known not to have been executed.
    pub(super) refused: u64,
    /// Writes of which nobody was told whether they were executed.
    pub(super) unknown: u64,
}

impl Served {
    pub(super) fn add(&mut self, recording: &Recording) {
        for wait in &recording.waits {
            let micros = (wait.returned - wait.called) / 1000;
            let micros = u32::try_from(micros).unwrap_or(u32::MAX);
            self.micros[usize::from(wait.kind == Kind::Read)].push(micros);
        }
        self.refused += recording.refused;
        let operations = recording.operations.iter();
        let unknown = operations.filter(|it| it.outcome == Outcome::Unknown);
        self.unknown += unknown.count() as u64;
    }

    pub(super) fn operations(&self) -> usize {
        self.micros.iter().map(Vec::len).sum()
    }

    /// Of writes or of reads: the median, the 99th and the 99.9th percentile, and the longest.
    pub(super) fn percentiles(&self, of: Kind) -> [Duration; 4] {
        let mut micros = self.micros[usize::from(of == Kind::Read)].clone();
        micros.sort_unstable();
        [500, 990, 999, 1000].map(|thousandths| {
            let at = (micros.len() * thousandths).div_ceil(1000).max(1) - 1;
            let micros = micros.get(at).copied().unwrap_or_default();
            Duration::from_micros(u64::from(micros))
        })
    }
}

#[cfg(test)]
mod served_test {
    use super::*;

    #[test]
    fn percentiles_are_of_what_was_waited_for() {
        let served = Served {
            micros: [(1..=1000).collect(), Vec::new()],
            ..Served::default()
        };
        let micros = served.percentiles(Kind::Write).map(|it| it.as_micros());
        assert_eq!(micros, [500, 990, 999, 1000]);
        assert_eq!(served.percentiles(Kind::Read), [Duration::ZERO; 4]);
        assert_eq!(served.operations(), 1000);
    }
}
