//! Writers that keep a pipeline full and record in a [`Ledger`] what they were promised.

use crate::client::{Client, encode};
use crate::ledger::{Ledger, Operation};
use crate::random::Random;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// Requests that a writer has under way at most.
const PIPELINE: usize = 64;

/// Keys of one writer.
const KEYS: usize = 400;

/// A time of expiry that no test lives to see: the year 2100.
const FAR: u64 = 4_102_444_800_000;

/// What several writers share.
#[derive(Debug, Default)]
pub struct Progress {
    /// Operations acknowledged so far.
    pub acknowledged: AtomicU64,
    /// Operations refused so far.
    pub refused: AtomicU64,
    /// Set to make the writers finish what is under way and end.
    pub stop: AtomicBool,
}

/// One writer: its keys, what it knows of them, and where its random choices stand.
#[derive(Debug)]
pub struct Writer {
    name: String,
    /// Sent first on each connection, e.g. `TABLE USE careful`.
    prologue: Vec<Vec<String>>,
    random: Random,
    /// Length of most values, at most.
    value_bytes_max: usize,
    ledger: Ledger,
    /// The number that both keys of the pair were last acknowledged to hold, and the last one sent.
    pair: (i64, i64),
}

/// What the requests under way were, in order.
enum Sent {
    /// One operation on a key.
    Single(Vec<u8>),
    /// `MULTI` and the two `SET`s after it: `+OK` and `+QUEUED` promise nothing.
    Queued,
    /// The `EXEC` that sets both keys of the pair to this number.
    Pair(i64),
}

impl Writer {
    /// A writer whose keys start with `name`.
    #[must_use]
    pub fn new(name: &str, prologue: &[&[&str]], seed: u64) -> Self {
        let words = |request: &&[&str]| request.iter().map(|&word| word.to_owned()).collect();
        Self {
            name: name.to_owned(),
            prologue: prologue.iter().map(words).collect(),
            random: Random::new(seed),
            value_bytes_max: 300,
            ledger: Ledger::default(),
            pair: (0, 0),
        }
    }

    /// Makes most values up to this long, so that the log grows faster.
    #[must_use]
    pub const fn with_values(mut self, value_bytes_max: usize) -> Self {
        self.value_bytes_max = value_bytes_max;
        self
    }

    /// A connection that has the writer's prologue behind it.
    ///
    /// # Panics
    /// If the server refuses it.
    #[must_use]
    pub fn connect(&self, port: u16) -> Client {
        let mut client = Client::connect(port);
        for request in &self.prologue {
            client.must(request);
        }
        client
    }

    /// How many operations were acknowledged.
    #[must_use]
    pub const fn acknowledged(&self) -> u64 {
        self.ledger.acknowledged()
    }

    /// Writes in a thread until the connection fails or `progress.stop` is set.
    #[must_use]
    pub fn spawn(mut self, port: u16, progress: Arc<Progress>) -> JoinHandle<Self> {
        std::thread::spawn(move || {
            let mut client = self.connect(port);
            self.write(&mut client, &progress);
            self
        })
    }

    fn write(&mut self, client: &mut Client, progress: &Progress) {
        let mut under_way: VecDeque<Sent> = VecDeque::new();
        loop {
            let mut requests = Vec::new();
            if !progress.stop.load(Ordering::Relaxed) {
                while under_way.len() < PIPELINE {
                    self.next(&mut requests, &mut under_way);
                }
            }
            if under_way.is_empty() {
                return;
            }
            if client.send_raw(&requests).is_err() {
                return;
            }
            // Half of the pipeline stays full while the other half is answered.
            for _ in 0..under_way.len().div_ceil(2) {
                let Ok(reply) = client.receive() else {
                    return;
                };
                let Some(sent) = under_way.pop_front() else {
                    return;
                };
                match sent {
                    Sent::Queued => assert!(!reply.is_error(), "queueing was refused: {reply}"),
                    _ if reply.is_error() => {
                        progress.refused.fetch_add(1, Ordering::Relaxed);
                        panic!("a write was refused: {reply}");
                    }
                    Sent::Single(key) => self.ledger.on_acknowledged(&key),
                    Sent::Pair(number) => {
                        assert!(reply.items().is_some(), "EXEC was answered with {reply}");
                        self.pair.0 = number;
                    }
                }
                progress.acknowledged.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Makes up the next operation.
    fn next(&mut self, requests: &mut Vec<u8>, under_way: &mut VecDeque<Sent>) {
        if self.random.once_in(20) {
            self.pair.1 += 1;
            let number = self.pair.1.to_string();
            let [left, right] = self.pair_keys();
            encode(requests, &["MULTI"]);
            encode(requests, &["SET", &left, &number]);
            encode(requests, &["SET", &right, &number]);
            encode(requests, &["EXEC"]);
            under_way.extend([
                Sent::Queued,
                Sent::Queued,
                Sent::Queued,
                Sent::Pair(self.pair.1),
            ]);
            return;
        }
        let index = self.random.below(KEYS);
        let key = format!("{}:{index}", self.name).into_bytes();
        // One key in four is a counter and stays a number.
        let operation = if index.is_multiple_of(4) {
            match self.random.below(8) {
                0 => Operation::Delete,
                _ => Operation::Increment(self.random.within(1, 100)),
            }
        } else {
            match self.random.below(12) {
                0 | 1 => Operation::Delete,
                2 => Operation::ExpireAt(0),
                3 => Operation::ExpireAt(FAR + self.random.bits() % 1000),
                4 => Operation::SetUntil(self.value(), FAR + self.random.bits() % 1000),
                5 | 6 => Operation::Append(self.random.bits().to_string().into_bytes()),
                _ => Operation::Set(self.value()),
            }
        };
        encode(requests, &operation.request(&key));
        self.ledger.on_sent(&key, &operation);
        under_way.push_back(Sent::Single(key));
    }

    fn value(&mut self) -> Vec<u8> {
        // Mostly small, now and then large enough to cross buffers and blocks.
        let len = if self.random.once_in(50) {
            20_000
        } else {
            self.random.below(self.value_bytes_max)
        };
        self.random.bytes(len)
    }

    fn pair_keys(&self) -> [String; 2] {
        ["left", "right"].map(|side| format!("{{{}}}:{side}", self.name))
    }

    /// Compares what the server holds with what this writer was promised.
    ///
    /// # Panics
    /// If something acknowledged is missing, or half of a transaction is there.
    pub fn audit(&mut self, port: u16) {
        let mut client = self.connect(port);
        self.ledger.audit(&mut client);
        let numbers = self.pair_keys().map(|key| {
            let reply = client.call(&["GET", &key]);
            if reply.is_null() {
                0
            } else {
                reply.text().parse::<i64>().expect("a number")
            }
        });
        let [left, right] = numbers;
        assert_eq!(left, right, "half of a transaction was kept");
        let (acknowledged, sent) = self.pair;
        assert!(
            (acknowledged..=sent).contains(&left),
            "transaction {acknowledged} was acknowledged and {sent} sent, but {left} is there"
        );
        self.pair = (left, left);
    }
}
