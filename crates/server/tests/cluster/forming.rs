//! Clusters come about, and nodes come and go.

use super::support::{Machine, Started, machine, machines, until, until_agreed};

fn all(nodes: &[Started]) -> Vec<&Started> {
    nodes.iter().collect()
}

fn tables(node: &Started) -> Vec<String> {
    let status = node.status().unwrap_or_default();
    let tables = status["tables"].as_array().cloned().unwrap_or_default();
    let names = tables.iter().filter_map(|table| table["name"].as_str());
    names.map(str::to_owned).collect()
}

#[test]
fn three_nodes_found_one_cluster_in_any_order_and_share_its_tables() {
    for order in [[0, 1, 2], [2, 0, 1]] {
        let machines = machines(3, 3);
        let mut nodes: Vec<Started> = order.map(|it| machines[it].start()).into();
        until_agreed(&all(&nodes), 3, 3);
        assert_eq!(nodes[0].client().call("TABLE CREATE orders"), "+OK");
        assert_eq!(nodes[2].client().call("TABLE CREATE carts"), "+OK");
        until("all see both tables", || {
            let seen: Vec<_> = nodes.iter().map(tables).collect();
            let is_so = seen.iter().all(|it| *it == ["carts", "default", "orders"]);
            if is_so { Ok(()) } else { Err(seen) }
        });
        nodes.into_iter().for_each(Started::stop);
    }
}

#[test]
fn node_that_restarts_is_a_new_incarnation_of_the_same_node() {
    let machines = machines(3, 3);
    let mut nodes: Vec<Started> = machines.iter().map(Machine::start).collect();
    until_agreed(&all(&nodes), 3, 3);
    let of = |node: &Started, path: &str| node.status().unwrap_or_default().pointer(path).cloned();
    let before = (
        of(&nodes[1], "/membership/node"),
        of(&nodes[1], "/membership/incarnation"),
    );
    nodes.remove(1).stop();
    until_agreed(&all(&nodes), 3, 3);
    assert_eq!(nodes[0].client().call("TABLE CREATE meanwhile"), "+OK");
    nodes.insert(1, machines[1].start());
    until_agreed(&all(&nodes), 3, 3);
    assert_eq!(tables(&nodes[1]), ["default", "meanwhile"]);
    let after = (
        of(&nodes[1], "/membership/node"),
        of(&nodes[1], "/membership/incarnation"),
    );
    assert_eq!(after.0, before.0);
    assert!(after.1.and_then(|it| it.as_u64()) > before.1.and_then(|it| it.as_u64()));
    nodes.into_iter().for_each(Started::stop);
}

#[test]
fn whole_cluster_restarts_at_other_addresses() {
    let mut machines = machines(3, 3);
    let nodes: Vec<Started> = machines.iter().map(Machine::start).collect();
    until_agreed(&all(&nodes), 3, 3);
    nodes.into_iter().for_each(Started::stop);
    // One of them moves; the others know where it was, and it knows where they are.
    let elsewhere = machine();
    machines[0].config.fields.listen = elsewhere.config.listen;
    machines[0].config.fields.peer_port = elsewhere.config.peer_port;
    let peers: Vec<_> = machines[1..].iter().map(Machine::peer).collect();
    machines[0].meet(&peers);
    let nodes: Vec<Started> = machines.iter().map(Machine::start).collect();
    until_agreed(&all(&nodes), 3, 3);
    nodes.into_iter().for_each(Started::stop);
}

#[test]
fn fourth_node_joins_and_learns() {
    let machines = machines(3, 3);
    let mut nodes: Vec<Started> = machines.iter().map(Machine::start).collect();
    until_agreed(&all(&nodes), 3, 3);
    let mut fourth = machine();
    fourth.meet(&[machines[2].peer()]);
    nodes.push(fourth.start());
    until_agreed(&all(&nodes), 4, 3);
    assert_eq!(nodes[3].client().call("TABLE CREATE late"), "+OK");
    nodes.into_iter().for_each(Started::stop);
}

#[test]
fn second_node_joins_one_that_was_alone() {
    let first = machine();
    let mut nodes = vec![first.start()];
    assert_eq!(nodes[0].client().call("SET key value"), "+OK");
    until_agreed(&all(&nodes), 1, 1);
    let mut second = machine();
    second.meet(&[first.peer()]);
    nodes.push(second.start());
    until_agreed(&all(&nodes), 2, 1);
    until("the key is there", || {
        match nodes[0].client().call("GET key").as_str() {
            "value" => Ok(()),
            other => Err(other.to_owned()),
        }
    });
    nodes.into_iter().for_each(Started::stop);
}

#[test]
fn node_of_another_cluster_is_refused() {
    let first = machine();
    let mut other = machine();
    let mut nodes = vec![first.start(), other.start()];
    until_agreed(&[&nodes[0]], 1, 1);
    until_agreed(&[&nodes[1]], 1, 1);
    let clusters: Vec<_> = nodes
        .iter()
        .map(|it| it.status().unwrap_or_default()["cluster"].clone())
        .collect();
    assert_ne!(clusters[0], clusters[1]);
    nodes.remove(1).stop();
    other.meet(&[first.peer()]);
    nodes.push(other.start());
    until("the refusal is told", || {
        let status = nodes[1].status().unwrap_or_default();
        let refusals = status["membership"]["refusals"].to_string();
        if refusals.contains("another cluster") {
            Ok(())
        } else {
            Err(status)
        }
    });
    until_agreed(&[&nodes[0]], 1, 1);
    nodes.into_iter().for_each(Started::stop);
}
