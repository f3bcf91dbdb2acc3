//! Lua scripts as Redis has them: a sandbox, its helpers, and bounds.
//!
//! In:  the text of a script, or of a library with the name of a function; keys and arguments; and a [`CommandHost`] that executes the commands
//!      which it calls. Out: what it returned, as a reply; or that its host has stopped it. Of a library that is loaded, what it has registered.
//!
//! Reading order: `engine` (one Lua), `budget` (its bounds), `raise` (errors), `shebang` (a script's first line), `library` (that of a library), `prelude.lua` (the sandbox, in Lua), `values` (replies in Lua), then
//! the helpers: `strings` (over `pattern`), `json`, `msgpack`, `pack`, `bits`, `random`.
//!
//! Invariants:
//! - Nothing of a script outlasts it: no global, no change of a library, no random state. A library of functions begins anew with each call.
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
mod library;
mod msgpack;
mod pack;
mod pattern;
mod raise;
mod random;
mod shebang;
mod strings;
mod values;

pub use budget::{Allowance, ScriptKind, Switch};
pub use engine::{CommandHost, Engine, Script, ScriptEnd, ShaText, TEXT_BYTES_MAX, sha1_hex};
pub use library::{FUNCTION_FLAGS, RegisteredFunction, library_name};
pub use shebang::Shebang;
pub use values::write_value;
