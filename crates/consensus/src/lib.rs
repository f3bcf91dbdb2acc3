//! Agreement: one order of changes, on which a majority of voters agreed, and one leader a term.
//!
//! In:  ticks, messages from other nodes, proposals, reports of what was stored. Out: [`ConsensusOutput`]s:
//! messages to send, things to store, committed entries to apply, who leads and who takes part.
//!
//! ```text
//!  tick, step, propose ──▶ Consensus ──▶ Send      at once, or when what it promises is stored
//!                            ▲   │ ────▶ Persist ──▶ disk ──▶ on_persisted
//!           on_persisted ────┘   └─────▶ Apply, Restore, Membership, Leadership
//! ```
//! This is a seam over a Raft library: nothing of the library is seen outside, neither in types nor in
//! stored or sent bytes, so that it can be replaced, and what it takes for granted is checked here.
//!
//! Invariants:
//! - The same inputs with the same seed give the same outputs. The library's own random numbers are
//!   overwritten before they count.
//! - A promise (a vote, an answer to the leader) leaves only after it was stored; a leader sends nothing
//!   in a term that is not stored.
//! - An entry is handed out once, in order, and only when it is committed and stored here. After a
//!   restart, again from the snapshot on.
//! - A leader whose own disk holds up what a majority has stored gives the lead up, and does not stand before the others again.
//! - No bytes from outside make it panic.
//!
//! Not here: the state machine (`metadata`), the log on the disk (`store`), connections and clocks
//! (`server`).
//! Source: Ongaro & Ousterhout, "In Search of an Understandable Consensus Algorithm" (2014); Ongaro's
//! thesis (2014), chapters 3, 4, 6 and 9.

mod chance;
mod collect;
mod config;
mod consensus;
mod eligible;
mod log;
mod members;
mod output;
mod own_disk;
mod pending_acks;
mod plausible;
mod refused;
mod rounds;
mod state;
mod succession;
mod view;
mod wire;

pub use config::ConsensusConfig;
pub use consensus::{Consensus, ENTRY_BYTES_MAX};
pub use members::ConfChange;
pub use output::{ConsensusOutput, Persist};
pub use refused::{Refused, Rejected};
pub use state::{EntryKind, HardState, LogEntry, RecoverError, RecoveredState, Snapshot};
pub use view::Progress;

#[cfg(test)]
mod fixture;
