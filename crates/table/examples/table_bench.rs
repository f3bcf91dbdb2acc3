//! Measures a table: bytes per key, and nanoseconds per put and get, one by one and in batches.
//!
//! ```text
//! cargo run --release -p brickyard-table --example table_bench -- [KEYS] [PARTITIONS] [VALUE_BYTES]
//! ```
//! Times are CPU time of the thread where the system tells it (Linux), so that neighbours on the
//! machine count less; they include making up the key and copying the value out. Memory is the
//! resident set of the process, less what it had before the first key.

use brickyard_table::{KeyHash, LocalPartition, Put, TableConfig, TableData, ValueRef};
use brickyard_types::{Medium, Op, Position, ValueType};
use std::fs;
use std::hint::black_box;
use std::time::Instant;

const BATCH: usize = 64;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| {
        argument
            .parse::<u64>()
            .unwrap_or_else(|_| panic!("'{argument}' is not a number"))
    });
    let keys = arguments.next().unwrap_or(1_000_000);
    let partitions = arguments.next().unwrap_or(256);
    let value_bytes = arguments.next().unwrap_or(150) as usize;
    Bench::new(keys, partitions, value_bytes).run();
}

struct Bench {
    table: TableData,
    partitions: Vec<LocalPartition>,
    keys: u64,
    value: Vec<u8>,
    op: u64,
    random: u64,
}

/// A key with what a brick has worked out about it.
struct Wanted {
    key: [u8; 16],
    hash: KeyHash,
    partition: LocalPartition,
}

impl Bench {
    fn new(keys: u64, partitions: u64, value_bytes: usize) -> Self {
        let mut table = TableData::new(TableConfig {
            seed: 42,
            medium: Medium::Ram,
            evicts: false,
        });
        Self {
            partitions: (0..partitions).map(|_| table.add_partition()).collect(),
            table,
            keys,
            value: vec![b'v'; value_bytes],
            op: 0,
            random: 1,
        }
    }

    fn run(&mut self) {
        println!(
            "{} keys of 16 bytes, values of {} bytes, {} partitions",
            self.keys,
            self.value.len(),
            self.partitions.len()
        );
        let resident_before = resident_bytes();
        let value_bytes = self.value.len();
        let mut next = 0;
        let in_order = move |bench: &mut Self| {
            next += 1;
            bench.wanted(next - 1)
        };
        self.measure_batches("put, new keys", in_order, |bench, wanted| {
            bench.put_wanted(wanted, value_bytes);
        });
        let resident = resident_bytes().saturating_sub(resident_before) as f64;
        let per_key = |bytes: f64| bytes / self.keys as f64;
        println!("{:30} {:7.1} bytes/key", "resident set", per_key(resident));
        println!(
            "{:30} {:7.1} bytes/key",
            "memory_used",
            per_key(self.table.memory_used() as f64)
        );
        println!(
            "{:30} {:7.1} bytes/key",
            "records",
            per_key(self.table.records_bytes() as f64)
        );
        self.measure("make up a key and its hash", |bench, _| {
            let wanted = bench.draw();
            black_box(wanted.hash);
        });
        let mut out = vec![0; value_bytes];
        self.measure("get, one by one", |bench, _| {
            let wanted = bench.draw();
            bench.get(&wanted, &mut out);
        });
        self.measure_batches("get, batches of 64", Self::draw, |bench, wanted| {
            bench.get(wanted, &mut out)
        });
        self.measure_batches("put over, same size", Self::draw, |bench, wanted| {
            bench.put_wanted(wanted, value_bytes);
        });
        self.measure_batches("put over, other size", Self::draw, |bench, wanted| {
            let len = (bench.random >> 40) as usize % (2 * value_bytes + 1);
            bench.put_wanted(wanted, len);
        });
        let live = self.table.records_bytes() as f64;
        let resident = resident_bytes().saturating_sub(resident_before) as f64;
        println!("{:30} {:7.3}", "resident set / records", resident / live);
        self.measure_batches("remove and put again", Self::draw, |bench, wanted| {
            bench.op += 1;
            let op = Op(bench.op);
            let Wanted {
                key,
                hash,
                partition,
            } = wanted;
            black_box(bench.table.remove(*partition, *hash, key, op));
            bench.put_wanted(wanted, value_bytes);
        });
        let live = self.table.records_bytes() as f64;
        let resident = resident_bytes().saturating_sub(resident_before) as f64;
        println!("{:30} {:7.3}", "resident set / records", resident / live);
        self.measure("scan", {
            let mut left = 0;
            move |bench, _| {
                if left == 0 {
                    left = bench.keys;
                    bench.scan();
                }
                left -= 1;
            }
        });
        let mut next = 0;
        let in_order = move |bench: &mut Self| {
            next += 1;
            bench.wanted(next - 1)
        };
        self.measure_batches("remove", in_order, |bench, wanted| {
            bench.op += 1;
            let op = Op(bench.op);
            let Wanted {
                key,
                hash,
                partition,
            } = wanted;
            black_box(bench.table.remove(*partition, *hash, key, op));
        });
        let resident = resident_bytes().saturating_sub(resident_before) as f64;
        println!("{:30} {:7.1} MB", "resident set when empty", resident / 1e6);
    }

