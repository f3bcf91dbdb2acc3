//! Every decoder of bytes from outside, under any bytes.
//!
//! In:  bytes. Out: nothing; a decoder that breaks its word panics, and that is what is looked for.
//!
//! ```text
//! seeds (real encodings) ─► mutate ─► target ─► panic? ─► the input, as a file
//!                            ▲ seeded               └─► put into found/, tests/found.rs runs it for ever after
//! ```
//! Each file in `targets/` is one decoder with what it promises, and real encodings to begin with. Two drivers run
//! them: the program `fuzz` of this package, which needs nothing but the stable compiler, and libFuzzer (`fuzz/` at
//! the top), which follows the coverage of the code. docs/fuzzing.md has the commands.
//!
//! Not here: what a whole node makes of hostile clients (`e2e`), wrong messages in right frames
//! (`replication/src/rules/hostile_test.rs`).

mod driver;
mod mutate;
mod targets;

pub use driver::{Failure, Report, Until, drive, replay};
pub use targets::{Target, all, named};
