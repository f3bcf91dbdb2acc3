//! A Redis or Valkey that people write to while it is imported, and what they were told.
//!
//! In:  a program, a rate. Out: every key's value as its writer knows it, to be compared with the table.
//!
//! Invariants:
//! - A key has one writer, who waits for each answer: what was acknowledged is known exactly.
//! - A writer ends at the first refusal. What is refused was not executed.

use crate::{
    binary::installed, client::Client, deadline::wait_for, port::free_block, process::Process,
    random::Random, skip::announce,
};
use brickyard_tls::Dialer;
use std::{
    collections::BTreeMap,
    io,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Keys of each kind that a writer has.
const KEYS: usize = 500;

/// So far away that nothing expires while it is looked at.
const EXPIRES_AT_MS: &str = "4102444800000";

/// A source that runs.
#[derive(Debug)]
pub struct Origin {
    /// The process, to be killed or signalled.
    pub process: Process,
    /// Where it listens.
    pub port: u16,
    tls: Option<Dialer>,
}

impl Origin {
    /// Starts `redis-server` or `valkey-server`, if it is there; otherwise announces that `what` is skipped.
    #[must_use]
    pub fn start(program: &str, what: &str, folder: &Path) -> Option<Self> {
        Self::start_by(program, what, folder, (&[], None))
    }

    /// The same with more arguments; with a dialer it speaks TLS alone, by certificates that the arguments name.
    #[must_use]
    pub fn start_by(
        program: &str,
        what: &str,
        folder: &Path,
        (more, tls): (&[&str], Option<Dialer>),
    ) -> Option<Self> {
        let Some(path) = installed(program) else {
            let why = format!("{program} is not on the PATH; install it, or run .ci/clients");
            announce(what, &why);
            return None;
        };
        let port = free_block(1);
        let number = port.to_string();
        let mut command = Command::new(path);
        let ports: &[&str] = match tls {
            None => &["--port", &number],
            Some(_) => &["--port", "0", "--tls-port", &number],
        };
        command
            .args(["--bind", "127.0.0.1", "--save", ""])
            .args(ports)
            .args(more)
            .arg("--dir")
            .arg(folder);
        let process = Process::start(&mut command, &folder.join("origin"));
        let origin = Self { process, port, tls };
        wait_for("the source to answer", || {
            origin.try_connect().ok()?.try_call(&["PING"]).ok()
        });
        Some(origin)
    }

    /// A connection.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn connect(&self) -> Client {
        self.try_connect().expect("the source answers")
    }

    fn try_connect(&self) -> io::Result<Client> {
        Client::try_connect_by("127.0.0.1", self.port, self.tls.as_ref())
    }

    /// Gives it so many keys, `old:0` to `old:(count - 1)`, each with its number as the value.
    ///
    /// # Panics
    /// If it refuses them.
    pub fn fill(&self, count: u64) {
        let mut client = self.connect();
        for first in (0..count).step_by(1000) {
            let mut words = vec!["MSET".to_owned()];
            for number in first..count.min(first + 1000) {
                words.extend([format!("old:{number}"), format!("value of {number}")]);
            }
            client.must(&words);
        }
    }
}

/// What a key has: its value, and whether it expires.
type State = Option<(Vec<u8>, bool)>;

/// What the writers were told.
#[derive(Debug, Default)]
pub struct Told {
    /// Each key's last acknowledged state.
    pub keys: BTreeMap<String, State>,
    /// Writes that were acknowledged.
    pub acknowledged: u64,
    /// The longest wait for an answer.
    pub longest: Duration,
    /// The refusals at which writers ended.
    pub refusals: Vec<String>,
}

/// Writers at work.
#[derive(Debug)]
pub struct Writers {
    threads: Vec<JoinHandle<Told>>,
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
}

impl Writers {
    /// Starts `count` of them, who make `rate` writes a second together.
    #[must_use]
    pub fn start(port: u16, count: u64, rate: u64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let acknowledged = Arc::new(AtomicU64::new(0));
        let threads = (0..count).map(|number| {
            let mut writer = Writer {
                client: Client::connect(port),
                name: format!("w{number}"),
                random: Random::new(number + 1),
                told: Told::default(),
                stop: Arc::clone(&stop),
                acknowledged: Arc::clone(&acknowledged),
            };
            let every = Duration::from_secs_f64(count as f64 / rate as f64);
            thread::spawn(move || {
                writer.run(every);
                writer.told
            })
        });
        Self {
            threads: threads.collect(),
            stop: Arc::clone(&stop),
            acknowledged: Arc::clone(&acknowledged),
        }
    }

