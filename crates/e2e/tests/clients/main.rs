//! Stock cluster clients, not adapted in any way, through a node kill: `clients/README.md` says what each does.

#![expect(clippy::unwrap_used, reason = "a test's failure is its message")]

mod go;
mod java;
mod kill;
mod node;
mod python;
mod rust;
mod tools;
