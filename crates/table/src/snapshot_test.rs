use super::*;
use crate::{Put, TableConfig, TableData};
use brickyard_types::part::PartName;
use brickyard_types::{Medium, SegmentId, ValueType};

type Records = BTreeMap<String, (u64, Option<String>)>;

const BYTES_MAX: usize = 1 << 20;

struct World {
    table: TableData,
    partition: LocalPartition,
    op: u64,
}

impl World {
    fn new(medium: Medium) -> Self {
        let config = TableConfig {
            seed: 9,
            medium,
            evicts: false,
        };
        let mut table = TableData::new(config);
        let partition = table.add_partition();
        let op = 0;
        Self {
            table,
            partition,
            op,
        }
    }

    fn put(&mut self, key: &str, value: &str) {
        self.op += 1;
        let put = Put {
            value: ValueRef::Hot(value.as_bytes()),
            expires_at: None,
            op: Op(self.op),
            position: Position {
                segment: SegmentId(1),
                offset: self.op as u32,
            },
            value_type: ValueType::String,
        };
        let hash = self.table.hash(key.as_bytes());
        let applied = self.table.put(self.partition, hash, key.as_bytes(), &put);
        assert!(applied.is_ok());
    }

    fn remove(&mut self, key: &str) {
        self.op += 1;
        let hash = self.table.hash(key.as_bytes());
        let op = Op(self.op);
        self.table.remove(self.partition, hash, key.as_bytes(), op);
    }

    fn begin(&mut self) -> SnapshotId {
        self.table
            .begin_snapshot(self.partition, Op(self.op), BYTES_MAX)
    }

    /// What the partition has now.
    fn records(&self) -> Records {
        let mut records = Records::new();
        let _ = self.table.scan(
            self.partition,
            ScanPosition::START,
            usize::MAX,
            |key, found| assert!(note(&mut records, key, &found)),
        );
        records
    }

    /// A piece of the snapshot; whether there is more.
    fn read(&mut self, id: SnapshotId, into: &mut Records) -> Result<bool, Spoilt> {
        self.table.read_snapshot(id, 10, |key, found| {
            assert!(note(into, key, &found), "a key came twice");
        })
    }
}

fn note(records: &mut Records, key: &[u8], found: &Found<'_>) -> bool {
    let value = match found.value {
        ValueRef::Hot(bytes) => Some(String::from_utf8(bytes.to_vec()).unwrap()),
        ValueRef::Cold { .. } => None,
    };
    let key = String::from_utf8(key.to_vec()).unwrap();
    records.insert(key, (found.op.0, value)).is_none()
}

/// A row of numbers that look random.
fn draw(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    *state >> 33
}

/// Goal: a snapshot is what was there when it began. Method: between its pieces keys are replaced, removed, and
/// put that were not there, so many that buckets split; a second snapshot begins in the middle.
#[test]
fn writes_meanwhile_do_not_show() {
    for medium in [Medium::Ram, Medium::Disk] {
        let mut random = 7;
        let mut world = World::new(medium);
        for number in 0..1500 {
            world.put(&format!("key:{number}"), "first");
        }
        let (mut first, mut second) = (Records::new(), Records::new());
        let begun = world.records();
        let id = world.begin();
        let mut later = None;
        let mut is_more = true;
        let mut round = 0;
        while is_more {
            is_more = world.read(id, &mut first).unwrap();
            if round == 20 {
                later = Some((world.records(), world.begin()));
            }
            if let Some((_, id)) = &later {
                world.read(*id, &mut second).unwrap();
            }
            for _ in 0..30 {
                let key = format!("key:{}", draw(&mut random) % 3000);
                match draw(&mut random) % 3 {
                    0 => world.remove(&key),
                    _ => world.put(&key, &format!("value {round}")),
                }
            }
            round += 1;
        }
        assert!(round > 50, "the writes were meant to come between pieces");
        assert_eq!(first, begun);
        assert_eq!(world.read(id, &mut first), Ok(false), "it stays at its end");
        world.table.end_snapshot(id);
        let (begun, id) = later.unwrap();
        while world.read(id, &mut second).unwrap() {}
        assert_eq!(second, begun);
        world.table.end_snapshot(id);
        assert!(world.table.snapshots.is_empty());
        world.table.check();
    }
}

