//! The protocol's rules as clients of whole bricks see them: one schedule each, which goes wrong without the
//! rule. docs/protocol.md has the table.

mod answers;
mod leases;
mod log;
mod transactions;
mod two_tables;
mod views;

use crate::cluster_harness::tables::{on_disk, replicated};
use crate::cluster_harness::{Client, Cluster};
use std::time::Duration;

/// The key's primary, its first backup, and the node that is neither.
fn places(cluster: &Cluster, key: &str) -> (usize, usize, usize) {
    let (primary, backup) = cluster.places_of(key);
    let backup = backup.unwrap();
    (primary, backup, 3 - primary - backup)
}

/// Sends a command and turns until the client has a reply, without any time passing.
fn ask(cluster: &mut Cluster, client: Client, command: &str) -> String {
    cluster.send(client, command);
    reply(cluster, client)
}

/// Turns until the client has a reply, without any time passing.
fn reply(cluster: &mut Cluster, client: Client) -> String {
    let mut reply = String::new();
    cluster.turn_until(|cluster| {
        reply = cluster.receive(client);
        !reply.is_empty()
    });
    reply
}

/// Lets so many ticks of 100 ms pass.
fn wait(cluster: &mut Cluster, ticks: usize) {
    for _ in 0..ticks {
        cluster.turn();
        cluster.tick(Duration::from_millis(100));
    }
    cluster.turn();
}

/// What the client has been told after some turns in which no time passes.
fn told_meanwhile(cluster: &mut Cluster, client: Client) -> String {
    for _ in 0..20 {
        cluster.turn();
    }
    cluster.receive(client)
}
