//! What a script may take, and what is left of it.
//!
//! In:  an allowance; instructions and steps that were taken. Out: whether the script has to end.
//!
//! Invariant: whatever a script does, it is asked here again within some hundred instructions, and within every function of a library that may take
//! long. An instruction takes no longer than one copy of all memory that a script may have.

use crate::json::JsonSettings;
use crate::random::Random;
use mlua::VmState;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a script may take.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Instructions of Lua, and steps of matching a pattern.
    pub instructions_max: u64,
    /// For how long it may run; `None`: instructions alone count, so that it ends at the same place each time.
    pub time_max: Option<Duration>,
    /// Bytes of Lua's memory, of all scripts that are compiled together with the one that runs.
    pub memory_max: usize,
}

impl Default for Allowance {
    fn default() -> Self {
        Self {
            instructions_max: 50_000_000,
            time_max: Some(Duration::from_millis(200)),
            memory_max: MEMORY_MAX,
        }
    }
}

/// What a text of a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum ScriptKind {
    /// A script.
    Script = 1,
    /// A library of functions, or one of its functions.
    Function = 2,
}

/// Nothing runs.
const NOTHING: u8 = 0;

/// Ends a script or function that runs on another thread.
#[derive(Debug, Default)]
pub struct Switch {
    running: AtomicU8,
    is_killed: AtomicBool,
}

impl Switch {
    /// Ends what runs, if it is that; whether it is.
    pub fn kill(&self, what: ScriptKind) -> bool {
        let is_running = self.running.load(Ordering::Relaxed) == what as u8;
        if is_running {
            self.is_killed.store(true, Ordering::Relaxed);
        }
        is_running
    }

    pub(crate) fn begin(&self, what: ScriptKind) {
        self.is_killed.store(false, Ordering::Relaxed);
        self.running.store(what as u8, Ordering::Relaxed);
    }

    /// It is over; whether it was killed.
    pub(crate) fn end(&self) -> bool {
        self.running.store(NOTHING, Ordering::Relaxed);
        self.is_killed.load(Ordering::Relaxed)
    }
}

/// How often it is looked whether a script has to end. Between two looks it may copy a string of the most memory that often.
pub(crate) const INSTRUCTIONS_A_LOOK: u32 = 100;

/// The same for steps of a pattern: some ten microseconds.
const STEPS_A_LOOK: u64 = 2_000;

/// Bytes of Lua's memory. Half of it for two copies of a value; more would make an instruction long that copies it.
const MEMORY_MAX: usize = 32 << 20;

/// Most bytes that are made at a time of a script's values outside of Lua's memory. A few bytes of a script can ask for very many.
const MADE_BYTES_MAX: usize = 64 << 20;

/// Bytes that count for a step.
const BYTES_A_STEP: usize = 64;

pub(crate) const NOT_ENOUGH_MEMORY: &str = "not enough memory";

/// Counts what a function in Rust makes or reads, piece by piece.
pub(crate) struct Meter<'b> {
    budget: &'b Budget,
    steps: Cell<u64>,
    bytes: Cell<usize>,
}

impl<'b> Meter<'b> {
    pub(crate) const fn new(budget: &'b Budget) -> Self {
        Self {
            budget,
            steps: Cell::new(0),
            bytes: Cell::new(0),
        }
    }

    /// A piece of so many bytes.
    pub(crate) fn take(&self, bytes: usize) -> mlua::Result<()> {
        let made = self.bytes.get().saturating_add(bytes);
        if made > MADE_BYTES_MAX {
            return Err(mlua::Error::runtime(NOT_ENOUGH_MEMORY));
        }
        self.bytes.set(made);
        self.spend(bytes)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.budget.has_ended.load(Ordering::Relaxed)
    }

    pub(crate) fn end(&self) -> mlua::Error {
        self.budget.end()
    }

