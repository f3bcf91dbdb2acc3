//! Commands: from a request's arguments to what happens to a partition and what is replied.
//!
//! In:  a request ([`Args`]), and the newest state of one partition ([`Keyspace`]).
//! Out: puts and deletes in that state and a reply, or a [`Failure`] and neither.
//!
//! Reading order: `table` (every command's name, arity, flags and keys), `resolve` (request to
//! command), `keyspace` (how a command sees the data), `execute` (the list of data commands), then
//! any command's own file.
//!
//! Invariants:
//! - Replies and error texts are those of Redis 7.0, byte for byte; `tests/differential.rs` compares
//!   them with a real one. Where they differ on purpose, docs/commands.md says so.
//! - Nothing here does I/O, reads a clock or draws a random number.
//!
//! Not here: bytes on the wire (`brickyard-wire`), which partition a key is in (`routing`), and
//! carrying out what is not about single keys (`brick`).

mod append;
mod args;
mod bit;
mod bitfield;
mod bitop;
mod del;
mod describe;
mod error;
mod execute;
mod exists;
mod expire;
mod expiry;
mod extended;
mod get;
pub mod glob;
mod incr;
mod incr_float;
mod keyspace;
mod lcs;
mod mset;
mod number;
mod object;
mod rename;
pub mod request;
mod resolve;
mod set;
pub mod table;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use args::{Args, OwnedArgs};
pub use describe::{describe, help};
pub use error::{ErrorReply, Failure};
pub use execute::{execute, is_data_command};
pub use keyspace::{Entry, Keyspace, Probe, Put};
pub use number::{IntegerText, parse_integer};
pub use resolve::{check_key_lengths, keys, resolve};
pub use table::{CommandId, Spec, lookup};
