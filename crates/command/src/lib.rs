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
//! - Replies and error texts are those of Redis 7.0, byte for byte; `tests/differential` compares
//!   them with a real one.
//! - Nothing here does I/O, reads a clock or draws a random number.
//!
//! Not here: bytes on the wire (`brickyard-wire`), which partition a key is in (`routing`), and
//! carrying out what is not about single keys (`brick`).
//!
//! # Where replies differ from those of Redis 7.0
//! On purpose:
//! - `SET key value IFEQ old` and `DELIFEQ key value` are known, as in Valkey, and `TABLE`.
//! - `MOVE`, and `COPY .. DB n` to another table, are refused between `MULTI` and `EXEC` and in scripts: there one table is at hand.
//! - A SETBIT or BITFIELD that changes no bit writes nothing. Redis writes nothing to its log
//!   either, but `OBJECT ENCODING` says `raw` there from then on.
//! - BITFIELD refuses to make a value longer than the bound; Redis lets it grow 8 bytes past it.
//! - A key that SET gives an expiry in the past is gone at once; Redis counts it in DBSIZE until it
//!   is touched.
//! - `COMMAND DOCS` and the HELP of containers are in words of our own; `COMMAND DOCS` has no
//!   history.
//! - An option is compared as a whole; in Redis it ends at a zero byte.
//!
//! Because a value here has no form but its bytes and its type:
//! - `OBJECT ENCODING` of an integer that INCRBYFLOAT wrote is `int`; in Redis `embstr`.
//! - `OBJECT REFCOUNT` of a copy of a small integer is that of shared integers; in Redis 1.
//! - `OBJECT IDLETIME` and `MEMORY USAGE` give our own figures.
//! - `OBJECT ENCODING` of a hash follows from what it holds now; in Redis one that was large stays a `hashtable`.
//! - `HLEN` does not count fields whose time is over; Redis does until they are touched.
//!
//! Because an error is text: bytes of a quoted argument that are no UTF-8 are shown as U+FFFD.

mod acl;
mod append;
mod args;
mod bit;
mod bitfield;
mod bitop;
mod del;
mod describe;
mod dump;
mod error;
mod execute;
mod exists;
mod expire;
mod expiry;
mod extended;
mod get;
pub mod glob;
pub mod hash;
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

pub use acl::{CATEGORIES, CommandSet, KeyUse, UnknownCommand, command_of, keys_used, of_category};
pub use args::{Args, OwnedArgs};
pub use brickyard_rdb::{LibrariesError, dump_libraries, restore_libraries};
pub use describe::{describe, help};
pub use dump::payload_of;
pub use error::{ErrorReply, Failure};
pub use execute::{execute, is_data_command};
pub use keyspace::{KeyValue, Keyspace, NewValue, Probe};
pub use number::{IntegerText, parse_integer};
pub use rename::database_named;
pub use resolve::{check_key_lengths, keys, resolve};
pub use table::{CommandId, Spec, lookup};
