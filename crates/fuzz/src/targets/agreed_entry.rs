//! Any bytes as an entry of the control plane's agreed log: no panic, what is read is written as it was; and
//! whatever it asks for, the catalog that comes of it can be written and read.

use brickyard_metadata::{
    Addresses, Alteration, Catalog, Change, ClusterId, Genesis, Machine, NewTable, NodeKey,
    Proposal, Registration, Roles,
};
use brickyard_types::{TableAttributes, UnixMillis};

/// See the module.
pub(super) fn run(input: &[u8]) {
    if let Some(again) = brickyard_node::decoders::agreed_entry(input) {
        let twice = brickyard_node::decoders::agreed_entry(&again);
        assert_eq!(twice, Some(again), "an entry is written as it was read");
    }
    let mut catalog = founded();
    let mut rest = input;
    while let Ok((change, left)) = postcard::take_from_bytes::<Change>(rest) {
        // A refusal is an answer.
        drop(catalog.apply(change).map_err(|refusal| refusal.to_string()));
        if left.len() == rest.len() {
            break;
        }
        rest = left;
    }
    let read = Catalog::decode(&catalog.encode());
    assert_eq!(read.as_ref(), Ok(&catalog), "its own rules have made it");
}

/// The catalog of a cluster of one.
pub(super) fn founded() -> Catalog {
    let genesis = Genesis {
        cluster: ClusterId(7),
        node: registration(1),
        attributes: TableAttributes::default(),
        partitions: Some(4),
        seed: 1,
        created: UnixMillis(1_000),
    };
    Catalog::found(genesis).unwrap_or_else(|refusal| panic!("a sound genesis: {refusal}"))
}

fn registration(number: u8) -> Registration {
    let port = 7_000 + u16::from(number) * 10;
    Registration {
        key: NodeKey([number; 20]),
        run: 1,
        addresses: Addresses {
            host: "node".to_owned(),
            port,
            bricks: vec![port + 1, port + 2],
            peer_port: port + 3,
            http_port: Some(port + 4),
        },
        bricks: 2,
        weight: 1,
        zone: Some("east".to_owned()),
        roles: Roles::default(),
        machine: Machine {
            machine: "machine".to_owned(),
            boot: "boot".to_owned(),
            directory: (1, u64::from(number)),
        },
    }
}

/// Changes of several kinds, alone and one after the other; and the entries that the server makes of them.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let catalog = founded();
    let proposals = catalog.tables().flat_map(|table| {
        let groups = table.partitions().take(2);
        let proposals = groups.map(|(partition, group)| {
            let members: Vec<_> = group.in_sync().collect();
            Proposal::of(table.id, partition, group, &members)
        });
        proposals.collect::<Vec<_>>()
    });
    let changes = [
        Change::Register(registration(2)),
        Change::CreateTable(NewTable::named("orders", 3, UnixMillis(5))),
        Change::AlterTable {
            name: "orders".to_owned(),
            alteration: Alteration {
                maxmemory: Some(Some(1 << 20)),
                ..Alteration::default()
            },
        },
        Change::from(proposals.collect::<Vec<_>>()),
        Change::DropTable {
            name: "orders".to_owned(),
        },
    ];
    let mut seeds = brickyard_node::decoders::agreed_entries();
    let mut all = Vec::new();
    for change in &changes {
        // Nothing in a change cannot be written.
        let bytes = postcard::to_allocvec(change).unwrap_or_default();
        all.extend_from_slice(&bytes);
        seeds.push(bytes);
    }
    seeds.push(all);
    seeds
}
