//! Limits of a user in a cluster: each node's, the same on all, there after a restart, changed while clients are connected.

use brickyard_e2e::client::Client;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;

/// Logs in once the node knows the user and has room.
fn login(cluster: &Cluster, at: usize) -> Client {
    wait_for("the login", || {
        let mut client = cluster.try_client(at).ok()?;
        let reply = client.try_call(&["AUTH", "ann", "secret"]).ok()?;
        reply.is_ok().then_some(client)
    })
}

/// Gives a user limits, once the node has heard of all others that they know what those are.
fn limit(client: &mut Client, command: &str) {
    let words: Vec<&str> = command.split(' ').collect();
    wait_for("nodes that know limits", || {
        client.try_call(&words).ok()?.is_ok().then_some(())
    });
}

/// How many of so many pings at once are answered; the others say why not.
fn answered(client: &mut Client, count: usize) -> usize {
    client
        .send_raw("PING\r\n".repeat(count).as_bytes())
        .unwrap();
    let replies = (0..count).map(|_| client.receive().unwrap());
    let is_answered = |reply: &brickyard_e2e::value::Value| {
        assert!(
            reply.text() == "PONG" || reply.is_error_with("LIMIT user 'ann' may run 10 operations"),
            "{reply}"
        );
        reply.text() == "PONG"
    };
    replies.filter(is_answered).count()
}

fn each_node_holds_them(cluster: &Cluster) {
    let mut anns: Vec<Client> = (0..3).map(|at| login(cluster, at)).collect();
    for (at, ann) in anns.iter_mut().enumerate() {
        // Of 200 at once a tenth of a second's worth, and what comes while they run.
        wait_for("a limit that is reached", || {
            (answered(ann, 200) < 200).then_some(())
        });
        wait_for("a place again", || (answered(ann, 1) == 1).then_some(()));
        let _second = login(cluster, at);
        let mut third = cluster.client(at);
        let reply = third.call(&["AUTH", "ann", "secret"]);
        assert!(
            reply.is_error_with("LIMIT user 'ann' may have 2 connections"),
            "{reply}"
        );
    }
}

#[test]
fn limits_are_each_nodes_and_outlive_restarts() {
    let mut cluster = Cluster::start(&[0, 1, 2], 2, &[]);
    let rules = "ACL SETUSER ann on >secret ~* +@all limit:ops=10 limit:connections=2";
    let mut root = cluster.client(0);
    limit(&mut root, rules);
    each_node_holds_them(&cluster);
    for at in 0..3 {
        cluster.stop(at);
        cluster.launch(at);
        cluster.wait_until_formed();
    }
    each_node_holds_them(&cluster);
    for at in 0..3 {
        cluster.kill(at);
    }
    for at in 0..3 {
        cluster.launch(at);
    }
    cluster.wait_until_formed();
    each_node_holds_them(&cluster);
    let listed = cluster.client(1).line("ACL LIST").to_string();
    assert!(
        listed.contains("limit:connections=2 limit:ops=10"),
        "{listed}"
    );
}

#[test]
fn limit_that_is_changed_on_one_node_counts_for_who_is_connected_to_another() {
    let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    let mut root = cluster.client(0);
    root.must(&["ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all"]);
    let mut anns: Vec<Client> = (1..3).map(|at| login(&cluster, at)).collect();
    for ann in &mut anns {
        assert_eq!(answered(ann, 500), 500, "there is no limit");
    }
    limit(&mut root, "ACL SETUSER ann limit:ops=10");
    for ann in &mut anns {
        wait_for("the limit", || (answered(ann, 200) < 200).then_some(()));
    }
    limit(&mut root, "ACL SETUSER ann resetlimits");
    for ann in &mut anns {
        wait_for("no limit", || (answered(ann, 500) == 500).then_some(()));
    }
}
