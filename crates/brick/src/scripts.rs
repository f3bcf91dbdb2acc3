//! Scripts: their texts, which all bricks of the node know; the functions that the cluster keeps; and the one Lua of a brick.
//!
//! In:  texts that clients send, and their names. Out: scripts that are called ([`ScriptCall`]); an engine for them, within what
//!      scripts may take in one turn.
//!
//! Invariants:
//! - A brick that runs no script has no Lua.
//! - A script and all that run with it in one transaction end within the node's bound of time; past half of it, in one turn, whatever clients
//!   and other bricks send waits for the next: a brick that runs scripts goes on voting.
//! - Where time is not measured (`script_time_max` is 0: the simulator) instructions alone count, so that a script ends at the same place each
//!   time.
//!
//! Not here: what a script does (`brickyard-script`), how its commands reach a partition (`keyed/script`).

mod call;
mod functions;
mod text;
mod texts;

pub(crate) use call::{
    Known, Permit, Restriction, ScriptCall, is_function, is_script, sha_text, with_text,
};
pub(crate) use functions::{CalledFunction, Functions, flags_of};
pub(crate) use text::ScriptText;
pub use texts::NodeScripts;

use crate::settings::Settings;
use brickyard_script::{Allowance, Engine};
use brickyard_types::Instant;
use std::time::Duration;

/// Of a brick: its engine, and what its scripts have taken of the present turn.
#[derive(Debug, Default)]
pub(crate) struct BrickScripts {
    engine: Option<Box<Engine>>,
    /// A transaction has it.
    is_lent: bool,
    turn: Instant,
    spent: Duration,
    /// How long the last transaction with scripts took, until somebody asks.
    last: Duration,
}

impl BrickScripts {
    /// The engine, with a new allowance; it is to be given back.
    pub(crate) fn take(
        &mut self,
        node: &NodeScripts,
        brick: usize,
        settings: &Settings,
    ) -> Box<Engine> {
        let limits = limits(settings);
        assert!(!self.is_lent, "two transactions want the engine");
        self.is_lent = true;
        let engine = self.engine.take();
        let mut engine =
            engine.unwrap_or_else(|| Box::new(Engine::new(limits, node.switch(brick))));
        engine.allow(&limits);
        engine
    }

    /// Takes the engine back; `now` is the turn's time.
    pub(crate) fn give_back(&mut self, engine: Box<Engine>, now: Instant) {
        assert!(
            self.is_lent && self.engine.is_none(),
            "a brick has one engine"
        );
        assert!(now >= self.turn, "the turn at {now:?} is over");
        self.is_lent = false;
        if self.turn != now {
            (self.turn, self.spent) = (now, Duration::ZERO);
        }
        self.last = engine.spent();
        self.spent += self.last;
        self.engine = Some(engine);
    }

    /// How long the last transaction with scripts took, if there was one since this was asked last.
    pub(crate) fn take_last(&mut self) -> Duration {
        std::mem::take(&mut self.last)
    }

    /// Whether scripts have taken so much of the turn that another one waits for the next.
    pub(crate) fn have_had_their_turn(&self, now: Instant, settings: &Settings) -> bool {
        let most = limits(settings).time_max;
        self.turn == now && most.is_some_and(|most| self.spent > most / 2)
    }
}

/// What a script may take.
fn limits(settings: &Settings) -> Allowance {
    let milliseconds = Settings::load(&settings.script_time_max);
    match milliseconds {
        0 => Allowance {
            time_max: None,
            ..Allowance::default()
        },
        most => Allowance {
            instructions_max: u64::MAX,
            time_max: Some(Duration::from_millis(most)),
            ..Allowance::default()
        },
    }
}

#[cfg(test)]
#[path = "scripts_test.rs"]
mod scripts_test;
