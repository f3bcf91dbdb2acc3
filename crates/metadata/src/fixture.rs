//! Clusters for tests: nodes with bricks, founded and joined.

use crate::{
    Addresses, Catalog, Change, ClusterId, Genesis, Machine, NodeKey, Registration, Roles,
};
use brickyard_types::{TableAttributes, UnixMillis};

/// What node `number` says of itself at its first start.
pub(crate) fn registration(number: u8, bricks: u32) -> Registration {
    let port = 7_000 + u16::from(number) * 100;
    Registration {
        key: NodeKey([number; 20]),
        run: u64::from(number) + 1,
        addresses: Addresses {
            host: format!("node-{number}"),
            port: port + 99,
            bricks: (0..bricks as u16).map(|brick| port + brick).collect(),
            peer_port: 0,
            http_port: None,
        },
        bricks,
        weight: 1,
        zone: None,
        roles: Roles::default(),
        machine: Machine {
            machine: format!("machine-{number}"),
            boot: "boot-1".to_owned(),
            directory: (1, u64::from(number)),
        },
    }
}

/// The same node's next start.
pub(crate) fn again(registration: &Registration) -> Registration {
    Registration {
        run: registration.run + 1_000,
        ..registration.clone()
    }
}

pub(crate) fn genesis(bricks: u32) -> Genesis {
    Genesis {
        cluster: ClusterId(7),
        node: registration(0, bricks),
        attributes: TableAttributes::default(),
        partitions: None,
        seed: 1,
        created: UnixMillis(1_000),
    }
}

/// So many nodes; the default table is on the first.
pub(crate) fn cluster(nodes: u8, bricks: u32) -> Catalog {
    let mut catalog = Catalog::found(genesis(bricks)).unwrap();
    for number in 1..nodes {
        let change = Change::Register(registration(number, bricks));
        catalog.apply(change).unwrap();
    }
    catalog
}
