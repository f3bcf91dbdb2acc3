//! Committed changes that a table keeps (`HISTORY`), and who follows them (`WATCHKEYS`).
//!
//! In:  operations as they commit; positions of clients. Out: the changes behind a position, in order, or that they are not kept any more.
//!
//! ```text
//!  a client's brick                                       the primaries
//!    WATCHKEYS .. FROM position ── a share of it ───────►  changes behind it, and how far they go
//!    ◄──────────────────────────── nothing ─────────────   the client is noted as one that waits
//!    the client waits
//!    ◄──────────────────────────── changed ─────────────   an operation commits: the note is gone
//!    another round ─────────────────────────────────────►
//! ```
//! A lost message costs time alone: whoever waits begins another round by itself now and then, and whenever the map changes or a
//! stream breaks. What is missed by one round is behind the position with which the next one begins.
//!
//! Invariants (rule `a change is told once, in order, or compacted`):
//! - What is told has committed, and every replica that may come to lead has it.
//! - A ring has all changes of the ops that it says it covers: where an op is missing it begins anew.
//! - A position names a record and not only a number: one of another history is answered `COMPACTED`.
//!
//! The files: `ring` what one partition keeps, `position` how far somebody has followed, `keep` what is noted as operations commit, `followed` where that was, `follow`
//! reading from a position on, `waiters` who waits at this brick for others' clients, `feeds` the clients of this brick that follow.

mod feeds;
mod follow;
mod followed;
mod keep;
mod position;
mod ring;
mod waiters;

pub(crate) use feeds::{Feed, FeedState, Feeds, Piece, RoundEnd, Share, join};
pub(crate) use follow::{Budget, Source, Told, follow};
pub(crate) use followed::Followed;
pub(crate) use keep::Outcome;
pub(crate) use position::{Place, Position, PositionError};
pub(crate) use ring::ChangeRing;
pub(crate) use waiters::{Pattern, Waiter};
