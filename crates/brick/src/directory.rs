//! Where the clients of a node are: a client's number, to its brick and connection.
//!
//! In:  connections that come and go. Out: where to find one of which another connection knows but the number (`CLIENT TRACKING .. REDIRECT`).
//!
//! Invariant: a client is in it exactly as long as its brick has its connection.

use crate::accepted::ConnectionId;
use brickyard_types::BrickId;
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

/// See the module.
#[derive(Debug, Default)]
pub struct NodeClients(RwLock<BTreeMap<u64, (BrickId, ConnectionId)>>);

impl NodeClients {
    /// A client is here.
    pub(crate) fn add(&self, client: u64, brick: BrickId, connection: ConnectionId) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = all.insert(client, (brick, connection));
        assert!(before.is_none(), "two clients are number {client}");
    }

    /// It is not any more.
    pub(crate) fn remove(&self, client: u64) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let was_there = all.remove(&client).is_some();
        assert!(was_there, "client {client} was not there");
    }

    /// Where it is.
    pub(crate) fn find(&self, client: u64) -> Option<(BrickId, ConnectionId)> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&client).copied()
    }
}

#[cfg(test)]
mod directory_test {
    use super::*;

    #[test]
    fn a_client_is_found_as_long_as_it_is_there() {
        let clients = NodeClients::default();
        clients.add(7, BrickId(1), ConnectionId(3));
        assert_eq!(clients.find(7), Some((BrickId(1), ConnectionId(3))));
        clients.remove(7);
        assert_eq!(clients.find(7), None);
    }
}
