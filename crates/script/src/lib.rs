//! Lua scripts as Redis has them: a sandbox, its helpers, and bounds.
//!
//! In:  a script's text, its keys and arguments, and a [`CommandHost`] that executes the commands which the script calls.
//! Out: what the script returned, as a reply; or that its host has stopped it.
//!
//! Reading order: `engine` (one Lua), `budget` (its bounds), `raise` (errors), `shebang` (a script's first line), `prelude.lua` (the sandbox, in Lua), `values` (replies in Lua), then
//! the helpers: `strings` (over `pattern`), `json`, `msgpack`, `pack`, `bits`, `random`.
//!
//! Invariants:
//! - Nothing of a script outlasts it: no global, no change of a library, no random state.
//! - A script ends within its bounds, whatever it calls: instructions and time are counted between instructions, steps within
//!   the only library functions that may take long (patterns), and memory in all. What ends so is not caught by `pcall`.
//! - The same script with the same replies does the same: no clock, no random number but those of a fixed seed.
//! - No bytes from outside reach Lua as bytecode, which it does not check.
//!
//! Not here: which commands a script may call, and what becomes of its writes (`brick`).
//! Source: Redis 7.0's scripts, whose texts are compared with a real one (`e2e/tests/node/scripts.rs`).

mod bits;
mod budget;
mod engine;
mod json;
mod msgpack;
mod pack;
mod pattern;
mod raise;
mod random;
mod shebang;
mod strings;
mod values;

pub use budget::{Allowance, Switch};
pub use engine::{CommandHost, Engine, Script, ScriptEnd, ShaText, TEXT_BYTES_MAX, sha1_hex};
pub use shebang::Shebang;
pub use values::write_value;