    /// Work on so many bytes, of which nothing is made.
    pub(crate) fn spend(&self, bytes: usize) -> mlua::Result<()> {
        let wanted = 1 + (bytes / BYTES_A_STEP) as u64;
        while self.steps.get() < wanted {
            match self.budget.more_steps() {
                0 => return Err(self.budget.end()),
                more => self.steps.set(self.steps.get() + more),
            }
        }
        self.steps.set(self.steps.get() - wanted);
        Ok(())
    }
}

/// What the present script may still take.
#[derive(Debug)]
pub(crate) struct Budget {
    begun: Instant,
    instructions: AtomicU64,
    /// Microseconds since `begun` at which this was granted.
    allowed_at: AtomicU64,
    /// At which it has to end.
    until: AtomicU64,
    pub(crate) has_ended: AtomicBool,
    /// The host executes a command. Still so when the script is over, it has panicked.
    pub(crate) is_in_host: AtomicBool,
    /// The script wants replies in RESP3.
    pub(crate) is_resp3: AtomicBool,
    pub(crate) json: JsonSettings,
    pub(crate) random: Random,
    pub(crate) switch: Arc<Switch>,
}

impl Budget {
    pub(crate) fn new(allowance: &Allowance, switch: Arc<Switch>) -> Self {
        let budget = Self {
            begun: Instant::now(),
            instructions: AtomicU64::new(0),
            allowed_at: AtomicU64::new(0),
            until: AtomicU64::new(u64::MAX),
            has_ended: AtomicBool::new(false),
            is_in_host: AtomicBool::new(false),
            is_resp3: AtomicBool::new(false),
            json: JsonSettings::default(),
            random: Random::new(),
            switch,
        };
        budget.renew(allowance);
        budget
    }

    /// Steps for a pattern, which are taken from the instructions; none: the script has to end.
    pub(crate) fn more_steps(&self) -> u64 {
        match self.spend(STEPS_A_LOOK) {
            true => STEPS_A_LOOK,
            false => 0,
        }
    }

    /// The script has to end.
    pub(crate) fn end(&self) -> mlua::Error {
        self.has_ended.store(true, Ordering::Relaxed);
        mlua::Error::runtime("the script has to end")
    }

    /// A look between two instructions.
    pub(crate) fn look(&self) -> mlua::Result<VmState> {
        match self.spend(u64::from(INSTRUCTIONS_A_LOOK)) {
            true => Ok(VmState::Continue),
            false => Err(self.end()),
        }
    }

    /// Takes instructions; whether the script may go on.
    fn spend(&self, count: u64) -> bool {
        let left = self.instructions.load(Ordering::Relaxed);
        let left = left.saturating_sub(count);
        self.instructions.store(left, Ordering::Relaxed);
        let until = self.until.load(Ordering::Relaxed);
        let is_late = until != u64::MAX && self.begun.elapsed().as_micros() as u64 > until;
        left > 0 && !is_late && !self.switch.is_killed.load(Ordering::Relaxed)
    }

    /// A new allowance, from now on.
    pub(crate) fn renew(&self, allowance: &Allowance) {
        let now = self.begun.elapsed().as_micros() as u64;
        let until = allowance
            .time_max
            .map_or(u64::MAX, |it| now + it.as_micros() as u64);
        self.allowed_at.store(now, Ordering::Relaxed);
        self.until.store(until, Ordering::Relaxed);
        self.instructions
            .store(allowance.instructions_max, Ordering::Relaxed);
    }

    /// How long it is since the allowance; nothing where time is not measured.
    pub(crate) fn spent(&self) -> Duration {
        let begun = self.allowed_at.load(Ordering::Relaxed);
        match self.until.load(Ordering::Relaxed) {
            u64::MAX => Duration::ZERO,
            _ => self
                .begun
                .elapsed()
                .saturating_sub(Duration::from_micros(begun)),
        }
    }

    /// Another script begins.
    pub(crate) fn begin_script(&self) {
        self.has_ended.store(false, Ordering::Relaxed);
        self.is_resp3.store(false, Ordering::Relaxed);
        self.json.reset();
        self.random.seed(0);
    }
}
