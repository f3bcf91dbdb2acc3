//! Exports of partitions, as backups make them: every key of one as it was at one moment.
//!
//! In:  a client at the brick that leads a partition. Out: a read of each of its keys, all of one moment.

use super::send::send_command;
use super::state::{Expected, FIELD, key};
use crate::clock::Nanos;
use crate::habits::Kind;
use crate::reply::Reply;
use crate::world::World;
use brickyard_history::{Action, Bytes, NOBODY, Operation, Outcome};
use brickyard_rdb::RdbValue;
use brickyard_types::PartitionId;
use std::collections::BTreeMap;

/// Keys that nothing but a write changes.
const LASTING: [Kind; 9] = [
    Kind::Text,
    Kind::Number,
    Kind::Steady,
    Kind::Left,
    Kind::Right,
    Kind::Near,
    Kind::Far,
    Kind::ApartLeft,
    Kind::ApartRight,
];

/// Asks for a partition that the client's brick leads; whether there is one.
pub(super) fn ask_export(world: &mut World, at: usize) -> bool {
    let client = &world.clients.all[at];
    let here = (client.place.node, client.place.brick);
    let table = world.clients.tables[client.table].clone();
    let catalog = world.cluster.checkers.latest.as_ref();
    let found = catalog.and_then(|it| it.table(&table));
    let led: Vec<PartitionId> = found
        .into_iter()
        .flat_map(|it| it.partitions())
        .filter(|(_, group)| world.cluster.machines.replica_of(group.primary) == Some(here))
        .map(|(partition, _)| partition)
        .collect();
    let client = &mut world.clients.all[at];
    let Some(&partition) = led.get(client.random.index(led.len())) else {
        return false;
    };
    world.tell(|| format!("client {at} exports partition {partition} of {table}"));
    let number = partition.to_string();
    let words = [
        b"TABLE",
        b"EXPORT".as_slice(),
        table.as_bytes(),
        number.as_bytes(),
    ];
    send_command(world, at, &words, Expected::Export(partition));
    true
}

pub(super) fn answer_export(
    world: &mut World,
    at: usize,
    partition: PartitionId,
    since: Nanos,
    reply: &Reply,
) {
    // An error: maybe another one leads it by now.
    let Reply::List(parts) = reply else { return };
    let [Reply::Number(0), _, _, _, Reply::List(rows)] = &parts[..] else {
        return world.object(format!("{reply} is no answer to TABLE EXPORT"));
    };
    let mut values: BTreeMap<&[u8], Bytes> = BTreeMap::new();
    for row in rows {
        let Reply::List(columns) = row else { continue };
        match &columns[..] {
            [Reply::Bulk(key), _, _, Reply::Bulk(value)] => {
                values.insert(key, value[..].into());
            }
            // Of a hash, of which one field counts.
            [Reply::Bulk(key), _, _, Reply::Bulk(payload), _] => {
                let Ok(RdbValue::Hash(fields)) = brickyard_rdb::restore(payload) else {
                    return world.object(format!("an export has no hash for {key:?}"));
                };
                if let Some(field) = fields.into_iter().find(|it| it.name == FIELD) {
                    values.insert(key, field.value.into());
                }
            }
            _ => {}
        }
    }
    world.count("exports");
    world.clients.served += 1;
    let table = world.clients.tables[world.clients.all[at].table].clone();
    for kind in LASTING {
        for number in 0..world.clients.habits.keys {
            let key = key(&table, kind, number);
            if place_of_key(world, &table, &key) == Some(partition) {
                let value = values.get(&*key).cloned();
                note_exported(world, key, value, since);
            }
        }
    }
}

fn place_of_key(world: &World, table: &str, key: &[u8]) -> Option<PartitionId> {
    let table = world.cluster.checkers.latest.as_ref()?.table(table)?;
    Some(table.map.locate(key).partition)
}

fn note_exported(world: &mut World, key: Bytes, value: Option<Bytes>, since: Nanos) {
    world.clients.history.push(Operation {
        key,
        client: NOBODY,
        action: Action::Get,
        called: since,
        returned: world.now(),
        outcome: Outcome::Value(value),
    });
}
