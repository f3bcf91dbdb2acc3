//! By which rule a table's partitions are placed on bricks, as commands and files say it.

use crate::attributes::ParseAttributeError;
use crate::limits::RING_POINTS_MAX;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// How it is decided which bricks should hold a table's partitions. What each comes to is in `routing`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Placement {
    /// By weight, within one partition, with as few moves as that takes.
    #[default]
    Even,
    /// By consistent hashing: uneven as chance has it, and nothing moves between those who stay.
    Ring {
        /// Points of a brick of weight 1: 1 to [`RING_POINTS_MAX`].
        points: u16,
    },
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Even => f.write_str("even"),
            Self::Ring { points: 1 } => f.write_str("ring"),
            Self::Ring { points } => write!(f, "ring:{points}"),
        }
    }
}

impl FromStr for Placement {
    type Err = ParseAttributeError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let lower = word.to_ascii_lowercase();
        let points = match lower.as_str() {
            "even" => return Ok(Self::Even),
            "ring" => Some(1),
            other => other.strip_prefix("ring:").and_then(|it| it.parse().ok()),
        };
        let points = points.filter(|points| (1..=RING_POINTS_MAX).contains(points));
        points
            .map(|points| Self::Ring { points })
            .ok_or_else(|| ParseAttributeError {
                attribute: "PLACEMENT",
                got: word.to_owned(),
                expected: "even, ring, ring:2 to ring:1000 (points of a brick)",
            })
    }
}

#[cfg(test)]
#[path = "layout_test.rs"]
mod layout_test;
