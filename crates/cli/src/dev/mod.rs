//! A trial cluster: several nodes on this machine, each a process, under one that looks after them.
//!
//! In:  how many nodes, where; later: kill, stop, start. Out: running nodes, and word of those that end.
//!
//! Reading order: `place` (its directory, and how it is found), `ports`, `node` (one process), `cluster`
//! (all of them, from the first start to the last stop), `remote` (what another `brickyard dev` asks of it).
//!
//! Invariants:
//! - One process looks after a directory; the nodes end when it ends, also if it is killed.
//! - A node that was started is a plain `brickyard server`: nothing here is in the way of a request.
//!
//! Not here: a trial node alone (`cmd::dev`), which is this very process.

pub(crate) mod cluster;
pub(crate) mod node;
pub(crate) mod place;
pub(crate) mod ports;
pub(crate) mod remote;
