//! How a client finds who holds a key: by the whole map, by what it remembers of it, or by asking its way.
//!
//! In:  a caller's wishes. Out: [`Lookups`], and what came of them ([`LookupCounts`]).
//!
//! Source: Rufino et al., "Full-Speed Scalability of the pDomus Platform for DHTs" (2007), section 4.1.2.

use brickyard_routing::graph::Graph;
use std::{fmt, str::FromStr};

/// By which methods a client finds who holds a key, one after the other: each falls through to the next where it does not know.
///
/// ```
/// use brickyard_client::LookupStrategy;
/// assert_eq!("C,R".parse(), Ok(LookupStrategy::CachedRandom));
/// assert_eq!("direct, cached, random".parse(), Ok(LookupStrategy::DirectCachedRandom));
/// assert_eq!(LookupStrategy::default(), LookupStrategy::Direct);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LookupStrategy {
    /// `D`: by the whole map, which the client holds, and is told of when it changes. Nobody has to be asked.
    #[default]
    Direct,
    /// `D,C,R`: the same, as long as the map takes no more than it may and mostly proves right; then as `C,R`.
    DirectCachedRandom,
    /// `C,R`: by the partitions that were asked for last; else the bricks are asked for the way, beginning as near as what is remembered
    /// allows, or anywhere.
    CachedRandom,
    /// `R`: the bricks are asked for the way each time, beginning anywhere.
    Random,
}

impl LookupStrategy {
    /// All of them, the fastest first.
    pub const ALL: [Self; 4] = [
        Self::Direct,
        Self::DirectCachedRandom,
        Self::CachedRandom,
        Self::Random,
    ];

    /// As it is written: the first letters of its methods.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "D",
            Self::DirectCachedRandom => "D,C,R",
            Self::CachedRandom => "C,R",
            Self::Random => "R",
        }
    }

    /// Whether the whole map is held.
    pub(crate) const fn has_map(self) -> bool {
        matches!(self, Self::Direct | Self::DirectCachedRandom)
    }

    /// Whether partitions are remembered.
    pub(crate) const fn remembers(self) -> bool {
        matches!(self, Self::DirectCachedRandom | Self::CachedRandom)
    }
}

impl fmt::Display for LookupStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for LookupStrategy {
    type Err = String;

    /// Reads methods by their names or first letters. `cached` alone is `C,R`: what is not remembered has to be asked for.
    fn from_str(text: &str) -> Result<Self, String> {
        let methods = text.split(',').map(|word| {
            let word = word.trim().to_ascii_lowercase();
            match word.as_str() {
                "d" | "direct" => Some('D'),
                "c" | "cached" => Some('C'),
                "r" | "random" => Some('R'),
                _ => None,
            }
        });
        let methods: Option<String> = methods.collect();
        match methods.as_deref() {
            Some("D") => Ok(Self::Direct),
            Some("DCR") => Ok(Self::DirectCachedRandom),
            Some("C" | "CR") => Ok(Self::CachedRandom),
            Some("R") => Ok(Self::Random),
            _ => Err(format!(
                "'{text}' is no way to look up; use D, C,R, R or D,C,R (direct, cached, random)"
            )),
        }
    }
}

/// How a client finds who holds a key.
///
/// ```
/// use brickyard_client::{LookupStrategy, Lookups, Options};
/// let options = Options {
///     lookups: Lookups {
///         strategy: LookupStrategy::CachedRandom,
///         map_bytes_max: 64 << 10,
///         ..Lookups::default()
///     },
///     ..Options::new(["10.0.0.1:6379"])
/// };
/// assert!(options.lookups.is_aggregated);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lookups {
    /// By which methods.
    pub strategy: LookupStrategy,
    /// Which partitions know which, where bricks are asked for the way.
    pub graph: Graph,
    /// Whether bricks go by the routing tables of all partitions that they hold, and the client by all that it remembers; else by one
    /// at a time, which takes more hops. Default: yes.
    pub is_aggregated: bool,
    /// Most bytes of what the client knows of each table's map: partitions that it remembers, where lookups may begin, and the whole
    /// map where that is held with others (`D,C,R`). Connections are not counted. Default: 1 MiB. The whole map alone (`D`) has no bound
    /// but that of slots and bricks: about 32 KiB, and 150 bytes a brick.
    pub map_bytes_max: usize,
    /// Most of the table's partitions that are remembered, as a share of them. Default: 1, so that the bytes alone are the bound.
    pub cached_share_max: f64,
}

impl Default for Lookups {
    fn default() -> Self {
        Self {
            strategy: LookupStrategy::Direct,
            graph: Graph::Chord,
            is_aggregated: true,
            map_bytes_max: 1 << 20,
            cached_share_max: 1.0,
        }
    }
}

/// What became of the lookups of a table so far, and what is known of its map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookupCounts {
    /// Calls that the whole map knew the brick of. With [`LookupStrategy::Direct`] alone calls are not counted.
    pub direct: u64,
    /// Calls whose partition was remembered.
    pub cached: u64,
    /// Lookups that began at what was remembered as nearest.
    pub near: u64,
    /// Lookups that began anywhere.
    pub random: u64,
    /// Hops that lookups took, from partition to partition.
    pub hops: u64,
    /// Questions that bricks were asked for that.
    pub questions: u64,
    /// Calls that a brick sent elsewhere, since what was known was wrong.
    pub misses: u64,
    /// Lookups that came to nothing; their calls were given to any port, which passes them on.
    pub failed: u64,
    /// Partitions that are remembered now.
    pub leaves: usize,
    /// Bytes of what is known of the map now.
    pub map_bytes: usize,
}

#[cfg(test)]
mod lookups_test {
    use super::*;

    #[test]
    fn a_strategy_is_read_as_it_is_written_and_by_names() {
        for strategy in LookupStrategy::ALL {
            assert_eq!(strategy.name().parse(), Ok(strategy));
        }
        for (text, wanted) in [
            ("direct", LookupStrategy::Direct),
            ("cached", LookupStrategy::CachedRandom),
            ("Cached, Random", LookupStrategy::CachedRandom),
            ("random", LookupStrategy::Random),
            ("d,c,r", LookupStrategy::DirectCachedRandom),
        ] {
            assert_eq!(text.parse(), Ok(wanted), "{text}");
        }
        for text in ["", "D,R", "R,C", "C,C,R", "D,C", "x"] {
            let error = text.parse::<LookupStrategy>().expect_err(text);
            assert!(error.contains("use D, C,R, R or D,C,R"), "{error}");
        }
    }
}
