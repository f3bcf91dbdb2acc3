//! Plays a sequence to two servers and compares what they answer.

use super::compare::{Rule, differs, rule, transaction_differs};
use super::{Difference, Move, NO_REPLY, Step, pieces};
use crate::client::{Client, encode, shown};
use crate::deadline::{PATIENCE, try_wait_for};
use crate::random::Random;
use crate::value::Value;
use std::collections::BTreeSet;
use std::io;

/// Most commands that are sent before their replies are read.
const BURST_MAX: usize = 12;

/// The two servers, the first of which is right.
#[derive(Debug)]
pub struct Pair {
    sides: [Side; 2],
    /// Empties what the sequence works on.
    flush: &'static str,
}

/// One server with two connections.
#[derive(Debug)]
struct Side {
    port: u16,
    /// Sent first on each connection of a sequence, e.g. `TABLE USE cold`.
    prologue: Vec<Vec<&'static str>>,
    connections: [Client; 2],
}

/// What a connection is in the middle of.
#[derive(Clone, Debug, Default)]
struct Progress {
    is_queueing: bool,
    /// The rules of the commands queued since `MULTI`.
    queued: Vec<Rule>,
}

impl Pair {
    /// Compares the server at `ours` with the one at `reference`.
    #[must_use]
    pub fn new(reference: u16, ours: u16) -> Self {
        let side = |port| Side {
            port,
            prologue: vec![vec!["RESET"]],
            connections: [Client::connect(port), Client::connect(port)],
        };
        Self {
            sides: [side(reference), side(ours)],
            flush: "FLUSHALL",
        }
    }

    /// Has our side work on a table of its own instead of the default one.
    #[must_use]
    pub fn on_table(mut self, table: &'static str) -> Self {
        self.sides[1].prologue.push(vec!["TABLE", "USE", table]);
        self.flush = "FLUSHDB";
        self
    }

    /// Plays `moves`; returns the first difference.
    pub fn run(&mut self, moves: &[Move], seed: u64) -> Option<Difference> {
        let outcome = match self.prepare() {
            Ok(()) => self.play(moves, seed),
            Err(error) => Some(Difference::new(0, error)),
        };
        if outcome.is_some() {
            // Connections may be in the middle of anything now.
            self.reconnect(0);
            self.reconnect(1);
        }
        outcome
    }

    /// Brings both connections of both servers to the same empty start.
    fn prepare(&mut self) -> Result<(), String> {
        for side in &mut self.sides {
            for client in &mut side.connections {
                for request in &side.prologue {
                    let reply = client
                        .try_call(request)
                        .map_err(|error| format!("{request:?}: {error}"))?;
                    if reply.is_error() {
                        return Err(format!("{} was answered with {reply}", shown(request)));
                    }
                }
            }
            let reply = side.connections[0].call(&[self.flush]);
            if !reply.is_ok() {
                return Err(format!("{} was answered with {reply}", self.flush));
            }
        }
        Ok(())
    }

    fn reconnect(&mut self, connection: usize) {
        for side in &mut self.sides {
            side.connections[connection] = Client::connect(side.port);
        }
    }

    fn play(&mut self, moves: &[Move], seed: u64) -> Option<Difference> {
        let mut random = Random::new(seed);
        let mut progress = [Progress::default(), Progress::default()];
        let mut begin = 0;
        while begin < moves.len() {
            let Move { connection, step } = &moves[begin];
            let state = &mut progress[*connection];
            let difference = match step {
                Step::Call(_) => {
                    let burst = 1 + random.below(BURST_MAX);
                    let calls: Vec<&[Vec<u8>]> = moves[begin..]
                        .iter()
                        .take(burst)
                        .map_while(|next| match &next.step {
                            Step::Call(arguments) if next.connection == *connection => {
                                Some(arguments.as_slice())
                            }
                            _ => None,
                        })
                        .collect();
                    let difference = self.burst(*connection, &calls, state, &mut random);
                    let end = begin + calls.len();
                    let difference =
                        difference.map(|(offset, text)| Difference::new(begin + offset, text));
                    begin = end;
                    if difference.is_some() {
                        return difference;
                    }
                    continue;
                }
                // The other steps read one reply each, which a transaction would queue.
                _ if state.is_queueing => None,
                Step::Scan(options) => self.scan(*connection, options),
                Step::RandomKey => self.random_key(*connection),
                Step::Expire(key) => self.expire(*connection, key),
            };
            if let Some(text) = difference {
                return Some(Difference::new(begin, text));
            }
            begin += 1;
        }
        None
    }

