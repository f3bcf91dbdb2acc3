//! `CLIENT PAUSE`: clients of the node whose commands wait.
//!
//! In:  until when, and which commands. Out: whether one waits now.
//!
//! A command that waits stays in its connection's input, which is bounded: what a client sends beyond that stays in its socket. So nothing is
//! lost, and nothing is held but what was there before.
//!
//! Invariant: who can end a pause is never held by it, nor who has yet to say who it is.
//!
//! Not here: which connections wait (`clients`).

use brickyard_command::{Args, CommandId, Spec, command_of, table::flag};
use brickyard_types::Instant;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Which commands wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Those that may write, as in Redis.
    Writes,
    /// All.
    All,
}

/// See the module.
#[derive(Debug, Default)]
pub struct NodePause {
    until: AtomicU64,
    holds_all: AtomicBool,
}

impl NodePause {
    /// Commands wait for so long from now on. As in Redis, of two pauses the later end counts, and what either holds.
    pub(crate) fn begin(&self, now: Instant, lasts: Duration, pause: Pause) {
        let holds_all = self.at(now) == Some(Pause::All) || pause == Pause::All;
        self.holds_all.store(holds_all, Relaxed);
        let end = now + lasts;
        self.until.fetch_max(end.0, Relaxed);
    }

    /// None waits any more.
    pub(crate) fn end(&self) {
        self.until.store(0, Relaxed);
        self.holds_all.store(false, Relaxed);
    }

    /// Whether commands wait.
    #[inline]
    pub(crate) fn at(&self, now: Instant) -> Option<Pause> {
        let until = self.until.load(Relaxed);
        if until <= now.0 {
            return None;
        }
        Some(match self.holds_all.load(Relaxed) {
            true => Pause::All,
            false => Pause::Writes,
        })
    }

    /// When it ends, if commands wait.
    pub(crate) fn ends_at(&self, now: Instant) -> Option<Instant> {
        let until = self.until.load(Relaxed);
        (until > now.0).then_some(Instant(until))
    }
}

impl Pause {
    /// Whether a command waits; an EXEC would run what is queued.
    pub(crate) fn holds(
        self,
        args: Args<'_>,
        mut queued: impl Iterator<Item = &'static Spec>,
    ) -> bool {
        // What is none is refused at once.
        let Some(spec) = command_of(args) else {
            return false;
        };
        let is_exempt = spec.has(flag::NO_AUTH)
            || matches!(
                spec.id,
                CommandId::ClientPause | CommandId::ClientUnpause | CommandId::Discard
            );
        match self {
            _ if is_exempt => false,
            Self::All => true,
            Self::Writes if spec.id == CommandId::Exec => queued.any(may_write),
            Self::Writes => may_write(spec),
        }
    }
}

/// Whether a command changes anything, or may let something do so.
fn may_write(spec: &Spec) -> bool {
    let runs_what_may = matches!(
        spec.id,
        CommandId::Eval
            | CommandId::Evalsha
            | CommandId::Fcall
            | CommandId::Publish
            | CommandId::Spublish
            | CommandId::Request
    );
    spec.has(flag::WRITE) || runs_what_may
}

#[cfg(test)]
#[path = "pause_test.rs"]
mod pause_test;
