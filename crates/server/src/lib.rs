//! A node: the only room that meets the operating system.
//!
//! In:  configuration, sockets, files, signals. Out: replies, a durable log, health and metrics.
//!
//! ```text
//!                 ┌─ brick 0's loop ─┐  append, sync, read threads
//! node port ──────┤  (driver)        ├──── disk ──▶ log
//! brick ports ────┤ brick 1's loop   │
//!                 └────── mesh ──────┘
//! signals, passwords ── control thread ── cluster ──── control log
//! port for nodes ─────────────────────────────┘        (a thread of its own)
//! HTTP ──── its thread
//! ```
//! Every arrow between threads is a bounded queue; a loop waits for nothing but its poll.
//!
//! Not here: what requests mean (`brick` and below), the file formats (`store`).

mod addresses;
mod clock;
mod cluster;
pub mod config;
mod console;
mod control;
#[doc(hidden)]
pub mod decoders;
mod descriptors;
mod disk;
mod driver;
mod fatal;
mod handout;
pub mod huge_pages;
mod listener;
pub mod log;
mod mesh;
mod node;
mod peer;
mod queue;
mod random;
mod reload;
mod ring;
mod sockets;
mod threads;
mod tls;
mod wake;

pub use addresses::ListenAddresses;
pub use cluster::ClusterError;
pub use control::{Signals, Stopper, TokensError};
pub use fatal::EXIT_DISK;
pub use node::{AddressUse, RunningNode, StartError};
