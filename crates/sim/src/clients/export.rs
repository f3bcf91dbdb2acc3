//! Exports of partitions, as backups make them: every key of one as it was at one moment.
//!
//! In:  a client at the brick that leads a partition. Out: a read of each of its keys, all of one moment.

use super::{Expected, KEYS, Kind, key};
use crate::clock::Nanos;
use crate::reply::Reply;
use crate::world::World;
use brickyard_history::{Action, Bytes, Operation, Outcome};
use brickyard_types::PartitionId;
use std::collections::BTreeMap;

/// Keys that nothing but a write changes.
const LASTING: [Kind; 5] = [
    Kind::Text,
    Kind::Number,
    Kind::Steady,
    Kind::Left,
    Kind::Right,
];

impl World {
    /// Asks for a partition that the client's brick leads; whether there is one.
    pub(super) fn ask_export(&mut self, at: usize) -> bool {
        let client = &self.clients.all[at];
        let here = (client.node, client.brick);
        let table = self.clients.tables[client.table].clone();
        let catalog = self.judges.latest.as_ref();
        let found = catalog.and_then(|it| it.table(&table));
        let led: Vec<PartitionId> = found
            .into_iter()
            .flat_map(|it| it.partitions())
            .filter(|(_, group)| self.seat_of(group.primary) == Some(here))
            .map(|(partition, _)| partition)
            .collect();
        let client = &mut self.clients.all[at];
        let Some(&partition) = led.get(client.random.index(led.len())) else {
            return false;
        };
        self.tell(|| format!("client {at} exports partition {partition} of {table}"));
        let number = partition.to_string();
        let words = [
            b"TABLE",
            b"EXPORT".as_slice(),
            table.as_bytes(),
            number.as_bytes(),
        ];
        self.send_command(at, &words, Expected::Export(partition));
        true
    }

    pub(super) fn answer_export(
        &mut self,
        at: usize,
        partition: PartitionId,
        since: Nanos,
        reply: &Reply,
    ) {
        // An error: maybe another one leads it by now.
        let Reply::List(parts) = reply else { return };
        let [Reply::Number(0), _, _, _, Reply::List(rows)] = &parts[..] else {
            return self.object(format!("{reply} is no answer to TABLE EXPORT"));
        };
        let mut values: BTreeMap<&[u8], Bytes> = BTreeMap::new();
        for row in rows {
            let Reply::List(columns) = row else { continue };
            if let [Reply::Bulk(key), _, _, Reply::Bulk(value)] = &columns[..] {
                values.insert(key, value[..].into());
            }
        }
        self.count("exports");
        self.clients.served += 1;
        let table = self.clients.tables[self.clients.all[at].table].clone();
        for kind in LASTING {
            for number in 0..KEYS {
                let key = key(&table, kind, number);
                if self.place_of_key(&table, &key) == Some(partition) {
                    let value = values.get(&*key).cloned();
                    self.note_exported(at, key, value, since);
                }
            }
        }
    }

    fn place_of_key(&self, table: &str, key: &[u8]) -> Option<PartitionId> {
        let table = self.judges.latest.as_ref()?.table(table)?;
        Some(table.map.locate(key).partition)
    }

    fn note_exported(&mut self, at: usize, key: Bytes, value: Option<Bytes>, since: Nanos) {
        self.clients.history.push(Operation {
            key,
            client: at as u32,
            action: Action::Get,
            called: since,
            returned: self.now,
            outcome: Outcome::Value(value),
        });
    }
}
