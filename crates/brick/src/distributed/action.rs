//! What coordination leaves to the brick.
//!
//! In:  requests and replies. Out: the same, in order.

use crate::output::CommitDependency;
use crate::request::{Origin, Request};
use brickyard_types::Instant;

/// See the module.
#[derive(Debug)]
pub(crate) enum Action {
    /// A part begins.
    Begin(Box<Request>),
    /// A reply, or the answer to a part of this brick's own, is for whoever waits for it, once it has committed.
    Reply {
        origin: Origin,
        bytes: Vec<u8>,
        dependency: CommitDependency,
        /// When it is given up, if it has a time of its own.
        deadline: Option<Instant>,
    },
    /// There is no room for a reply of so many bytes; nothing has happened.
    GiveBack(Box<Request>, usize),
    /// It belongs elsewhere by now, or waits; nothing has happened.
    Redispatch(Box<Request>),
}
