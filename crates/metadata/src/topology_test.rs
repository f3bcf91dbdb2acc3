use super::*;
use crate::{
    catalog::{Catalog, Genesis},
    change::{Change, NewTable},
};
use brickyard_routing::{Candidate, NodeId};
use brickyard_types::{BrickId, TableAttributes, UnixMillis};

fn member(node: u32, brick: u32) -> Member {
    Member {
        node: NodeId(node),
        brick: BrickId(brick),
    }
}

fn address(member: Member) -> Address {
    Address {
        member,
        host: "127.0.0.1".to_owned(),
        port: 7_000 + member.node.0 as u16 * 100 + member.brick.0 as u16,
        peer_port: 17_000,
    }
}

fn catalog(members: &[Member]) -> Catalog {
    Catalog::found(Genesis {
        cluster: ClusterId(7),
        bricks: members
            .iter()
            .map(|&member| Candidate { member, weight: 1 })
            .collect(),
        attributes: TableAttributes::default(),
        partitions: None,
        seed: 1,
        created: UnixMillis(0),
    })
    .unwrap()
}

fn topology(catalog: &Catalog, table: &str, addresses: &[Address]) -> Topology {
    let map = &catalog.table(table).unwrap().map;
    Topology::of(catalog.cluster(), map, addresses)
}

#[test]
fn each_brick_is_a_node_with_one_range() {
    let members = [member(0, 0), member(0, 1)];
    let catalog = catalog(&members);
    let topology = topology(&catalog, "default", &members.map(address));
    assert_eq!(topology.epoch, 1);
    assert_eq!(topology.nodes[1].port, 7_001);
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
    let members = [member(0, 0), member(1, 0)];
    let mut catalog = catalog(&members);
    let mut new = NewTable::named("pairs", 1, UnixMillis(0));
    new.attributes.replicas = 2;
    catalog.apply(Change::CreateTable(new)).unwrap();
    let topology = topology(&catalog, "pairs", &members.map(address));
    assert_eq!(topology.ranges[0].replicas, [1]);
    assert_eq!(topology.ranges[1].replicas, [0]);
    assert_eq!(topology.replicas_of(0), [1]);
}

#[test]
fn brick_without_an_address_is_left_out() {
    let members = [member(0, 0), member(0, 1)];
    let catalog = catalog(&members);
    let topology = topology(&catalog, "default", &[address(members[1])]);
    assert_eq!(topology.ranges.len(), 1);
    assert_eq!(topology.slots_assigned(), 8_192);
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
