//! What to do about a call that failed: give it up, or send it again.
//!
//! In:  what happened ([`AttemptFailure`]) and whether the call writes. Out: a [`Verdict`].
//!
//! Invariants:
//! - A write without an id is sent again only when it is known that it was not executed and will not be. One
//!   with an id is executed once however often it is sent.
//! - What is refused for good (syntax, types, rights, a full table) is not sent again.
//!
//! Not here: when and where it is sent again (`router`).
//! Source: docs/wire.md, "What an error promises".

use crate::{Error, map::join, random::Random};
use brickyard_types::Slot;
use brickyard_wire::{Fate, fate, is_not_executed, is_past_asking};
use std::time::Duration;

/// The first pause, and the longest: whoever waits for others to take over waits for that long in vain at most.
const PAUSE_MIN: Duration = Duration::from_millis(4);
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// A `MOVED` is followed at once so many times; then two bricks send us to each other, and we wait for one
/// of them to learn.
const REDIRECTS_AT_ONCE: u32 = 4;

/// So often a call is tried that a full disk refuses, which is for more than half a second. By then others lead what that
/// brick led, if there are others; if not it stays full for as long as nobody makes room.
const FULL_DISK_ATTEMPTS: u32 = 12;

/// What happened to an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptFailure {
    /// An error reply: its line.
    Reply(Vec<u8>),
    /// It did not leave: no connection, or it broke before.
    NotSent(String),
    /// It left, and the connection broke before the answer.
    Lost(String),
    /// It left, and that connection has been silent since.
    Silent,
    /// Its deadline passed before it left.
    LateUnsent,
    /// Its deadline passed after it left.
    Late,
    /// The server refuses the connection itself: the user, the password, the table.
    Handshake(Vec<u8>),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// That is how it ends.
    Fail(Error),
    /// Send it again, as `again` says; if the deadline leaves no time for it, it ends as `otherwise`.
    Again {
        /// How.
        again: Again,
        /// What is true if it is not.
        otherwise: Error,
    },
}

/// How to send a call again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Again {
    /// At once, to the address where the slot is now.
    At {
        /// Of which slot.
        slot: Slot,
        /// Its host; empty: the one that was asked.
        host: String,
        /// Its port.
        port: u16,
    },
    /// After a pause, to wherever the map says then.
    AfterPause {
        /// Whether the map is in doubt.
        is_map_old: bool,
    },
}

/// What a call is, as to sending it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// It changes nothing.
    Read,
    /// A write that servers recognise when it comes again.
    Named,
    /// A write that is executed as often as it is sent.
    Plain,
}

impl AttemptFailure {
    /// Whether the attempt may have been executed, and asking again would tell.
    #[must_use]
    pub fn is_open(&self, nature: Nature) -> bool {
        match self {
            Self::Lost(_) | Self::Silent => true,
            Self::Reply(line) => {
                nature == Nature::Named && fate(line) == Fate::Unknown && !is_past_asking(line)
            }
            _ => false,
        }
    }
}

