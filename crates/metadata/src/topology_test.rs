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
fn backups_are_read_at_the_ports_of_their_nodes() {
    let mut catalog = cluster(2, 2);
    let mut new = NewTable::named("pairs", 1, UnixMillis(0));
    new.attributes.replicas = 2;
    catalog.apply(Change::CreateTable(new)).unwrap();
    let topology = topology(&catalog, "pairs");
    let port_of = |node: u32| topology.index_of_port(NodeId(node)).unwrap();
    assert_eq!([port_of(0), port_of(1)], [4, 5]);
    for range in &topology.ranges {
        let TopologyRole::Primary(primary) = topology.nodes[range.primary].role else {
            panic!("{range:?} has no brick as primary");
        };
        let [replica] = range.replicas[..] else {
            panic!("{range:?} has other than one backup");
        };
        let other = 1 - primary.node.0;
        assert_eq!(replica.node, port_of(other));
        let its_bricks = [0, 1].map(|brick| topology.index_of(member(other, brick)).unwrap());
        let its_ports = its_bricks.map(|brick| Some(topology.nodes[brick].port));
        assert!(its_ports.contains(&replica.brick_port), "{range:?}");
    }
    let ports = [&topology.nodes[4], &topology.nodes[5]];
    assert_eq!(ports.map(|it| it.port), [7_099, 7_199]);
    assert_ne!(ports[0].id, ports[1].id);
    // Each follows a primary of the other node.
    let followed = ports.map(|it| match it.role {
        TopologyRole::Replica(_, follows) => follows.unwrap() / 2,
        TopologyRole::Primary(_) => panic!("a port is no brick"),
    });
    assert_eq!(followed, [1, 0]);
    assert_eq!(topology.replicas_of(0), [5]);
}

#[test]
fn nodes_without_backups_are_there_as_bricks_alone() {
    let topology = topology(&cluster(2, 2), "default");
    assert_eq!(topology.nodes.len(), 4);
    assert_eq!(topology.index_of_port(NodeId(0)), None);
}

#[test]
fn neighbours_that_differ_in_slots_alone_are_one_range() {
    let range = |begin, end, primary, replicas: &[usize]| TopologyRange {
        slots: SlotRange { begin, end },
        primary,
        replicas: replicas
            .iter()
            .map(|node| TopologyReplica {
                node: *node,
                brick_port: None,
            })
            .collect(),
    };
    let ranges = [
        range(0, 10, 0, &[2]),
        range(10, 20, 0, &[2]),
        range(20, 30, 0, &[3]),
        range(30, 40, 1, &[3]),
        // Those between have nobody.
        range(50, 60, 1, &[3]),
    ];
    let slots = joined(ranges.into_iter())
        .into_iter()
        .map(|it| it.slots.to_string());
    let slots: Vec<String> = slots.collect();
    assert_eq!(slots, ["0-19", "20-29", "30-39", "50-59"]);
}

#[test]
fn bricks_of_all_nodes_are_listed_and_every_host_is_named() {
    let catalog = cluster(3, 2);
    let topology = topology(&catalog, "default");
    let nodes: Vec<_> = topology
        .nodes
        .iter()
        .map(|node| (node.role, node.host.as_str(), node.port))
        .collect();
    assert_eq!(
        nodes[3],
        (TopologyRole::Primary(member(1, 1)), "node-1", 7_101)
    );
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