    /// Sends several requests at once and compares their replies one by one.
    fn burst(
        &mut self,
        connection: usize,
        calls: &[&[Vec<u8>]],
        progress: &mut Progress,
        random: &mut Random,
    ) -> Option<(usize, String)> {
        let mut request = Vec::new();
        for call in calls {
            encode(&mut request, call);
        }
        let [reference, ours] = &mut self.sides;
        // The write may fail halfway when the server closes the connection early; what it answered
        // before is still to be compared.
        for side in [&mut *reference, &mut *ours] {
            let client = &mut side.connections[connection];
            for piece in pieces(&request, random) {
                if client.send_raw(piece).is_err() {
                    break;
                }
            }
        }
        for (offset, call) in calls.iter().enumerate() {
            let expected = reference.connections[connection].receive();
            let got = ours.connections[connection].receive();
            let (expected, got) = match (expected, got) {
                (Ok(expected), Ok(got)) => (expected, got),
                (Err(a), Err(b)) if is_closed(&a) && is_closed(&b) => {
                    *progress = Progress::default();
                    self.reconnect(connection);
                    return None;
                }
                (expected, got) => {
                    let text = |reply: io::Result<Value>| match reply {
                        Ok(reply) => reply.to_string(),
                        Err(error) if is_timeout(&error) => NO_REPLY.to_owned(),
                        Err(error) => error.to_string(),
                    };
                    return Some((offset, differing(call, &text(expected), &text(got))));
                }
            };
            let rule = progress.rule(call, &expected);
            let is_different = match (&rule, expected.items(), got.items()) {
                (Outcome::Transaction(rules), Some(a), Some(b)) if a.len() == b.len() => {
                    let pairs = a.iter().zip(b);
                    rules.len() != a.len()
                        || rules
                            .iter()
                            .zip(pairs)
                            .any(|(&rule, (a, b))| differs(rule, a, b))
                }
                (Outcome::Transaction(_), ..) => transaction_differs(&expected, &got),
                (Outcome::Single(rule), ..) => differs(*rule, &expected, &got),
            };
            if is_different {
                return Some((
                    offset,
                    differing(call, &expected.to_string(), &got.to_string()),
                ));
            }
        }
        None
    }

    /// Compares the keys that two whole iterations of `SCAN` return.
    fn scan(&mut self, connection: usize, options: &[Vec<u8>]) -> Option<String> {
        let [expected, got] = self
            .sides
            .each_mut()
            .map(|side| scan(&mut side.connections[connection], options));
        (expected != got).then(|| {
            let text = |found: Result<BTreeSet<Value>, String>| match found {
                Ok(keys) => Value::Array(keys.into_iter().collect()).to_string(),
                Err(error) => error,
            };
            differing(&[b"SCAN".to_vec()], &text(expected), &text(got))
        })
    }

    fn random_key(&mut self, connection: usize) -> Option<String> {
        let [reference, ours] = &mut self.sides;
        let expected = reference.connections[connection].call(&["RANDOMKEY"]);
        let got = ours.connections[connection].call(&["RANDOMKEY"]);
        let is_right = match got.as_bytes() {
            Some(key) => {
                reference.connections[connection].call(&[b"EXISTS", key]) == Value::Integer(1)
            }
            None => expected == got,
        };
        (!is_right).then(|| {
            differing(
                &[b"RANDOMKEY".to_vec()],
                &expected.to_string(),
                &got.to_string(),
            )
        })
    }

    fn expire(&mut self, connection: usize, key: &[u8]) -> Option<String> {
        for (name, side) in ["the reference", "ours"].into_iter().zip(&mut self.sides) {
            let client = &mut side.connections[connection];
            let gone = try_wait_for(PATIENCE, || {
                // In case the sequence gave the key no short life after all (a SET that was refused).
                client
                    .call(&[b"PTTL", key])
                    .as_integer()
                    .filter(|&left| !(0..1_000).contains(&left))
            });
            if gone.is_none() {
                return Some(format!("the key never expired at {name}"));
            }
        }
        None
    }
}

/// How a reply is compared: as one, or as the list of replies of a transaction.
enum Outcome {
    Single(Rule),
    Transaction(Vec<Rule>),
}

impl Progress {
    /// The rule for the reply to `call`, following the transaction by what the reference answers.
    fn rule(&mut self, call: &[Vec<u8>], expected: &Value) -> Outcome {
        let name = call
            .first()
            .map(|name| name.to_ascii_uppercase())
            .unwrap_or_default();
        match name.as_slice() {
            b"MULTI" if expected.is_ok() => {
                *self = Self {
                    is_queueing: true,
                    queued: Vec::new(),
                };
            }
            b"EXEC" if self.is_queueing && call.len() == 1 => {
                return Outcome::Transaction(std::mem::take(self).queued);
            }
            b"DISCARD" if expected.is_ok() => *self = Self::default(),
            b"RESET" if !expected.is_error() => *self = Self::default(),
            _ if self.is_queueing
                && matches!(expected, Value::Simple(text) if text == b"QUEUED") =>
            {
                self.queued.push(rule(call));
                return Outcome::Single(Rule::Exact);
            }
            _ => {}
        }
        Outcome::Single(rule(call))
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
    )
}

fn differing(call: &[Vec<u8>], expected: &str, got: &str) -> String {
    // A reply to COMMAND would fill screens.
    const SHOWN: usize = 2_000;
    let cut = |text: &str| text.chars().take(SHOWN).collect::<String>();
    format!(
        "{}\n  expected: {}\n  got:      {}",
        shown(call),
        cut(expected),
        cut(got)
    )
}

/// Iterates to the end; the keys found, or what went wrong.
fn scan(client: &mut Client, options: &[Vec<u8>]) -> Result<BTreeSet<Value>, String> {
    const CALLS_MAX: usize = 100_000;
    let mut found = BTreeSet::new();
    let mut cursor = b"0".to_vec();
    for _ in 0..CALLS_MAX {
        let mut request = vec![b"SCAN".to_vec(), cursor];
        request.extend_from_slice(options);
        let reply = client.call(&request);
        let Some([next, keys]) = reply.items() else {
            return Err(reply.to_string());
        };
        found.extend(keys.items().unwrap_or_default().iter().cloned());
        cursor = next.as_bytes().unwrap_or_default().to_vec();
        if cursor == b"0" {
            return Ok(found);
        }
    }
    Err(format!("no end after {CALLS_MAX} calls"))
}
