//! What an error reply promises about the command that it answers.
//!
//! The promise is in the error's first word, because that is what clients look at: most of them
//! send a command again by themselves on some of these words.

/// What became of a command that was answered with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It was not executed and will not be; it may be sent again.
    NotExecuted,
    /// A write whose outcome is not known: it may have been executed, or may still be.
    Unknown,
    /// It read data that is known to be damaged, which is never served. It changed nothing.
    Damaged,
    /// It was looked at and refused (wrong type, syntax, ...): sending it again changes nothing.
    Refused,
}

/// Reads the promise from the first word of an error (`error` is the line without its `-`).
///
/// ```
/// use brickyard_wire::{Fate, fate};
/// assert_eq!(fate(b"MOVED 3999 127.0.0.1:7001"), Fate::NotExecuted);
/// assert_eq!(fate(b"UNKNOWNRESULT the disk is full"), Fate::Unknown);
/// assert_eq!(fate(b"ERR syntax error"), Fate::Refused);
/// ```
#[must_use]
pub fn fate(error: &[u8]) -> Fate {
    let word = error.split(|byte| *byte == b' ').next().unwrap_or_default();
    match word {
        b"MOVED" | b"ASK" | b"CROSSSLOT" | b"CLUSTERDOWN" | b"TRYAGAIN" | b"NOREPLICAS"
        | b"READONLY" | b"MASTERDOWN" | b"LOADING" | b"OOM" | b"BUSY" | b"LIMIT" | b"MISCONF" => {
            Fate::NotExecuted
        }
        b"UNKNOWNRESULT" => Fate::Unknown,
        b"DAMAGED" => Fate::Damaged,
        _ => Fate::Refused,
    }
}

/// Whether an error promises that its attempt was not executed, be there sense in sending it again or not: of a table that is
/// offline nothing can be had until somebody brings it back. It says nothing of attempts before.
///
/// ```
/// use brickyard_wire::is_not_executed;
/// assert!(is_not_executed(b"OFFLINE table 't' is offline"));
/// assert!(is_not_executed(b"TRYAGAIN later"));
/// assert!(!is_not_executed(b"WRONGTYPE no number"));
/// ```
#[must_use]
pub fn is_not_executed(error: &[u8]) -> bool {
    fate(error) == Fate::NotExecuted || error.starts_with(b"OFFLINE ")
}
