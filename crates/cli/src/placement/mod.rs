//! What nodes hold and what has to move, as a server tells it; and waiting until it is done.
//!
//! In:  a server's address. Out: [`NodeRow`](said::NodeRow)s, [`Planned`](said::Planned) moves, a progress bar.
//!
//! Reading order: `replies` (the replies of NODE and REBALANCE), `server` (asking), `wait` (until nothing is left to
//! move), `text` (for people).

pub(crate) mod replies;
pub(crate) mod server;
pub(crate) mod text;
pub(crate) mod wait;
