//! Makes a plan that fails shorter, as long as it fails.
//!
//! In:  a seed and its plan. Out: the shortest plan found with which the same checker still objects. (Another one's violation
//! may be another bug, or the same one seen earlier; whoever looks for this one is not helped by a schedule of that.)

use crate::plan::Plan;
use crate::run::run_plan;

/// What was found.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The plan.
    pub plan: Plan,
    /// What is wrong with it.
    pub violation: String,
    /// Runs that it took.
    pub runs: usize,
}

/// Shrinks in at most so many runs; `None` if nothing is wrong.
#[must_use]
pub fn shrink(seed: u64, plan: Plan, runs_max: usize) -> Option<Shrunk> {
    let violation = run_plan(seed, plan.clone()).violation?;
    let mut best = Shrunk {
        plan,
        violation,
        runs: 1,
    };
    while shrink_faults(seed, &mut best, runs_max) | shrink_numbers(seed, &mut best, runs_max) {}
    Some(best)
}

/// Tries a shorter plan; whether it fails, too.
fn attempt(seed: u64, plan: Plan, best: &mut Shrunk, runs_max: usize) -> bool {
    if best.runs >= runs_max {
        return false;
    }
    best.runs += 1;
    match run_plan(seed, plan.clone()).violation {
        Some(violation) if kind(&violation) == kind(&best.violation) => {
            best.plan = plan;
            best.violation = violation;
            true
        }
        _ => false,
    }
}

/// What a checker says whatever it is about: its first words, without those that name something (they have digits). The longest
/// common beginning is "not as it should be 60 s after the last fault".
fn kind(violation: &str) -> Vec<&str> {
    const WORDS: usize = 14;
    let line = violation.lines().next().unwrap_or_default();
    let words = line.split([' ', ',', ':']);
    let plain = words.filter(|it| !it.is_empty() && !it.contains(|c: char| c.is_ascii_digit()));
    plain.take(WORDS).collect()
}

/// Leaves faults out, by halves and then one by one.
fn shrink_faults(seed: u64, best: &mut Shrunk, runs_max: usize) -> bool {
    let before = best.plan.faults.len();
    let mut size = before.div_ceil(2);
    while size > 0 {
        let mut start = 0;
        while start < best.plan.faults.len() {
            let end = (start + size).min(best.plan.faults.len());
            let less = best.plan.without(start..end);
            if !attempt(seed, less, best, runs_max) {
                start = end;
            }
        }
        size /= 2;
    }
    best.plan.faults.len() < before
}

/// Fewer clients, fewer operations.
fn shrink_numbers(seed: u64, best: &mut Shrunk, runs_max: usize) -> bool {
    let mut has_shrunk = false;
    for field in 0..2 {
        loop {
            let mut less = best.plan.clone();
            let number = if field == 0 {
                &mut less.clients
            } else {
                &mut less.operations
            };
            if *number < 2 {
                break;
            }
            *number /= 2;
            if !attempt(seed, less, best, runs_max) {
                break;
            }
            has_shrunk = true;
        }
    }
    has_shrunk
}

#[cfg(test)]
#[path = "shrink_test.rs"]
mod shrink_test;