    /// Writes that were acknowledged so far.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Ends them, if refusals have not; what they were told.
    ///
    /// # Panics
    /// If a writer has.
    #[must_use]
    pub fn stop(self) -> Told {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Told::default();
        for thread in self.threads {
            let told = thread.join().expect("a writer comes to its end");
            all.keys.extend(told.keys);
            all.acknowledged += told.acknowledged;
            all.longest = all.longest.max(told.longest);
            all.refusals.extend(told.refusals);
        }
        all
    }
}

struct Writer {
    client: Client,
    name: String,
    random: Random,
    told: Told,
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
}

impl Writer {
    fn run(&mut self, every: Duration) {
        let begin = Instant::now();
        let mut count = 0_u32;
        while !self.stop.load(Ordering::Relaxed) {
            // The rate, not a state, is waited for.
            if let Some(early) = (every * count).checked_sub(begin.elapsed()) {
                thread::sleep(early);
            }
            count += 1;
            if !self.write() {
                return;
            }
        }
    }

    /// One write; whether it was acknowledged.
    fn write(&mut self) -> bool {
        let number = self.random.below(KEYS);
        let counter = format!("{}:counter:{number}", self.name);
        let text = format!("{}:text:{number}", self.name);
        let state = |key: &str| self.told.keys.get(key).cloned().flatten();
        let value = self.random.below(1 << 30).to_string();
        let (words, changes): (Vec<&str>, Vec<(String, State)>) = match self.random.below(16) {
            0..=4 => (
                vec!["SET", &text, &value],
                vec![(text.clone(), plain(&value))],
            ),
            5..=8 => {
                let (before, expires) = state(&counter).unwrap_or_default();
                let before: u64 = String::from_utf8_lossy(&before).parse().unwrap_or(0);
                let after = (before + 1).to_string().into_bytes();
                (
                    vec!["INCR", &counter],
                    vec![(counter.clone(), Some((after, expires)))],
                )
            }
            9 | 10 => {
                let (mut before, expires) = state(&text).unwrap_or_default();
                before.extend(b"+more");
                (
                    vec!["APPEND", &text, "+more"],
                    vec![(text.clone(), Some((before, expires)))],
                )
            }
            11 => (vec!["DEL", &text], vec![(text.clone(), None)]),
            12 => (
                vec!["SET", &text, &value, "PXAT", EXPIRES_AT_MS],
                vec![(text.clone(), Some((value.clone().into_bytes(), true)))],
            ),
            13 => {
                let after = state(&text).map(|(value, _)| (value, true));
                (
                    vec!["EXPIREAT", &text, "4102444800"],
                    vec![(text.clone(), after)],
                )
            }
            14 => {
                let after = state(&text).map(|(value, _)| (value, false));
                (vec!["PERSIST", &text], vec![(text.clone(), after)])
            }
            _ => {
                let Some(moved) = state(&text) else {
                    return true;
                };
                // Elsewhere in the table, as a rule.
                let other = format!("{}:text:{}", self.name, (number + 1) % KEYS);
                let words = vec!["RENAME", &text, other.as_str()];
                let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
                return self.send(&words, vec![(text, None), (other, Some(moved))]);
            }
        };
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        self.send(&words, changes)
    }

    fn send(&mut self, words: &[String], changes: Vec<(String, State)>) -> bool {
        let begin = Instant::now();
        let reply = match self.client.try_call(words) {
            Ok(reply) => reply,
            Err(error) => panic!("{}: no answer to {words:?}: {error}", self.name),
        };
        self.told.longest = self.told.longest.max(begin.elapsed());
        if reply.is_error() {
            self.told.refusals.push(reply.text());
            return false;
        }
        self.told.keys.extend(changes);
        self.told.acknowledged += 1;
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
        true
    }
}

fn plain(value: &str) -> State {
    Some((value.as_bytes().to_vec(), false))
}

impl Told {
    /// How many keys have another value in the table than the one that was acknowledged, and the first of them.
    #[must_use]
    pub fn missing(&self, client: &mut Client) -> (usize, Option<String>) {
        let mut count = 0;
        let mut first = None;
        for (key, state) in &self.keys {
            let value = client.call(&["GET", key]);
            let expires = client
                .call(&["PTTL", key])
                .as_integer()
                .is_some_and(|it| it > 0);
            let found = value.as_bytes().map(|it| (it.to_vec(), expires));
            if found != *state {
                count += 1;
                first.get_or_insert_with(|| {
                    format!("{key}: acknowledged {state:?}, found {found:?}")
                });
            }
        }
        (count, first)
    }
}
