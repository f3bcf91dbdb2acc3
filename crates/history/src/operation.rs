//! What a client asked for, and what it was told.

use std::fmt;
use std::sync::Arc;

/// A value; clones share it.
pub type Bytes = Arc<[u8]>;

/// Nanoseconds since the history began, by one clock for all clients.
pub type Nanos = u64;

/// Who asks in no order.
pub const NOBODY: u32 = u32::MAX;

/// What was asked of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The value.
    Get,
    /// Another value, whatever there was.
    Set(Bytes),
    /// No value any more; tells whether there was one.
    Delete,
    /// More bytes at the value's end; tells how long it is then.
    Append(Bytes),
    /// A number more; tells the sum. A key without a value counts as 0.
    Increment(i64),
    /// Another value if there is the expected one (`None`: if there is none); tells whether there was.
    CompareAndSet {
        /// What must be there.
        expected: Option<Bytes>,
        /// What comes in its place.
        value: Bytes,
    },
    /// No value any more, with all others of its table; tells nothing of it.
    Clear,
    /// No value any more if it is this one: its time is over. Nobody asks for it, and nobody is told.
    Expire(Bytes),
}

impl Action {
    /// Whether it leaves the key as it is, whatever it is.
    #[must_use]
    pub const fn is_read(&self) -> bool {
        matches!(self, Self::Get)
    }
}

/// What the client was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done,
    /// The value, if there is one.
    Value(Option<Bytes>),
    /// A number: the sum, or the length.
    Number(i64),
    /// Whether it did something.
    Did(bool),
    /// An error that says something about the value, such as that it is no number.
    WrongValue,
    /// Nobody knows whether it was executed, or will be.
    Unknown,
    /// It was not executed, and will not be.
    Refused,
}

/// One operation of a history.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Which key.
    pub key: Bytes,
    /// What was asked.
    pub action: Action,
    /// When it was sent.
    pub called: Nanos,
    /// When the answer was there; of no account where the outcome is unknown.
    pub returned: Nanos,
    /// What was answered.
    pub outcome: Outcome,
    /// Who asked. Of what one client sends about a key without waiting, what is answered takes effect in the order in which it
    /// was sent; of [`NOBODY`]'s operations nothing is known.
    pub client: u32,
}

/// A value for people: short, and without what cannot be printed.
pub(crate) struct Shown<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN_MAX: usize = 48;
        let head = &self.0[..self.0.len().min(SHOWN_MAX)];
        write!(f, "\"{}\"", head.escape_ascii())?;
        if self.0.len() > SHOWN_MAX {
            write!(f, "... ({} bytes)", self.0.len())?;
        }
        Ok(())
    }
}

pub(crate) struct ShownValue<'a>(pub(crate) Option<&'a [u8]>);

impl fmt::Display for ShownValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(value) => Shown(value).fmt(f),
            None => f.write_str("nothing"),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Get => f.write_str("get"),
            Self::Set(value) => write!(f, "set {}", Shown(value)),
            Self::Delete => f.write_str("delete"),
            Self::Append(value) => write!(f, "append {}", Shown(value)),
            Self::Increment(by) => write!(f, "increment by {by}"),
            Self::CompareAndSet { expected, value } => {
                let expected = ShownValue(expected.as_deref());
                write!(f, "set {} if there is {expected}", Shown(value))
            }
            Self::Clear => f.write_str("clear"),
            Self::Expire(value) => write!(f, "the end of {}", Shown(value)),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Value(value) => ShownValue(value.as_deref()).fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Did(true) => f.write_str("yes"),
            Self::Did(false) => f.write_str("no"),
            Self::WrongValue => f.write_str("not with that value"),
            Self::Unknown => f.write_str("unknown"),
            Self::Refused => f.write_str("refused"),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |nanos: Nanos| nanos as f64 / 1e6;
        write!(f, "{:>12.3} ms to ", millis(self.called))?;
        if self.outcome == Outcome::Unknown {
            write!(f, "{:>15}", "nobody knows")?;
        } else {
            write!(f, "{:>12.3} ms", millis(self.returned))?;
        }
        write!(f, "  client {}: {}", self.client, self.action)?;
        write!(f, " -> {}", self.outcome)
    }
}
