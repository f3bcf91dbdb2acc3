//! An address of the cluster and the connections to it.
//!
//! In:  calls. Out: each on one of the connections, or back with the reason why not.
//!
//! Invariant: calls on one slot take one connection, so those that are made one after the other arrive so
//! (unless one of them has to be sent again). Where reads go to any replica that holds for the writes alone: reads have
//! connections of their own, lest they wait behind a write that waits for a replica which is down ([`Use`]).

use crate::{
    call::Call,
    channel::Channel,
    peer::{Kind, Peer},
    retry::AttemptFailure,
    setting::{Setting, Use},
};
use std::{sync::Arc, time::Instant};

/// An address with its connections, which are opened when they are needed.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) peer: Arc<Peer>,
    /// As many for each use, in the order of the uses.
    channels: Vec<Channel>,
    setting: Arc<Setting>,
}

impl Endpoint {
    pub(crate) fn new(address: &str, kind: Kind, setting: &Arc<Setting>) -> Arc<Self> {
        let peer = Arc::new(Peer::new(address, kind, &setting.near));
        let of_a_use = setting.channels.max(1);
        let uses = setting.uses().iter();
        let channels = uses
            .flat_map(|purpose| std::iter::repeat_n(*purpose, of_a_use))
            .map(|purpose| Channel::new(Arc::clone(&peer), Arc::clone(setting), purpose))
            .collect();
        let setting = Arc::clone(setting);
        Arc::new(Self {
            peer,
            channels,
            setting,
        })
    }

    /// Hands a call to one of the connections; `spread` decides which.
    ///
    /// # Errors
    /// The call and why it could not be taken.
    pub(crate) fn push(
        &self,
        mut call: Box<Call>,
        spread: usize,
        now: Instant,
    ) -> Result<(), (Box<Call>, AttemptFailure)> {
        let uses = self.setting.uses();
        let wanted = match (call.is_read(), call.holds_up) {
            (false, _) => Use::Any,
            (true, false) => Use::Reads,
            (true, true) => Use::SlowReads,
        };
        let at = uses.iter().position(|it| *it == wanted).unwrap_or(0);
        let of_a_use = self.channels.len() / uses.len();
        let Some(channel) = self.channels.get(at * of_a_use + spread % of_a_use) else {
            return Err((call, AttemptFailure::NotSent("no connection".to_owned())));
        };
        call.on_handed_to(&self.peer, uses.get(at).copied(), now);
        channel.push(call, now)
    }
}
