//! Why a command did nothing: the error line that its client gets, or "not yet".
//!
//! Invariants:
//! - The texts are Redis 7's own, byte for byte: clients and libraries match on them.
//! - An [`ErrorReply`] is one line: what clients sent is quoted with its line ends made spaces.
//!
//! Not here: errors of the store and of routing (`-MOVED`, `-OOM`, `-UNKNOWNRESULT`), which the
//! brick makes with [`ErrorReply::new`].

use brickyard_types::part::PartName;
use std::borrow::Cow;
use std::fmt;

/// The whole line of an error reply, its prefix (`ERR`) included and the leading `-` not.
#[derive(Clone, PartialEq, Eq)]
pub struct ErrorReply(Cow<'static, [u8]>);

impl ErrorReply {
    /// `ERR syntax error`: options that do not fit together or are not known.
    pub const SYNTAX: Self = Self::constant("ERR syntax error");
    /// The argument or the value is not a 64-bit integer in decimal.
    pub const NOT_AN_INTEGER: Self = Self::constant("ERR value is not an integer or out of range");
    /// The argument or the value is not a finite decimal number.
    pub const NOT_A_FLOAT: Self = Self::constant("ERR value is not a valid float");
    /// The key that must be there is not.
    pub const NO_SUCH_KEY: Self = Self::constant("ERR no such key");
    /// The key holds a value of another type than the command is for.
    pub const WRONG_TYPE: Self =
        Self::constant("WRONGTYPE Operation against a key holding the wrong kind of value");
    /// The value would be longer than the server takes.
    pub const TOO_LONG: Self =
        Self::constant("ERR string exceeds maximum allowed size (proto-max-bulk-len)");

    /// A key is to be moved or copied to itself.
    pub const SAME_OBJECTS: Self =
        Self::constant("ERR source and destination objects are the same");
    /// A command is about two tables where only one is at hand.
    pub const OUT_OF_REACH: Self = Self::constant(
        "ERR MOVE, and COPY to another database, come alone, at a node's port: not in MULTI, not in scripts, not with an id",
    );

    /// An error whose text is known when the program is built.
    #[must_use]
    pub const fn constant(line: &'static str) -> Self {
        Self(Cow::Borrowed(line.as_bytes()))
    }

    /// An error from a whole line, which may quote anything a client sent: line ends at its end
    /// are cut off, those inside become spaces.
    #[must_use]
    pub fn new(line: impl Into<Vec<u8>>) -> Self {
        let mut line: Vec<u8> = line.into();
        while matches!(line.last(), Some(b'\r' | b'\n')) {
            line.pop();
        }
        for byte in &mut line {
            if matches!(byte, b'\r' | b'\n') {
                *byte = b' ';
            }
        }
        Self(Cow::Owned(line))
    }

    /// `ERR invalid expire time in '...' command`.
    #[must_use]
    pub(crate) fn invalid_expiry(command: &str) -> Self {
        Self::new(format!("ERR invalid expire time in '{command}' command"))
    }

    /// There is no such part of a hash.
    #[cold]
    #[must_use]
    pub fn no_part(part: PartName<'_>) -> Self {
        Self::new(format!(
            "DAMAGED part {} of this hash is not there; DEL the key, or restore it from a backup",
            part.number
        ))
    }

    /// `ERR wrong number of arguments for '...' command`.
    #[must_use]
    pub fn wrong_arity(command: &str) -> Self {
        Self::new(format!(
            "ERR wrong number of arguments for '{command}' command"
        ))
    }

    /// The line's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The line as text; bytes that are no UTF-8 (a client's, quoted) are replaced.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl fmt::Debug for ErrorReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ErrorReply").field(&self.text()).finish()
    }
}

impl fmt::Display for ErrorReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl std::error::Error for ErrorReply {}

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It never will be; this is its reply.
    Error(ErrorReply),
    /// A value that it needs is on disk. Nothing was put or deleted; run it again when the value
    /// has arrived.
    Suspend,
}

impl From<ErrorReply> for Failure {
    fn from(error: ErrorReply) -> Self {
        Self::Error(error)
    }
}
