//! Checks of the source itself: the rules of the house that no compiler knows.
//!
//! In: the repository's files ([`Tree`]). Out: [`Finding`]s, each with a place and a remedy.
//!
//! They run as `cargo xtask tidy` and `cargo xtask arrows`, and with all other tests
//! (`tests/house.rs`), so that breaking a rule is noticed where a broken test is.
//!
//! Invariant: a check reads files and nothing else, so it gives one answer on every machine.

pub mod arrows;
mod finding;
pub mod mutants;
mod planted;
pub mod rust_source;
pub mod sabotage;
mod shape;
pub mod suites;
pub mod tasks;
pub mod tidy;
mod tree;

pub use finding::Finding;
pub use shape::Shape;
pub use tree::Tree;
