//! What a table is asked to be: medium, durability, replicas, partitions, memory.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A word that is not one of an attribute's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseAttributeError {
    pub(crate) attribute: &'static str,
    pub(crate) got: String,
    pub(crate) expected: &'static str,
}

impl fmt::Display for ParseAttributeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is '{}'; use one of {}",
            self.attribute, self.got, self.expected
        )
    }
}

impl std::error::Error for ParseAttributeError {}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $attribute:literal, $expected:literal,
     $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $name {
            /// The word for this value in commands, configuration and files.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }

        impl FromStr for $name {
            type Err = ParseAttributeError;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                $(if word.eq_ignore_ascii_case($word) { return Ok(Self::$variant); })+
                Err(ParseAttributeError {
                    attribute: $attribute,
                    got: word.to_owned(),
                    expected: $expected,
                })
            }
        }
    };
}

words!(
    /// Where a table's values live.
    Medium, "MEDIUM", "ram, disk",
    /// Values in memory; the log makes them durable.
    Ram = "ram",
    /// Keys in memory, values in the log; hot values are cached within the table's `MAXMEMORY`.
    Disk = "disk",
);

words!(
    /// What must have happened to a write before it is acknowledged.
    Durability, "DURABILITY", "memory, log, fsync",
    /// Held in memory by every in-sync replica; no log. Lost when all of them stop.
    Memory = "memory",
    /// Handed to the operating system on every in-sync replica; survives a killed process, and
    /// a power cut but for the last second (fsync runs every second).
    Log = "log",
    /// Synced to the disk of every in-sync replica; survives a power cut.
    Fsync = "fsync",
);

words!(
    /// What happens to a write that would take a `ram` table past its `MAXMEMORY`.
    Eviction, "EVICT", "none, lru",
    /// It is refused with `-OOM`; reads and deletes go on.
    None = "none",
    /// Keys that were not used lately are removed to make room.
    Lru = "lru",
);

words!(
    /// What decides where in a table a key goes; fixed when the table is made.
    HashFunction, "HASH", "slot, keyed, key64, ordered",
    /// Redis Cluster's slot: every cluster client finds every key by itself.
    Slot = "slot",
    /// A keyed hash, with a secret of the table: nobody outside can choose keys that come together.
    Keyed = "keyed",
    /// Keys of eight bytes are their own hash.
    Key64 = "key64",
    /// The order of the keys: a partition is a run of keys.
    Ordered = "ordered",
);

/// Whether clients may keep what they read of a table under leases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Leases {
    /// They may not, and never might.
    #[default]
    Never,
    /// They may not any more. Some may have leases yet that a former primary gave, and no catalog says when the last one ends.
    Ended,
    /// They may.
    Granted,
}

impl Leases {
    /// What they are when this is asked for.
    #[must_use]
    pub const fn set(self, is_on: bool) -> Self {
        match (is_on, self) {
            (true, _) => Self::Granted,
            (false, Self::Never) => Self::Never,
            (false, _) => Self::Ended,
        }
    }

    /// The word for this value in commands.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Granted => "on",
            Self::Never | Self::Ended => "off",
        }
    }

    /// Whether new ones are given.
    #[must_use]
    pub const fn are_granted(self) -> bool {
        matches!(self, Self::Granted)
    }

    /// Whether there may be any.
    #[must_use]
    pub const fn may_be_out(self) -> bool {
        !matches!(self, Self::Never)
    }

    /// Reads `on` or `off`.
    ///
    /// # Errors
    /// The word is neither.
    pub fn is_on(word: &str) -> Result<bool, ParseAttributeError> {
        match word {
            _ if word.eq_ignore_ascii_case("on") => Ok(true),
            _ if word.eq_ignore_ascii_case("off") => Ok(false),
            _ => Err(ParseAttributeError {
                attribute: "LEASES",
                got: word.to_owned(),
                expected: "on, off",
            }),
        }
    }
}

/// A table's attributes, as `TABLE CREATE` takes and `TABLE DESCRIBE` shows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableAttributes {
    /// Where values live.
    pub medium: Medium,
    /// What an acknowledgement promises.
    pub durability: Durability,
    /// Copies of each partition, on different nodes.
    pub replicas: u8,
    /// In-sync copies without which writes are refused: 1 to `replicas`.
    pub min_in_sync: u8,
    /// Bytes of memory that the table's records may take on each brick-owning node; `None`: no bound.
    pub maxmemory: Option<u64>,
    /// What happens at that bound.
    pub evict: Eviction,
    /// Whether clients may keep what they read under leases. Stored apart, where it is anything but `Never`.
    #[serde(skip)]
    pub leases: Leases,
    /// Bytes of committed changes that each partition keeps for who follows it; 0: none. The catalog writes it apart
    /// (`metadata/src/stored.rs`), since a program that knows nothing of it reads the others.
    #[serde(skip)]
    pub history: u64,
}

impl Default for TableAttributes {
    fn default() -> Self {
        Self {
            medium: Medium::Ram,
            durability: Durability::Log,
            replicas: 1,
            min_in_sync: 1,
            maxmemory: None,
            evict: Eviction::None,
            leases: Leases::Never,
            history: 0,
        }
    }
}