    fn wanted(&self, number: u64) -> Wanted {
        let mut key = *b"k:00000000000000";
        let mut rest = number;
        for digit in key[2..].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let hash = self.table.hash(&key);
        let partition = self.partitions[number as usize % self.partitions.len()];
        Wanted {
            key,
            hash,
            partition,
        }
    }

    fn draw(&mut self) -> Wanted {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.wanted(self.random % self.keys)
    }

    fn get(&mut self, wanted: &Wanted, out: &mut [u8]) {
        let found = self.table.get(wanted.partition, wanted.hash, &wanted.key);
        if let Some(ValueRef::Hot(value)) = found.map(|found| found.value) {
            let len = value.len().min(out.len());
            out[..len].copy_from_slice(&value[..len]);
        }
        black_box(&out);
    }

    fn put_wanted(&mut self, wanted: &Wanted, len: usize) {
        if self.value.len() < len {
            self.value.resize(len, b'v');
        }
        self.op += 1;
        let put = Put {
            value: ValueRef::Hot(&self.value[..len]),
            expires_at: None,
            op: Op(self.op),
            position: Position::NONE,
            value_type: ValueType::String,
        };
        let applied = self
            .table
            .put(wanted.partition, wanted.hash, &wanted.key, &put);
        black_box(applied.expect("the machine has memory for the keys asked for"));
    }

    fn scan(&self) {
        for &partition in &self.partitions {
            let mut next = Some(brickyard_table::ScanPosition::START);
            while let Some(position) = next {
                next = self.table.scan(partition, position, 10, |key, found| {
                    black_box((key, found.op));
                });
            }
        }
    }

    fn measure(&mut self, name: &str, mut step: impl FnMut(&mut Self, u64)) {
        let begin = cpu_nanoseconds();
        for at in 0..self.keys {
            step(self, at);
        }
        self.print(name, begin);
    }

    fn measure_batches(
        &mut self,
        name: &str,
        mut next: impl FnMut(&mut Self) -> Wanted,
        mut step: impl FnMut(&mut Self, &Wanted),
    ) {
        let begin = cpu_nanoseconds();
        let mut batch = Vec::with_capacity(BATCH);
        for _ in 0..self.keys / BATCH as u64 {
            batch.clear();
            for _ in 0..BATCH {
                let wanted = next(self);
                self.table.prefetch_bucket(wanted.partition, wanted.hash);
                batch.push(wanted);
            }
            for wanted in &batch {
                self.table.prefetch_record(wanted.partition, wanted.hash);
            }
            for wanted in &batch {
                step(self, wanted);
            }
        }
        self.print(name, begin);
    }

    fn print(&self, name: &str, begin: u64) {
        let nanoseconds = (cpu_nanoseconds() - begin) as f64 / self.keys as f64;
        println!("{name:30} {nanoseconds:7.1} ns");
    }
}

/// CPU time of this thread, or wall time where that is not to be had.
fn cpu_nanoseconds() -> u64 {
    let schedstat = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let on_cpu = schedstat.and_then(|line| line.split(' ').next()?.parse().ok());
    on_cpu.unwrap_or_else(|| {
        static BEGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        BEGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
    })
}

/// Bytes of this process that are in memory; 0 where the system does not tell.
fn resident_bytes() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}
