//! What `WATCH` remembers of a key.
//!
//! Not here: how a brick knows that a key which did not exist has not come and gone (`watch`).

use brickyard_types::{Op, View};

/// What a watched key was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// Nobody can tell any more: the next `EXEC` does nothing.
    Unknown,
    /// The op that wrote it.
    Written(Op),
    Absent(NegativeVersion),
}

/// When a key did not exist, as the brick counts that said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NegativeVersion {
    pub(crate) life: u64,
    pub(crate) view: View,
    pub(crate) removals: u64,
}

impl Version {
    /// Four numbers that [`Self::decode`] makes the same of.
    pub(crate) fn encode(self) -> [u64; 4] {
        match self {
            Self::Unknown => [0; 4],
            Self::Written(op) => [1, op.0, 0, 0],
            Self::Absent(it) => [2, it.life, it.view.0.into(), it.removals],
        }
    }

    /// What nobody encoded is not known.
    pub(crate) fn decode(numbers: [u64; 4]) -> Self {
        match numbers {
            [1, op, ..] => Self::Written(Op(op)),
            [2, life, view, removals] => match view.try_into() {
                Ok(view) => Self::Absent(NegativeVersion {
                    life,
                    view: View(view),
                    removals,
                }),
                Err(_) => Self::Unknown,
            },
            _ => Self::Unknown,
        }
    }

    /// As a line of `WATCH`'s share.
    pub(crate) fn line(self) -> String {
        let [kind, first, second, third] = self.encode();
        format!("{kind} {first} {second} {third}\n")
    }

    /// Reads a [`Self::line`].
    pub(crate) fn parse(line: &str) -> Self {
        let mut words = line.split_ascii_whitespace();
        let numbers =
            [(); 4].map(|()| words.next().and_then(|word| word.parse().ok()).unwrap_or(0));
        Self::decode(numbers)
    }
}
