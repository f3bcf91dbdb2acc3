//! How values are written: sizes, durations, addresses and words, as text and as TOML.
//!
//! In: text from a flag, an environment variable or a file. Out: a typed value, or what was
//! expected instead. [`ConfigValue::toml`] writes what [`ConfigValue::parse`] reads.

use brickyard_types::{Durability, Eviction, Medium};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// A number of bytes, written `64MiB`, `1GB` or plainly `65536`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// So many kibibytes.
    #[must_use]
    pub const fn kibibytes(count: u64) -> Self {
        Self(count << 10)
    }

    /// So many mebibytes.
    #[must_use]
    pub const fn mebibytes(count: u64) -> Self {
        Self(count << 20)
    }

    /// The number as an index into memory.
    #[must_use]
    pub fn to_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

const BINARY_UNITS: [(&str, u64); 4] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
];

// Redis's own suffixes: `k`, `m`, `g` are decimal there, and `kb`, `mb`, `gb` binary. The latter are
// left out on purpose: everywhere else they are decimal, so either reading would surprise someone.
const DECIMAL_UNITS: [(&str, u64); 8] = [
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("T", 1_000_000_000_000),
    ("G", 1_000_000_000),
    ("M", 1_000_000),
    ("k", 1_000),
];

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, factor) in BINARY_UNITS {
            if self.0 >= factor && self.0.is_multiple_of(factor) {
                return write!(f, "{}{unit}", self.0 / factor);
            }
        }
        write!(f, "{}", self.0)
    }
}

/// Where the HTTP endpoints listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpListen {
    /// At `listen`'s host, 1000 ports above it.
    Auto,
    /// Nowhere.
    Off,
    /// At this address.
    At(SocketAddr),
}

/// Whether HTTP serves the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleUse {
    /// Unless clients have to show certificates, which HTTP asks nobody for.
    Auto,
    /// It does.
    On,
    /// It does not.
    Off,
}

/// So much memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryShare {
    /// So many hundredths of the machine's.
    Percent(u8),
    /// So many bytes.
    Bytes(ByteSize),
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    Auto,
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// A value of the configuration: text in, TOML out.
pub trait ConfigValue: Sized {
    /// Reads the value from text.
    ///
    /// # Errors
    /// What was expected, as a part of a sentence: `a size such as 64MiB`.
    fn parse(text: &str) -> Result<Self, String>;

    /// The value as TOML, so that [`ConfigValue::parse`] of its text gives it back.
    fn toml(&self) -> String;
}

macro_rules! integers {
    ($($type:ty),+) => {
        $(impl ConfigValue for $type {
            fn parse(text: &str) -> Result<Self, String> {
                text.replace('_', "")
                    .parse()
                    .map_err(|_| format!("a whole number from {} to {}", Self::MIN, Self::MAX))
            }

            fn toml(&self) -> String {
                self.to_string()
            }
        })+
    };
}
integers!(u16, u32, u64);

impl ConfigValue for bool {
    fn parse(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Ok(true),
            "false" | "no" | "off" | "0" => Ok(false),
            _ => Err("true or false".to_owned()),
        }
    }

    fn toml(&self) -> String {
        self.to_string()
    }
}

impl ConfigValue for String {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn toml(&self) -> String {
        quoted(self)
    }
}

impl ConfigValue for ByteSize {
    fn parse(text: &str) -> Result<Self, String> {
        let expected = || "a size such as 64MiB, 1GB or 65536".to_owned();
        let text = text.trim();
        let (number, factor) = BINARY_UNITS
            .iter()
            .chain(&DECIMAL_UNITS)
            .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
            .unwrap_or((text, 1));
        let number: u64 = number
            .trim_end()
            .replace('_', "")
            .parse()
            .map_err(|_| expected())?;
        number.checked_mul(factor).map(Self).ok_or_else(expected)
    }

    fn toml(&self) -> String {
        let text = self.to_string();
        if text.ends_with('B') {
            quoted(&text)
        } else {
            text
        }
    }
}

impl ConfigValue for MemoryShare {
    fn parse(text: &str) -> Result<Self, String> {
        let expected = || "a size such as 512MiB, or a percentage such as 10%".to_owned();
        let Some(percent) = text.trim().strip_suffix('%') else {
            return ByteSize::parse(text)
                .map(Self::Bytes)
                .map_err(|_| expected());
        };
        let percent = percent.trim_end().parse().map_err(|_| expected())?;
        match percent {
            1..=100 => Ok(Self::Percent(percent)),
            _ => Err(expected()),
        }
    }

    fn toml(&self) -> String {
        match self {
            Self::Percent(percent) => quoted(&format!("{percent}%")),
            Self::Bytes(bytes) => bytes.toml(),
        }
    }
}

impl ConfigValue for Duration {
    fn parse(text: &str) -> Result<Self, String> {
        let expected = || "a time such as 250ms, 10s, 5m or 1h (0 for none)".to_owned();
        let text = text.trim();
        if text == "0" {
            return Ok(Self::ZERO);
        }
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '_');
        let (number, unit) = text.split_at(digits.ok_or_else(expected)?);
        let number: u64 = number.replace('_', "").parse().map_err(|_| expected())?;
        let seconds = |factor: u64| number.checked_mul(factor).map(Self::from_secs);
        match unit.trim_start() {
            "us" => Some(Self::from_micros(number)),
            "ms" => Some(Self::from_millis(number)),
            "s" => seconds(1),
            "m" => seconds(60),
            "h" => seconds(3600),
            "d" => seconds(86_400),
            _ => None,
        }
        .ok_or_else(expected)
    }

    fn toml(&self) -> String {
        let micros = self.as_micros();
        let (factor, unit) = match micros {
            0 => return "0".to_owned(),
            _ if micros.is_multiple_of(1_000_000) => (1_000_000, "s"),
            _ if micros.is_multiple_of(1_000) => (1_000, "ms"),
            _ => (1, "us"),
        };
        quoted(&format!("{}{unit}", micros / factor))
    }
}

impl ConfigValue for SocketAddr {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text
            .strip_prefix("localhost:")
            .map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
        text.parse()
            .map_err(|_| "an IP address and a port such as 127.0.0.1:6379 or [::1]:6379".to_owned())
    }

    fn toml(&self) -> String {
        quoted(&self.to_string())
    }
}

impl ConfigValue for HttpListen {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            _ => SocketAddr::parse(text)
                .map(Self::At)
                .map_err(|expected| format!("auto, off, or {expected}")),
        }
    }

    fn toml(&self) -> String {
        match self {
            Self::Auto => quoted("auto"),
            Self::Off => quoted("off"),
            Self::At(address) => address.toml(),
        }
    }
}

impl ConfigValue for ConsoleUse {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "on" | "true" => Ok(Self::On),
            "off" | "false" => Ok(Self::Off),
            _ => Err("auto, on or off".to_owned()),
        }
    }

    fn toml(&self) -> String {
        quoted(match self {
            Self::Auto => "auto",
            Self::On => "on",
            Self::Off => "off",
        })
    }
}

impl ConfigValue for LogFormat {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("auto, text or json".to_owned()),
        }
    }

    fn toml(&self) -> String {
        quoted(match self {
            Self::Auto => "auto",
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

macro_rules! attributes {
    ($($type:ty, $expected:literal);+) => {
        $(impl ConfigValue for $type {
            fn parse(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| $expected.to_owned())
            }

            fn toml(&self) -> String {
                quoted(self.word())
            }
        })+
    };
}
attributes!(
    Durability, "memory, log or fsync";
    Medium, "ram or disk";
    Eviction, "none or lru"
);

/// `text` as a TOML string.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
