//! Deliberate bugs, by which the judges are judged: the switch, and hunts.
//!
//! In:  random schedules of a crate's tests, each of which panics when its judge objects. Out: a panic that names the
//! bugs that a judge is known to find and did not ([`Judge::must_find`]).
//!
//! Invariants:
//! - No product crate depends on this one. The bugs are texts in `bugs/`; `cargo xtask sabotage` puts them into a copy
//!   of the workspace, together with the questions ([`is_on`]) and the list of what is there ([`PLANTED`]).
//! - One bug at a time, and in one thread: a schedule of state machines runs in one.
//!
//! Not here: the table and the copy (xtask/src/sabotage.rs), who finds what and how soon (docs/sabotage.md).

mod hunt;
mod judge;
mod planted;
mod switch;

pub use judge::Judge;
pub use planted::{PLANTED, Planted};
pub use switch::{is_on, with};
