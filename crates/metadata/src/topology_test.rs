use super::*;
use crate::fixture::cluster;
use crate::{Change, NewTable};
use brickyard_routing::NodeId;
use brickyard_types::{BrickId, UnixMillis};

fn member(node: u32, brick: u32) -> Member {
    Member {
        node: NodeId(node),
        brick: BrickId(brick),
    }
}

fn topology(catalog: &Catalog, table: &str) -> Topology {
    Topology::of(catalog, &catalog.table(table).unwrap().map, false)
}

#[test]
fn each_brick_is_a_node_with_one_range() {
    let catalog = cluster(1, 2);
    let topology = topology(&catalog, "default");
    assert_eq!(topology.epoch, 2);
    assert_eq!(topology.nodes[1].port, 7_001);
    assert_eq!(topology.nodes[1].peer_port, 17_001);
    assert_eq!(topology.index_of(member(0, 1)), Some(1));
    let ranges: Vec<_> = topology
        .ranges
        .iter()
        .map(|range| (range.slots.to_string(), range.primary))
        .collect();
    assert_eq!(
        ranges,
        [("0-8191".to_owned(), 0), ("8192-16383".to_owned(), 1)]
    );
}

#[test]
fn backups_are_replicas() {
    let mut catalog = cluster(2, 1);
    let mut new = NewTable::named("pairs", 1, UnixMillis(0));
    new.attributes.replicas = 2;
    catalog.apply(Change::CreateTable(new)).unwrap();
    let topology = topology(&catalog, "pairs");
    assert_eq!(topology.ranges[0].replicas, [1]);
    assert_eq!(topology.ranges[1].replicas, [0]);
    assert_eq!(topology.replicas_of(0), [1]);
}

#[test]
fn bricks_of_all_nodes_are_listed_and_every_host_is_named() {
    let catalog = cluster(3, 2);
    let topology = topology(&catalog, "default");
    let nodes: Vec<_> = topology
        .nodes
        .iter()
        .map(|node| (node.member, node.host.as_str(), node.port))
        .collect();
    assert_eq!(nodes[3], (member(1, 1), "node-1", 7_101));
    assert_eq!(nodes.len(), 6);
    assert_eq!(catalog.address(member(3, 0)), None);
    assert_eq!(catalog.address(member(0, 2)), None);
}

#[test]
fn brick_names_are_40_digits_and_never_change() {
    let name = brick_name(ClusterId(7), member(0, 0));
    assert_eq!(name, "ab9253501c0f3d9086dcd5727defbe1950779a69");
    assert_eq!(name.len(), 40);
    for other in [
        brick_name(ClusterId(8), member(0, 0)),
        brick_name(ClusterId(7), member(1, 0)),
        brick_name(ClusterId(7), member(0, 1)),
    ] {
        assert_ne!(other, name);
    }
}