/// Decides about a call of which `attempt` attempts (the first is 1) have failed, the last with `failure`.
#[must_use]
pub fn decide(
    failure: AttemptFailure,
    nature: Nature,
    attempt: u32,
    allowance: Duration,
) -> Verdict {
    let is_read = nature == Nature::Read;
    let is_open = failure.is_open(nature);
    let again = |is_map_old, otherwise| Verdict::Again {
        again: Again::AfterPause { is_map_old },
        otherwise,
    };
    let timeout = Error::Timeout { after: allowance };
    match failure {
        AttemptFailure::Reply(line) | AttemptFailure::Handshake(line)
            if fate(&line) == Fate::NotExecuted =>
        {
            let error = Error::from_reply(&line);
            match moved(&line) {
                Some(at) if attempt <= REDIRECTS_AT_ONCE => Verdict::Again {
                    again: at,
                    otherwise: error,
                },
                _ if is_momentary(&line, attempt) => again(is_about_the_map(&line), error),
                _ => Verdict::Fail(error),
            }
        }
        AttemptFailure::Reply(line) if is_open => again(true, Error::from_reply(&line)),
        AttemptFailure::Reply(line) | AttemptFailure::Handshake(line) => {
            Verdict::Fail(Error::from_reply(&line))
        }
        AttemptFailure::NotSent(reason) => again(true, Error::unreachable(reason)),
        AttemptFailure::Lost(_) | AttemptFailure::Silent if is_read => again(true, timeout),
        AttemptFailure::Lost(reason) if nature == Nature::Named => {
            again(true, Error::unknown(reason))
        }
        AttemptFailure::Silent if nature == Nature::Named => again(
            true,
            Error::unknown(format!(
                "it was sent, and not answered within {allowance:?}"
            )),
        ),
        AttemptFailure::Lost(reason) => Verdict::Fail(Error::unknown(reason)),
        AttemptFailure::Late | AttemptFailure::LateUnsent if is_read => Verdict::Fail(timeout),
        AttemptFailure::Silent | AttemptFailure::Late => Verdict::Fail(Error::unknown(format!(
            "it was sent, and not answered within {allowance:?}"
        ))),
        AttemptFailure::LateUnsent => Verdict::Fail(Error::unreachable(format!(
            "the connection took nothing more for {allowance:?}"
        ))),
    }
}

/// What is true of a call when its last attempt ended so: of one that writes, `may_be_executed` if an earlier
/// attempt was lost.
#[must_use]
pub fn honest(error: Error, may_be_executed: bool) -> Error {
    let is_about_the_attempt = match &error {
        Error::Refused { text } => is_not_executed(text.as_bytes()),
        Error::Unreachable { .. } | Error::Closed => true,
        _ => false,
    };
    if may_be_executed && is_about_the_attempt {
        Error::unknown(format!(
            "an earlier attempt was lost, and the last one: {error}"
        ))
    } else {
        error
    }
}

/// A call's first, second, ... pause: doubled each time, and different for every call, lest they all come back together.
pub(crate) fn pause(number: u32, random: &Random) -> Duration {
    let doubled = PAUSE_MIN.saturating_mul(1 << number.saturating_sub(1).min(16));
    let most = doubled.min(PAUSE_MAX);
    let nanos = most.as_nanos() as u64;
    Duration::from_nanos(nanos / 2 + random.next() % (nanos / 2))
}

fn first_word(line: &[u8]) -> &[u8] {
    line.split(|byte| *byte == b' ').next().unwrap_or_default()
}

/// Refusals that time will mend, of those that promise that nothing was executed.
fn is_momentary(line: &[u8], attempt: u32) -> bool {
    match first_word(line) {
        b"MOVED" | b"ASK" | b"TRYAGAIN" | b"CLUSTERDOWN" | b"LOADING" | b"NOREPLICAS" | b"BUSY"
        | b"LIMIT" | b"READONLY" | b"MASTERDOWN" => true,
        b"MISCONF" => attempt < FULL_DISK_ATTEMPTS,
        _ => false,
    }
}

/// Refusals after which a newer map may help.
fn is_about_the_map(line: &[u8]) -> bool {
    matches!(
        first_word(line),
        b"MOVED" | b"ASK" | b"CLUSTERDOWN" | b"READONLY" | b"MASTERDOWN" | b"MISCONF"
    )
}

/// Reads `MOVED slot host:port`.
fn moved(line: &[u8]) -> Option<Again> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.strip_prefix("MOVED ")?.split(' ');
    let slot = Slot(words.next()?.parse().ok()?);
    let (host, port) = words.next()?.rsplit_once(':')?;
    let port = port.parse().ok()?;
    (slot.0 < Slot::COUNT).then(|| Again::At {
        slot,
        host: host.trim_matches(['[', ']']).to_owned(),
        port,
    })
}

impl Again {
    /// The address of [`Self::At`], of which an empty host means the one that was asked.
    pub(crate) fn address(host: &str, port: u16, asked: &str) -> String {
        join(if host.is_empty() { asked } else { host }, port)
    }
}

#[cfg(test)]
#[path = "retry_test.rs"]
mod retry_test;
