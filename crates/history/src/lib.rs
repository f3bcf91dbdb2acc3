//! Checks what clients saw: could one table, one operation at a time, have answered so?
//!
//! In:  [`Operation`]s: what was asked, when, by whom, and what was answered. Out: [`CheckedHistory`], or the first
//! [`Violation`], told so that a person can follow it.
//!
//! A history is *linearizable* (Herlihy and Wing, 1990) if each operation can be given one instant between its
//! call and its reply so that, in the order of these instants, a plain map would have given the same answers. Keys are
//! independent, so each is checked by itself. An operation of unknown outcome may take effect at any
//! time after its call, or never; one that was refused never does. What one client sends about a key without waiting takes
//! effect in the order in which it was sent.
//!
//! The states that a key may be in are followed through its history, an event at a time (Wing and Gong, 1993;
//! just in time, as Lowe, 2017): few clients use a key at once, so there are few.
//!
//! Reading order: `operation`, `model` (what a map answers), `check`, `ways`.
//!
//! Invariant: what [`check`] accepts has a linearization, and what it rejects has none.
//!
//! Not here: clocks, clients, and what becomes of keys that expire.

mod check;
mod model;
mod operation;
mod violation;
mod ways;

pub use check::{CheckedHistory, check};
pub use operation::{Action, Bytes, NOBODY, Nanos, Operation, Outcome};
pub use violation::Violation;