#[test]
fn value_that_is_in_the_log_alone_keeps_its_place() {
    let mut world = World::new(Medium::Disk);
    world.put("key", "value");
    let hash = world.table.hash(b"key");
    let cold = world.table.make_cold(world.partition, hash, b"key", Op(1));
    assert_eq!(cold, Ok(true));
    let id = world.begin();
    world.put("key", "newer");
    let mut seen = Vec::new();
    let is_more = world.table.read_snapshot(id, 10, |key, found| {
        seen.push((key.to_vec(), found.position.offset, found.value.len()));
        assert_eq!(found.value, ValueRef::Cold { len: 5 });
    });
    assert_eq!(is_more, Ok(false));
    assert_eq!(seen, [(b"key".to_vec(), 1, 5)]);
}

#[test]
fn what_was_passed_is_not_preserved() {
    let mut world = World::new(Medium::Ram);
    for number in 0..100 {
        world.put(&format!("key:{number}"), "value");
    }
    let id = world.begin();
    while world.read(id, &mut Records::new()).unwrap() {}
    for number in 0..100 {
        world.put(&format!("key:{number}"), "newer");
    }
    assert_eq!(world.table.snapshots.open[0].bytes, 0);
}

/// Rule `a head speaks of parts that are there`: a part is asked for when its key is read, wherever it stands itself.
#[test]
fn parts_are_as_they_were_until_the_end() {
    let mut world = World::new(Medium::Ram);
    let names: Vec<Vec<u8>> = (0..100)
        .map(|number| {
            let (key, value) = (&b"key"[..], 7);
            PartName { key, value, number }.encode()
        })
        .collect();
    let put = |world: &mut World, name: &[u8], value: &[u8]| {
        world.op += 1;
        let put = Put {
            value: ValueRef::Hot(value),
            expires_at: None,
            op: Op(world.op),
            position: Position::NONE,
            value_type: ValueType::Hash,
        };
        let hash = world.table.hash(name);
        let applied = world.table.put(world.partition, hash, name, &put);
        assert!(applied.is_ok());
    };
    for name in &names {
        put(&mut world, name, b"old");
    }
    world.put("key", "head");
    let id = world.begin();
    let mut records = Records::new();
    while world.read(id, &mut records).unwrap() {}
    assert_eq!(records.len(), 1, "parts are no keys");
    // All has been read, but whoever has read the head asks for the parts yet.
    for (at, name) in names.iter().enumerate() {
        match at % 3 {
            0 => put(&mut world, name, b"newer"),
            1 => {
                world.op += 1;
                let (hash, op) = (world.table.hash(name), Op(world.op));
                world.table.remove(world.partition, hash, name, op);
            }
            _ => {}
        }
    }
    for name in &names {
        let found = world.table.snapshot_part(id, name).unwrap();
        assert_eq!(found.expect("a part").value, ValueRef::Hot(b"old"));
    }
    let other = PartName {
        key: b"key",
        value: 8,
        number: 0,
    };
    put(&mut world, &other.encode(), b"later");
    let later = world.table.snapshot_part(id, &other.encode()).unwrap();
    assert!(later.is_none(), "it came after the snapshot");
    world.table.end_snapshot(id);
    assert!(world.table.snapshot_part(id, &names[0]).is_err());
}

#[test]
fn spoilt_snapshot_says_so() {
    let mut world = World::new(Medium::Ram);
    for number in 0..100 {
        world.put(&format!("key:{number}"), &"x".repeat(1000));
    }
    let (partition, op) = (world.partition, Op(world.op));
    let small = world.table.begin_snapshot(partition, op, 10_000);
    let large = world.begin();
    for number in 0..100 {
        world.put(&format!("key:{number}"), "newer");
    }
    let mut records = Records::new();
    assert_eq!(world.read(small, &mut records), Err(Spoilt::Overrun));
    assert!(records.is_empty());
    assert!(world.read(large, &mut records).is_ok());
    world.op += 1;
    world.table.clear(partition, Op(world.op));
    assert_eq!(world.read(large, &mut records), Err(Spoilt::Cleared));
    let dropped = world.begin();
    world.table.drop_partition(partition);
    assert_eq!(world.read(dropped, &mut records), Err(Spoilt::Cleared));
    world.table.end_snapshot(dropped);
    assert_eq!(world.read(dropped, &mut records), Err(Spoilt::Unknown));
}
