//! The replicated partitions of one brick: prepare, vote, commit; views, cuts, learners.
//!
//! In:  what the control plane's map says ([`Replicator::adopt`]), records that this brick prepared
//! ([`Replicator::on_prepared`]), its own log's progress ([`Replicator::on_appended`]), peers' frames
//! ([`Replicator::on_frame`]), time and leases. Out: one [`Ready`] after each call ([`Replicator::take_ready`]): records
//! to be appended, committed, cut and sent, and [`Want`]s, in order. Nothing calls back.
//!
//! ```text
//!            on_prepared  on_appended  on_frame  adopt  tick  flush
//!                 └────────────┴─────────┬─┴───────┴─────┴─────┘
//! primary   on_prepared ──► flush: Records, Turn ──►┐      ┌─► votes of all ──► Commit
//!               └─► own log ────────────────────────│─► appended ─┘    └─► Turn with commit positions ─┐
//! backup                            on_frame: Append ──► appended ──► flush: Vote        Commit ◄──────┘
//!                                        │
//!                                      Ready ──► the owner: log, tables, `Outbox` ──► peers
//! ```
//! Invariants:
//! - An op commits at the primary only while every in-sync member, the primary included, and every
//!   learner that is being promoted, holds it as durably as the table asks.
//! - Nothing at or below a commit position is ever cut, whatever a peer says.
//! - A vote covers only what was appended: a refusal goes ahead of every vote that passes it.
//! - Only the map makes a brick a member; a view that was acknowledged is never left for an older one.
//! - Bytes from a peer never panic; a link that breaks the protocol is closed by the owner.
//! - A partition in which nothing happens costs nothing per turn, per vote and per tick.
//!
//! Not here: tables, keys and clients (`brick`), who decides views (`metadata`), sockets (`server`).
//! Source: PacificA (Lin et al., 2008) with the two-phase commit of Gribble et al. (OSDI 2000); the way out is
//! etcd raft's `Ready`. docs/protocol.md has the rules by the numbers that the comments here name.

mod accept;
mod commit;
mod config;
mod fitness;
mod flush;
mod follow;
pub mod frame;
mod hand_over;
mod history;
mod ids;
mod input;
mod lag;
mod lead;
mod learner;
mod link;
mod links;
mod log;
mod member;
mod merge;
mod outbox;
mod own_log;
mod pace;
mod partition;
mod ready;
mod rebuild;
mod replicator;
mod restored;
mod slots;
mod split;
mod state_transfer;
mod status;
mod summary;
mod suspicion;
mod tick;
mod view;
mod work;

pub use config::ReplicatorConfig;
pub use frame::FrameError;
pub use history::{History, Run};
pub use ids::{Direction, LinkId, LogMark, Sequence};
pub use lag::MemberLag;
pub use merge::Half;
pub use outbox::Outbox;
pub use ready::{Action, Ready, Received, Want};
pub use rebuild::Rebuild;
pub use replicator::Replicator;
pub use restored::{Restored, SuffixEntry};
pub use status::{Next, PreparedRecord, Role, Status, Submitted};
pub use summary::{Baseline, ReplicaSummary, ViewStart};
pub use view::Demand;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod rules;
