//! What the example services share: where their cluster and their table are, how a change is settled, how failures are told.
//!
//! In:  a command line, the client library's errors. Out: a [`Table`](brickyard_client::Table) to work on, and answers that say what became of a request.
//!
//! Reading order: `cluster` (which table), `swap` (how a value is changed by many at once), `failure` (what people are told),
//! `serve` (ports and Ctrl-C), `token` (names that nobody can guess).
//!
//! Invariant: an answer never says "done" of what may not be, nor "not done" of what may be.
//!
//! Not here: what a service is for. Each has its own keys, in its own `store.rs`.

mod cluster;
mod failure;
mod serve;
mod swap;
mod token;

pub use cluster::ClusterArguments;
pub use failure::{Failure, unknown};
pub use serve::{is_stopped, serve};
pub use swap::swap;
pub use token::token;
