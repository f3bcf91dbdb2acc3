//! Stock cluster clients, not adapted in any way, through a node kill: `clients/README.md` says what each does; our own library for Python.

#![expect(clippy::unwrap_used, reason = "a test's failure is its message")]

mod go;
mod java;
mod kill;
mod node;
mod python;
mod python_map;
mod rust;
mod tools;
