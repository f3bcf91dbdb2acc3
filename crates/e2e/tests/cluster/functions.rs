//! Functions that the cluster keeps: loaded at one node, called at any, also when all of them were killed.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;

const LIBRARY: &str = "#!lua name=counters\n\
    redis.register_function('count', function(keys, args) return redis.call('incrby', keys[1], args[1]) end)\n\
    redis.register_function('version', function() return 1 end)";

/// Calls the function on keys of every node.
fn call_everywhere(cluster: &Cluster, round: usize) {
    for at in 0..3 {
        for number in 0..12 {
            let key = format!("{round}:{at}:{number}");
            let (counted, value) = wait_for("a call", || {
                let mut client = cluster.table(at, "t").ok()?;
                let counted = client.try_call(&["FCALL", "count", "1", &key, "1"]).ok()?;
                let value = client.try_call(&["GET", &key]).ok()?;
                Some((counted.as_integer()?, value.text()))
            });
            assert_eq!(counted.to_string(), value, "{key}");
        }
    }
}

#[test]
fn library_loaded_at_one_node_is_called_at_all_and_outlives_them() {
    let mut cluster = Cluster::start(&[0, 1, 2], 2, &[]);
    cluster.create_table("t", &["REPLICAS", "3", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 3);
    let mut first = cluster.client(0);
    assert_eq!(
        first.call(&["FUNCTION", "LOAD", LIBRARY]).text(),
        "counters"
    );
    // At once: a node that has not heard of it yet asks.
    for at in [2, 1, 0] {
        let reply = cluster.client(at).call(&["FCALL", "version", "0"]);
        assert_eq!(reply.as_integer(), Some(1), "at {at}: {reply}");
    }
    call_everywhere(&cluster, 0);
    for at in 0..3 {
        cluster.kill(at);
    }
    for at in [1, 0, 2] {
        cluster.launch(at);
    }
    cluster.wait_until_formed();
    cluster.wait_until_whole("t", 3);
    call_everywhere(&cluster, 1);
    // One that comes later has it too, and what is replaced or deleted is so everywhere.
    let late = cluster.add();
    cluster.wait_until_formed();
    let mut late = wait_for("the new node", || cluster.try_client(late).ok());
    assert_eq!(late.call(&["FCALL", "version", "0"]).as_integer(), Some(1));
    let newer = LIBRARY.replace("return 1", "return 2");
    assert_eq!(
        late.call(&["FUNCTION", "LOAD", "REPLACE", &newer]).text(),
        "counters"
    );
    let mut first = cluster.client(0);
    wait_for("the newer library", || {
        let reply = first.try_call(&["FCALL", "version", "0"]).ok()?;
        (reply.as_integer() == Some(2)).then_some(())
    });
    first.must(&["FUNCTION", "DELETE", "counters"]);
    wait_for("the library's end", || {
        let reply = late.try_call(&["FCALL", "version", "0"]).ok()?;
        reply.is_error_with("ERR Function not found").then_some(())
    });
}
