//! Runs targets on inputs, and keeps what makes one panic.

use crate::mutate::{self, Chance};
use crate::targets::Target;
use std::panic;
use std::time::{Duration, Instant};

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// After so many inputs.
    Inputs(u64),
    /// After so long.
    Time(Duration),
}

/// What came of driving a target.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// Inputs that were run.
    pub inputs: u64,
}

/// An input under which a target panicked.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The input, made as short as could be.
    pub input: Vec<u8>,
    /// What the panic said.
    pub what: String,
}

/// Runs a target on one input.
///
/// # Errors
/// What its panic said.
pub fn replay(target: &Target, input: &[u8]) -> Result<(), String> {
    let outcome = panic::catch_unwind(|| (target.run)(input));
    outcome.map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        text.unwrap_or("a panic without words").to_owned()
    })
}

/// Runs a target on its seeds and on what becomes of them. One seed of `chance` makes one sequence of inputs.
///
/// # Errors
/// The first input under which it panics.
pub fn drive(target: &Target, until: Until, chance: u64) -> Result<Report, Failure> {
    let started = Instant::now();
    let seeds = (target.seeds)();
    let mut chance = Chance::new(chance);
    let mut inputs = 0;
    loop {
        let input = match seeds.get(inputs as usize) {
            Some(input) => input.clone(),
            None => mutate::input(&mut chance, &seeds),
        };
        inputs += 1;
        if let Err(what) = replay(target, &input) {
            let input = shorten(target, input);
            return Err(Failure { input, what });
        }
        let is_over = match until {
            Until::Inputs(count) => inputs >= count,
            Until::Time(time) => started.elapsed() >= time,
        };
        if is_over {
            return Ok(Report { inputs });
        }
    }
}

/// Leaves out of an input what is not needed for the panic.
fn shorten(target: &Target, mut input: Vec<u8>) -> Vec<u8> {
    let mut piece = input.len() / 2;
    while piece > 0 {
        let mut at = 0;
        while at < input.len() {
            let mut shorter = input.clone();
            shorter.drain(at..input.len().min(at + piece));
            if replay(target, &shorter).is_err() {
                input = shorter;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    input
}
