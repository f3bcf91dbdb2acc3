//! Between nodes: who is at the other end, and which connection leads to whom.
//!
//! In:  the first frames of connections, what becomes of those that this node makes. Out: hellos and answers, whom to
//! connect to and when, on which connection something goes.
//!
//! ```text
//!  dials  ── Hello ──▶   admit      every message of the control plane: Raft, leases, changes, forming
//!         ◀─ Answer ──              (welcome, or why not)
//!         ◀─ frames ─▶              or, for a stream of bricks: whatever bricks say to one another
//! ```
//! Invariants:
//! - Nothing is taken from a connection before both ends have said who they are, of which cluster, and in
//!   which life.
//! - What comes from outside is bounded and checked; nothing of it makes the process panic.
//!
//! Not here: bytes on sockets, and how long anything takes (`server`, `sim`); what the messages mean (`member`, `bootstrap`);
//! what is on a brick's stream (`brick`).

mod admit;
mod contacts;
mod frame;
mod hello;
mod redial;

pub use admit::{Consequence, admit, consequence, refusal_of};
pub use contacts::{Contacts, Wires};
pub use frame::{
    FrameHeader, HEADER_BYTES, HELLO_BYTES_MAX, MESSAGE_BYTES_MAX, PeerFrameError, frame,
    take_frame,
};
pub use hello::{
    Answer, ConnectionKind, HandshakeRefused, Hello, Introduction, Unreadable, Welcome,
};
pub use redial::{ANSWER, CONNECT, Greeted, Redial, STRANGERS_MAX, WRITE, on_answer, on_hello};
