//! What everything in a run stands on: the time, what is going to happen, chance, and what is noted.
//!
//! Invariant: the time is that of what was taken from the agenda last.

use crate::agenda::Agenda;
use crate::clock::Nanos;
use crate::notes::Notes;
use crate::random::Random;
use crate::shape::Shape;
use crate::what::What;

/// See the module.
pub(crate) struct Ground {
    now: Nanos,
    agenda: Agenda<What>,
    pub(crate) shape: Shape,
    /// Delays, and what else nobody decides.
    pub(crate) chance: Random,
    pub(crate) notes: Notes,
    pub(crate) stage: Stage,
}

/// How far the run has come.
#[derive(Default)]
pub(crate) struct Stage {
    /// Nothing goes wrong any more, since then.
    pub(crate) is_calm: bool,
    pub(crate) calm_at: Nanos,
    pub(crate) is_over: bool,
}

impl Ground {
    pub(crate) fn new(shape: Shape, chance: Random, notes: Notes) -> Self {
        Self {
            now: 0,
            agenda: Agenda::default(),
            shape,
            chance,
            notes,
            stage: Stage::default(),
        }
    }

    pub(crate) const fn now(&self) -> Nanos {
        self.now
    }

    /// The time goes on to the next thing that happens.
    pub(crate) fn take_next(&mut self) -> Option<What> {
        let (at, what) = self.agenda.take()?;
        assert!(at >= self.now, "the time goes back to {at}");
        self.now = at;
        self.notes.digest(at);
        Some(what)
    }

    /// How many things were noted so far.
    pub(crate) fn events(&self) -> u64 {
        self.agenda.count()
    }

    pub(crate) fn at(&mut self, at: Nanos, what: What) {
        self.agenda.note(at, what);
    }

    pub(crate) fn after(&mut self, delay: Nanos, what: What) {
        self.agenda.note(self.now + delay, what);
    }

    /// Notes something for people.
    pub(crate) fn tell(&mut self, what: impl FnOnce() -> String) {
        self.notes.tell(self.now, what);
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        self.notes.count(what);
    }

    /// Somebody objects; the first one is heard.
    pub(crate) fn object(&mut self, what: String) {
        self.notes.object(self.now, what);
    }
}
