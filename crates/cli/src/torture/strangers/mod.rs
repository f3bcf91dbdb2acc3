//! People who are not let in, at every port of a cluster that serves others meanwhile.
//!
//! In:  a [`Plan`](plan::Plan): how long, how many. Out: what each port answered to whom, what it cost, and whether anything was
//! changed.
//!
//! Reading order: `kind` (who comes), `expected` (what they are to be answered), `arsenal` (what they say), `meeting` (one of them at a port), `crowd` (thousands at once),
//! `cluster` and `secrets` (whom they come to), `state`, `served` and `watch` (what must stay as it is), `campaign`, `page`.
//!
//! Invariant: a stranger has what a stranger can have: nothing, what was overheard, and at most a client's certificate without a password.
//!
//! Not here: failures of nodes, disks and networks (the rest of `torture`).

mod answer;
mod arsenal;
pub(crate) mod campaign;
mod cluster;
mod crowd;
mod expected;
mod kind;
mod meeting;
mod page;
pub(crate) mod plan;
mod port;
mod secrets;
mod served;
mod state;
mod tap;
mod watch;
