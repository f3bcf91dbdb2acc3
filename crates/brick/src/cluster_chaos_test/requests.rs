//! Requests with ids: what nobody answered is sent again, elsewhere if need be, and some of what was answered too
//! (PROTOCOL rule 19).

use super::clients::{Clients, Expected, render};
use super::history::Step;
use super::world::{SKEW_MS, World};
use brickyard_wire::{Fate, fate, ids_up_to, is_past_asking};

/// A request with an id.
#[derive(Clone, Debug)]
pub(super) struct Named {
    id: (u64, u64),
    text: String,
    object: String,
    /// Its operation in the object's history.
    operation: usize,
    /// What it was answered: another time it must be the same.
    told: Option<String>,
}

/// Of what was answered, so many are kept to be asked once more.
const ANSWERED_MAX: usize = 12;

/// What a client has asked with an id, and may ask again.
#[derive(Debug, Default)]
pub(super) struct Asked {
    sequence: u64,
    open: Vec<Named>,
    answered: Vec<Named>,
}

impl Asked {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Its outcome is not known.
    pub(super) fn leave_open(&mut self, named: Named) {
        match named.told {
            None => self.open.push(named),
            Some(_) => self.answered.push(named),
        }
    }

    /// An id of now; all clocks are ahead of the world's by less than that.
    fn next(&mut self, client: usize, world: &World) -> (u64, u64) {
        let now = (world.unix.0 + SKEW_MS) * 1_000;
        self.sequence = now.max(self.sequence + 1);
        (client as u64 + 1, self.sequence)
    }
}

fn line((client, sequence): (u64, u64), word: &str, text: &str) -> String {
    format!("REQUEST {client} {sequence} {word} {text}")
}

impl Clients {
    /// Asks for something with an id.
    pub(super) fn ask_named(&mut self, at: usize, object: String, step: Step, world: &mut World) {
        let id = self.asked(at).next(at, world);
        let text = render(&object, &step);
        let operation = self.note(&object, vec![step], None, false);
        let named = Named {
            id,
            text,
            object,
            operation,
            told: None,
        };
        let text = line(id, "FIRST", &named.text);
        self.put(at, &text, Expected::Named(named), world);
    }

    /// Whoever has not been answered asks again; some do who have been.
    pub(super) fn ask_again(&mut self, world: &mut World) {
        for at in 0..self.len() {
            let again = world.scenario.map_or(6, |it| it.again);
            let once_in = if world.is_calm { 3 } else { again };
            if world.edition < 3 || self.is_waiting(at) || !world.one_in(once_in) {
                continue;
            }
            let is_needless = self.asked(at).open.is_empty();
            let count = match is_needless {
                true if world.is_calm => 0,
                true => self.asked(at).answered.len(),
                false => self.asked(at).open.len(),
            };
            if count == 0 {
                continue;
            }
            self.meet(at, world);
            let which = world.below(count);
            if self.is_waiting(at) || !self.is_connected(at) {
                continue;
            }
            let asked = self.asked(at);
            let named = if is_needless {
                asked.answered.remove(which)
            } else {
                asked.open.remove(which)
            };
            let text = line(named.id, "AGAIN", &named.text);
            self.put(at, &text, Expected::Named(named), world);
        }
    }

    /// A request with an id is answered.
    pub(super) fn hear_named(&mut self, at: usize, mut named: Named, text: &str) {
        let error = text.strip_prefix('-').unwrap_or_default().as_bytes();
        if text.starts_with('-') && fate(error) != Fate::Refused {
            if let Some(floor) = ids_up_to(error) {
                // It was not executed; what is asked from now on is above that.
                let asked = self.asked(at);
                asked.sequence = asked.sequence.max(floor);
                return self.resolve(&named.object.clone(), named.operation, text);
            }
            if is_past_asking(error) {
                // Nobody will ever know.
                return;
            }
            return self.asked(at).leave_open(named);
        }
        // Where writes may be lost their ids are lost with them, and what is asked again is executed again.
        let may_be_lost = self
            .histories
            .get(&named.object)
            .is_some_and(|it| it.is_void);
        match &named.told {
            Some(_) if may_be_lost => {}
            Some(told) => assert_eq!(told, text, "client {at} asks again for {named:?}"),
            None => self.resolve(&named.object.clone(), named.operation, text),
        }
        named.told = Some(text.to_owned());
        let asked = self.asked(at);
        if asked.answered.len() == ANSWERED_MAX {
            asked.answered.remove(0);
        }
        asked.answered.push(named);
    }
}
