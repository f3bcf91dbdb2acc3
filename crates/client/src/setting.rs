//! What all connections to one table have in common.

use crate::{connection::Greeting, ids::Ids, kept::Kept, random::Random};
use brickyard_tls::Dialer;
use brickyard_wire::ReplyLimits;
use std::{
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::runtime::Handle;

/// Who wants to know that the cluster's map has changed.
pub(crate) trait MapWatcher: fmt::Debug + Send + Sync {
    /// The address `at` said so.
    fn on_map_changed(self: Arc<Self>, at: &str);
}

/// What all connections to one table have in common.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) greeting: Greeting,
    /// Connections to one address.
    pub(crate) channels: usize,
    pub(crate) connect_timeout: Duration,
    /// What they go by; without, they are in the clear.
    pub(crate) tls: Option<Dialer>,
    pub(crate) silence_limit: Duration,
    pub(crate) hedge_after: Duration,
    pub(crate) reply_limits: ReplyLimits,
    pub(crate) runtime: Handle,
    pub(crate) random: Random,
    /// Whose connections these are.
    pub(crate) owner: Weak<dyn MapWatcher>,
    pub(crate) ids: Ids,
    /// Hosts whose replicas answer reads before others do.
    pub(crate) near: Vec<String>,
    /// What was read of the table and may be served without asking.
    pub(crate) kept: Option<Arc<Kept>>,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Writes; everything, where reads do not go to replicas.
    Any,
    /// Reads that any replica answers: they do not wait behind a write that waits for a replica which is down.
    Reads,
    /// Those of them that others had to wait behind: a replica that does not know the outcome of a write may owe an
    /// answer for as long as a lease lasts, and replies come in order.
    SlowReads,
}

impl Setting {
    /// The uses of the connections to an address.
    pub(crate) const fn uses(&self) -> &'static [Use] {
        if self.greeting.reads_from_backups {
            &[Use::Any, Use::Reads, Use::SlowReads]
        } else {
            &[Use::Any]
        }
    }
}
