//! When clients change sides: the pause of the source's writers, and how it ends.
//!
//! In:  words of the operator, the offset at which the source stands still, how far the tables are. Out: asks.
//!
//! Invariant: writers who are held up are let go when the import fails or cannot catch up.

use super::asker::Ask;
use anyhow::Context;
use std::{
    io::BufRead,
    sync::mpsc::Sender,
    thread,
    time::{Duration, Instant},
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
};

/// So close behind, a pause is short.
const CLOSE: Duration = Duration::from_millis(100);
/// After one that was given up, the next one is not tried at once.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// What the operator says.
#[derive(Debug)]
pub(crate) enum Word {
    HandOver,
    Stop,
    Other(String),
}

/// How to hand over.
#[derive(Clone, Debug)]
pub(crate) struct Wishes {
    /// Without a word, as soon as the tables are close behind.
    pub(crate) by_itself: bool,
    /// How long writers may be held up before it is given up.
    pub(crate) pause_max: Duration,
    /// How long writers are held up from the pause on, if it is handed over.
    pub(crate) hold: Duration,
    /// Whether the source is to refuse writes afterwards.
    pub(crate) fences: bool,
}

impl Wishes {
    /// How long the source is told to hold writers up, from when it hears of it.
    pub(crate) fn longest(&self) -> Duration {
        self.hold.max(self.pause_max)
    }
}

/// Where a hand-over is.
#[derive(Debug)]
pub(crate) struct HandOver {
    since: Option<Instant>,
    /// The offset at which the source stands still.
    offset: Option<u64>,
    given_up: Option<Instant>,
}

impl HandOver {
    pub(crate) const fn new() -> Self {
        Self {
            since: None,
            offset: None,
            given_up: None,
        }
    }

    pub(crate) fn begin(&mut self, asks: &Sender<Ask>, wishes: &Wishes) {
        if self.since.is_none() {
            self.since = Some(Instant::now());
            // Should this program end now, writers go on when the pause is over.
            let _ = asks.send(Ask::Pause(wishes.longest()));
        }
    }

    pub(crate) const fn is_begun(&self) -> bool {
        self.since.is_some()
    }

    pub(crate) fn on_paused(&mut self, offset: u64) {
        if self.since.is_some() {
            self.offset = Some(offset);
        }
    }

    /// Whether everything is there up to where the source stands still.
    pub(crate) fn is_due(&self, low_water: u64) -> bool {
        self.offset.is_some_and(|it| low_water >= it)
    }

    /// Whether it is to begin by itself.
    pub(crate) fn is_wanted(&self, wishes: &Wishes, lag: Duration, is_copying: bool) -> bool {
        let has_rested = self.given_up.is_none_or(|it| it.elapsed() > TRY_AGAIN);
        wishes.by_itself && self.since.is_none() && has_rested && lag < CLOSE && !is_copying
    }

    pub(crate) fn is_overdue(&self, wishes: &Wishes) -> bool {
        self.since.is_some_and(|it| it.elapsed() > wishes.pause_max)
    }

    pub(crate) fn give_up(&mut self, asks: &Sender<Ask>) {
        if self.since.take().is_some() {
            self.offset = None;
            self.given_up = Some(Instant::now());
            let _ = asks.send(Ask::Unpause);
        }
    }

    pub(crate) fn waited(&self) -> Duration {
        self.since.map_or(Duration::ZERO, |it| it.elapsed())
    }
}

/// Words from standard input, and signals.
pub(crate) fn words() -> anyhow::Result<UnboundedReceiver<Word>> {
    let (sender, words) = unbounded_channel();
    let typed = sender.clone();
    thread::Builder::new()
        .name("words".to_owned())
        .spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                let word = match line.trim() {
                    "" => continue,
                    "handover" | "hand-over" => Word::HandOver,
                    other => Word::Other(other.to_owned()),
                };
                if typed.send(word).is_err() {
                    return;
                }
            }
        })
        .context("cannot start a thread")?;
    let mut interrupts = signal(SignalKind::interrupt()).context("cannot handle signals")?;
    let mut terms = signal(SignalKind::terminate()).context("cannot handle signals")?;
    let mut users = signal(SignalKind::user_defined1()).context("cannot handle signals")?;
    tokio::spawn(async move {
        loop {
            let word = tokio::select! {
                _ = users.recv() => Word::HandOver,
                _ = interrupts.recv() => Word::Stop,
                _ = terms.recv() => Word::Stop,
            };
            if sender.send(word).is_err() {
                return;
            }
        }
    });
    Ok(words)
}
