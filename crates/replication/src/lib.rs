//! The replicated partitions of one brick: prepare, vote, commit; views, cuts, learners.
//!
//! In:  what the control plane's map says ([`Replicator::adopt`]), records that this brick prepared
//! ([`Replicator::prepared`]), its own log's progress ([`Replicator::on_appended`]), peers' frames
//! ([`Replicator::on_frame`]), time and leases. Out: calls of [`Host`] (append, commit, cut), bytes for
//! each link ([`Replicator::poll_output`]), and [`Request`]s.
//!
//! ```text
//! primary   next, prepared ──► flush: Records, Turn ──►┐             ┌─► votes of all ──► Host::commit
//!                 └─► own log ─────────────────────────│─► appended ─┘        └─► Turn with commit positions ─┐
//! backup                              on_frame: Host::append ──► appended ──► flush: Vote     Host::commit ◄──┘
//! ```
//! Invariants:
//! - An op commits at the primary only while every in-sync member, the primary included, and every
//!   learner that is being promoted, holds it as durably as the table asks.
//! - Nothing at or below a commit position is ever cut, whatever a peer says.
//! - A vote covers only what was appended: a refusal goes ahead of every vote that passes it.
//! - Only the map makes a brick a member; a view that was acknowledged is never left for an older one.
//! - Bytes from a peer never panic; a link that breaks the protocol is closed by the host.
//! - A partition in which nothing happens costs nothing per turn, per vote and per tick.
//!
//! Not here: tables, keys and clients (`brick`), who decides views (`metadata`), sockets (`server`).
//! Source: PacificA (Lin et al., 2008) with the two-phase commit of Gribble et al. (OSDI 2000);
//! docs/protocol.md has the rules by the numbers that the comments here name.

mod accept;
mod claim;
mod commit;
mod config;
mod flush;
mod follow;
pub mod frame;
mod history;
mod host;
mod ids;
mod lead;
mod learner;
mod link;
mod log;
mod member;
mod merge;
mod own_log;
mod partition;
mod rebuild;
mod refuse;
mod replicator;
mod restored;
mod slots;
mod split;
mod streams;
mod teach;
mod tick;
mod view;

pub use claim::{Base, Claim, ViewStart};
pub use config::Config;
pub use frame::FrameError;
pub use history::{History, Run};
pub use host::{Entry, Host, Next, Request, Role, Status};
pub use ids::{Direction, LinkId, LogMark, Turn};
pub use merge::Half;
pub use rebuild::Rebuild;
pub use replicator::Replicator;
pub use restored::Restored;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod rules;
