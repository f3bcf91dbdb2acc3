//! Users that the cluster keeps: made on one node, the same on all, also after they have restarted.

use brickyard_e2e::client::Client;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;

/// Logs in once the node knows the user.
fn login(cluster: &Cluster, at: usize, user: &str, password: &str) -> Client {
    wait_for("the user to be known", || {
        let mut client = cluster.try_client(at).ok()?;
        let reply = client.try_call(&["AUTH", user, password]).ok()?;
        reply.is_ok().then_some(client)
    })
}

/// Waits until a node answers so.
fn wait_for_reply(client: &mut Client, request: &[&str], expected: &str) {
    wait_for(expected, || {
        let reply = client.try_call(request).ok()?;
        reply.is_error_with(expected).then_some(())
    });
}

#[test]
fn user_made_on_one_node_holds_on_all_and_after_a_restart() {
    let mut cluster = Cluster::start(&[0, 1, 2], 2, &[]);
    cluster.create_table("t", &["REPLICAS", "3", "PARTITIONS", "16"]);
    cluster.create_table("closed", &["REPLICAS", "3", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 3);
    let mut root = cluster.client(0);
    let rules = "ACL SETUSER ann on >secret ~a:* +@read +@write +@connection +table +acl|whoami -getdel resettables table:t=read,write";
    root.must(&rules.split(' ').collect::<Vec<_>>());
    for at in 0..3 {
        may_do_what_was_said(&cluster, at);
    }
    for at in 0..3 {
        cluster.stop(at);
        cluster.launch(at);
        cluster.wait_until_formed();
        cluster.wait_until_whole("t", 3);
    }
    for at in 0..3 {
        may_do_what_was_said(&cluster, at);
    }
    // No password, and no hash that is told of, is in any log.
    assert!(!cluster.logs().contains("secret"), "{}", cluster.logs());
}

fn may_do_what_was_said(cluster: &Cluster, at: usize) {
    let mut ann = login(cluster, at, "ann", "secret");
    wait_for("the table", || {
        let reply = ann.try_call(&["TABLE", "USE", "t"]).ok()?;
        reply.is_ok().then_some(())
    });
    assert_eq!(ann.line("ACL WHOAMI").text(), "ann");
    for number in 0..20 {
        let (key, value) = (format!("a:{number}"), number.to_string());
        wait_for("a write", || {
            let reply = ann.try_call(&["SET", &key, &value]).ok()?;
            reply.is_ok().then_some(())
        });
        assert_eq!(ann.call(&["GET", &key]).text(), value);
    }
    let refused = [
        (
            "GETDEL a:1",
            "NOPERM User ann has no permissions to run the 'getdel' command",
        ),
        ("GET b:1", "NOPERM No permissions to access a key"),
        ("MGET a:1 b:1 a:2", "NOPERM No permissions to access a key"),
        ("MSET a:1 1 b:1 2", "NOPERM No permissions to access a key"),
        ("ACL SETUSER ann +@all", "NOPERM"),
        ("CONFIG SET maxclients 1", "NOPERM"),
        ("AUTH ann wrong", "WRONGPASS"),
    ];
    for (line, error) in refused {
        let reply = ann.line(line);
        assert!(reply.is_error_with(error), "{line}: {reply}");
    }
    let reply = ann.line("TABLE USE closed");
    assert!(reply.is_error_with("NOPERM"), "{reply}");
}

#[test]
fn rights_change_on_every_node_and_a_deleted_users_connections_end() {
    let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    let mut root = cluster.client(0);
    root.must(&["ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all"]);
    let mut anns: Vec<Client> = (0..3)
        .map(|at| login(&cluster, at, "ann", "secret"))
        .collect();
    root.must(&["ACL", "SETUSER", "ann", "-get"]);
    for ann in &mut anns {
        wait_for_reply(ann, &["GET", "k"], "NOPERM User ann has no permissions");
    }
    assert_eq!(root.call(&["ACL", "DELUSER", "ann"]).as_integer(), Some(1));
    for ann in &mut anns {
        wait_for("the connection's end", || ann.try_call(&["PING"]).err());
    }
    let mut stranger = cluster.client(1);
    let reply = stranger.call(&["AUTH", "ann", "secret"]);
    assert!(reply.is_error_with("WRONGPASS"), "{reply}");
}
