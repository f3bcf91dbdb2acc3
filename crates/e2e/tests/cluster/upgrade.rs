//! Nodes of two versions of the program side by side: one after the other is upgraded, while clients go on.
//!
//! The earlier program is the one that `BRICKYARD_PREVIOUS` names; without it there is nothing to upgrade from.

use brickyard_e2e::binary::previous;
use brickyard_e2e::client::Client;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::skip::announce;
use brickyard_e2e::trial::{Keys, Setup, try_failure};
use brickyard_e2e::value::Value;
use std::path::Path;

/// What came with the second level of knowledge (decision 0066).
const LIMIT: [&str; 4] = ["ACL", "SETUSER", "ann", "limit:ops=10"];

fn program_before() -> Option<&'static Path> {
    let previous = previous();
    if previous.is_none() {
        announce(
            "an upgrade from an earlier version",
            "BRICKYARD_PREVIOUS does not name its program",
        );
    }
    previous
}

fn upgrade(cluster: &mut Cluster, at: usize) {
    cluster.stop(at);
    cluster.upgrade(at);
    cluster.launch(at);
    cluster.wait_until_formed();
}

/// The figures are printed (`--nocapture`); those of docs/operations.md are of such runs.
#[test]
fn rolling_upgrade_loses_nothing() {
    let Some(program) = program_before() else {
        return;
    };
    let setup = Setup {
        replicas: 3,
        program: Some(program),
        ..Setup::new("rolling upgrade")
    };
    try_failure(setup, Keys::Any, |cluster, _, _| {
        for at in 0..3 {
            upgrade(cluster, at);
            cluster.wait_until_whole("t", 3);
        }
    })
    .map(|report| report.checked());
}

/// An entry of the agreed log that a program does not know ends its node; and a hash in its log would be damage.
#[test]
fn upgraded_node_asks_for_nothing_that_others_do_not_know() {
    let Some(program) = program_before() else {
        return;
    };
    let mut cluster = Cluster::start_from(program, &[0, 1, 2], 1, &[]);
    let mut root = cluster.client(1);
    root.must(&["ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all"]);
    upgrade(&mut cluster, 0);
    let mut root = cluster.client(0);
    let early = wait_for("word of what the others are", || {
        let reply = root.try_call(&LIMIT).ok()?;
        (!reply.text().contains("has not connected")).then_some(reply)
    });
    assert!(
        early.is_ok() || early.text().contains("runs an earlier version"),
        "{early}"
    );
    // A record that a program does not know would be damage to it.
    let mut client = cluster.client(0);
    let write = |client: &mut Client, at: usize| {
        client.try_call(&["HSET", &format!("h{at}"), "f", "v"]).ok()
    };
    let replies: Vec<Value> = (0..30).filter_map(|at| write(&mut client, at)).collect();
    let refused = replies.iter().filter(|it| it.is_error());
    let by_us = refused
        .clone()
        .filter(|it| it.to_string().contains("nothing was written"));
    // All of them, if the earlier program knows no hashes.
    let (by_us, refused) = (by_us.count(), refused.count());
    assert!(
        refused == 0 || refused == 30 && by_us > 0,
        "{by_us} and {refused} of 30: {replies:?}"
    );
    for at in 1..3 {
        upgrade(&mut cluster, at);
    }
    let mut client = cluster.client(0);
    for at in 0..30 {
        wait_for("hashes everywhere", || {
            let reply = write(&mut client, at)?;
            reply.as_integer().is_some().then_some(())
        });
    }
    wait_for("all to know limits", || {
        root.try_call(&LIMIT).ok()?.is_ok().then_some(())
    });
    for at in 0..3 {
        wait_for("the limit on every node", || {
            let listed = cluster
                .try_client(at)
                .ok()?
                .try_call(&["ACL", "LIST"])
                .ok()?;
            listed.to_string().contains("limit:ops=10").then_some(())
        });
    }
}
