//! Deliberate bugs, by which the checkers are checked: the switch, and hunts.
//!
//! In:  random schedules of a crate's tests, each of which panics when its checker objects. Out: a panic that names the
//! bugs that a checker is known to find and did not ([`Checker::must_find`]).
//!
//! Invariants:
//! - No product crate depends on this one. The bugs are texts in `bugs/`; `cargo xtask sabotage` puts them into a copy
//!   of the workspace, together with the questions ([`is_on`]) and the list of what is there ([`PLANTED`]).
//! - One bug at a time, and in one thread: a schedule of state machines runs in one.
//!
//! Not here: the table and the copy (xtask/src/sabotage.rs), who finds what and how soon (docs/sabotage.md).

mod checker;
mod hunt;
mod planted;
mod switch;

pub use checker::Checker;
pub use planted::{PLANTED, Planted};
pub use switch::{is_on, with};
