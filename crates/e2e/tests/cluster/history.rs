//! What clients did and saw, and whether one table could have answered so.
//!
//! Each key has one writer, which sets it to 1, 2, 3, ... A write that was acknowledged has happened; one whose
//! fate is unknown may happen at any later time, once. Readers may then see the last acknowledged number or a
//! higher one that was sent, and never a lower one than any reader saw before they asked, unless it is one of
//! unknown fate: that is linearizability for such a register, as far as each read can be judged by itself.

use brickyard_e2e::client::Client;
use brickyard_e2e::value::Value;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One key.
#[derive(Debug, Default)]
pub(crate) struct Register {
    /// The last number that was sent.
    sent: AtomicU64,
    /// The highest number that is known to have been written: acknowledged, or read.
    known: AtomicU64,
    /// Numbers that may be written at any later time, over newer ones too: who sent them gave up.
    loose: Mutex<BTreeSet<u64>>,
}

/// What a whole load saw.
#[derive(Debug)]
pub(crate) struct History {
    registers: Vec<Register>,
    pub(crate) violations: Mutex<Vec<String>>,
    pub(crate) writes: AtomicU64,
    pub(crate) reads: AtomicU64,
    pub(crate) unknown: AtomicU64,
    write_stall_us: AtomicU64,
    read_stall_us: AtomicU64,
    is_over: AtomicBool,
}

impl History {
    pub(crate) fn new(keys: usize) -> Self {
        Self {
            registers: (0..keys).map(|_| Register::default()).collect(),
            violations: Mutex::new(Vec::new()),
            writes: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            unknown: AtomicU64::new(0),
            write_stall_us: AtomicU64::new(0),
            read_stall_us: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// The longest that a key went without a successful write, and without a successful read.
    pub(crate) fn stalls(&self) -> (Duration, Duration) {
        let read = |stall: &AtomicU64| Duration::from_micros(stall.load(Ordering::SeqCst));
        (read(&self.write_stall_us), read(&self.read_stall_us))
    }

    /// Writes `keys` in turn until the end; `connect` gives a connection to some node, another each time.
    pub(crate) fn write(
        &self,
        keys: std::ops::Range<usize>,
        mut connect: impl FnMut() -> Option<Client>,
    ) {
        let mut client = None;
        let mut last = Instant::now();
        for key in keys.cycle() {
            if self.is_over.load(Ordering::SeqCst) {
                return;
            }
            let register = &self.registers[key];
            let number = register.sent.fetch_add(1, Ordering::SeqCst) + 1;
            let name = format!("key{key}");
            let value = number.to_string();
            match call(&mut client, &mut connect, &["SET", &name, &value]) {
                Some(reply) if reply.text() == "OK" => {
                    register.known.fetch_max(number, Ordering::SeqCst);
                    self.writes.fetch_add(1, Ordering::SeqCst);
                    note(&self.write_stall_us, &mut last);
                }
                Some(reply) if is_not_executed(&reply) => {
                    // Never happened: the number is free again, since this writer is the only one.
                    register.sent.fetch_sub(1, Ordering::SeqCst);
                }
                _ => {
                    self.unknown.fetch_add(1, Ordering::SeqCst);
                    if let Ok(mut loose) = register.loose.lock() {
                        loose.insert(number);
                    }
                }
            }
        }
    }

    /// Reads keys until the end and checks what comes.
    pub(crate) fn read(&self, mut connect: impl FnMut() -> Option<Client>) {
        let mut client = None;
        let mut last = Instant::now();
        for key in (0..self.registers.len()).cycle() {
            if self.is_over.load(Ordering::SeqCst) {
                return;
            }
            let least = self.registers[key].known.load(Ordering::SeqCst);
            let name = format!("key{key}");
            let Some(reply) = call(&mut client, &mut connect, &["GET", &name]) else {
                continue;
            };
            if matches!(&reply, Value::Error(_)) {
                continue;
            }
            let seen: u64 = reply.text().parse().unwrap_or(0);
            self.reads.fetch_add(1, Ordering::SeqCst);
            note(&self.read_stall_us, &mut last);
            self.check(key, seen, least);
        }
    }

    /// What somebody has read, who knew that `least` had been written before.
    fn check(&self, key: usize, seen: u64, least: u64) {
        let register = &self.registers[key];
        let most = register.sent.load(Ordering::SeqCst);
        let is_loose = register.loose.lock().is_ok_and(|it| it.contains(&seen));
        if (seen < least && !is_loose) || seen > most {
            let text = format!("key{key}: read {seen}, but {least} was written and {most} sent");
            if let Ok(mut violations) = self.violations.lock() {
                violations.push(text);
            }
        }
        register.known.fetch_max(seen, Ordering::SeqCst);
    }

    /// Reads every key once more, when all is quiet.
    pub(crate) fn audit(&self, client: &mut Client) {
        for key in 0..self.registers.len() {
            let least = self.registers[key].known.load(Ordering::SeqCst);
            let reply = client.call(&["GET", &format!("key{key}")]);
            self.check(key, reply.text().parse().unwrap_or(0), least);
        }
    }
}

fn note(stall: &AtomicU64, last: &mut Instant) {
    let now = Instant::now();
    let since = u64::try_from((now - *last).as_micros()).unwrap_or(u64::MAX);
    stall.fetch_max(since, Ordering::SeqCst);
    *last = now;
}

/// Prefixes that promise that the command was not executed.
fn is_not_executed(reply: &Value) -> bool {
    let prefixes = [
        "CLUSTERDOWN",
        "TRYAGAIN",
        "LOADING",
        "NOREPLICAS",
        "BUSY",
        "MISCONF",
        "MOVED",
    ];
    matches!(reply, Value::Error(_)) && prefixes.iter().any(|it| reply.is_error_with(it))
}

/// Calls through the connection at hand, or another; `None` if the outcome is unknown.
fn call(
    client: &mut Option<Client>,
    connect: &mut impl FnMut() -> Option<Client>,
    command: &[&str],
) -> Option<Value> {
    while client.is_none() {
        *client = connect();
    }
    let reply = client.as_mut()?.try_call(command);
    if reply.is_err() {
        *client = None;
    }
    reply.ok()
}
