//! Data on several nodes: copies, losses, restarts.

use super::support::{Machine, Started, machines, until, until_agreed};
use serde_json::Value;

fn all(nodes: &[Started]) -> Vec<&Started> {
    nodes.iter().collect()
}

/// Waits until every partition of table `default` has all its copies, as that node sees it.
fn until_in_sync(node: &Started) {
    until("all partitions are in sync", || {
        let status = node.status().unwrap_or_default();
        let states = status["tables"][0]["partition_states"].clone();
        let partitions = status["tables"][0]["partitions"].clone();
        let is_so = !partitions.is_null() && states["in_sync"] == partitions;
        if is_so {
            Ok(())
        } else {
            Err((states, status["unsettled"][0].clone()))
        }
    });
}

fn replicated(nodes: &mut [Started]) {
    until_agreed(&all(nodes), 3, 3);
    assert_eq!(
        nodes[0].client().call("TABLE ALTER default REPLICAS 2"),
        "+OK"
    );
    until("the attribute is everywhere", || {
        let wanted =
            |node: &Started| node.status().unwrap_or_default()["tables"][0]["replicas"].clone();
        let seen: Vec<Value> = nodes.iter().map(wanted).collect();
        if seen.iter().all(|it| *it == 2) {
            Ok(())
        } else {
            Err(seen)
        }
    });
    until_in_sync(&nodes[0]);
}

#[test]
fn keys_survive_the_loss_of_a_node() {
    let machines = machines(3, 3);
    let mut nodes: Vec<Started> = machines.iter().map(Machine::start).collect();
    replicated(&mut nodes);
    for (index, node) in nodes.iter_mut().enumerate() {
        let mut client = node.client();
        for number in 0..50 {
            assert_eq!(
                client.call(&format!("SET key:{index}:{number} v{number}")),
                "+OK"
            );
        }
    }
    nodes.remove(0).stop();
    let mut client = nodes[0].client();
    for index in 0..3 {
        for number in 0..50 {
            let key = format!("key:{index}:{number}");
            until("the key is there", || {
                let reply = client.call(&format!("GET {key}"));
                if reply == format!("v{number}") {
                    Ok(())
                } else {
                    Err((key.clone(), reply))
                }
            });
        }
    }
    nodes.into_iter().for_each(Started::stop);
}
