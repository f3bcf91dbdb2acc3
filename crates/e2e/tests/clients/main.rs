//! Stock clients, not adapted in any way: cluster clients through a node kill, and real programs on top of all of them;
//! `clients/README.md` says what each does. Our own library for Python.

#![expect(clippy::unwrap_used, reason = "a test's failure is its message")]

mod go;
mod java;
mod kill;
mod node;
mod programs;
mod programs_page;
mod python;
mod python_map;
mod rust;
mod rust_programs;
mod tools;
