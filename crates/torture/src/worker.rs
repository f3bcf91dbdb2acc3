//! What one client does.

use crate::load::{Common, LoadOptions};
use crate::recording::{Kind, Recording, Wait};
use brickyard_client::{Error, SetOptions, SetOutcome, Table};
use brickyard_history::{Action, Bytes, Operation, Outcome};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// An appended value longer than this is set anew, so that values stay small.
const VALUE_BYTES_MAX: i64 = 200;

/// See the module.
pub(crate) struct Worker {
    number: u32,
    is_reader: bool,
    table: Table,
    keys: Vec<Bytes>,
    is_mixed: bool,
    pause: Duration,
    common: Arc<Common>,
    dice: u64,
    /// Writes so far: every value that is written is a new one.
    writes: u64,
    recording: Recording,
    /// What the last attempt was told that failed.
    told: String,
}

/// What a key is used for, so that most operations make sense on what they find.
#[derive(Clone, Copy)]
enum Use {
    Value,
    Counter,
    Text,
}

impl Worker {
    pub(crate) fn new(
        number: u32,
        is_reader: bool,
        table: Table,
        options: &LoadOptions,
        common: Arc<Common>,
    ) -> Self {
        Self {
            number,
            is_reader,
            table,
            keys: options
                .keys
                .iter()
                .map(|key| key.as_bytes().into())
                .collect(),
            is_mixed: options.is_mixed,
            pause: options.pause,
            common,
            dice: 0x9e37_79b9_7f4a_7c15 ^ u64::from(number),
            writes: 0,
            recording: Recording::default(),
            told: String::new(),
        }
    }

    pub(crate) async fn work(mut self) -> Recording {
        while !self.common.is_over.load(Ordering::Relaxed) {
            let at = self.below(self.keys.len() as u64);
            let key = Arc::clone(&self.keys[at]);
            let mut action = self.choose(at);
            let kind = if action.is_read() {
                Kind::Read
            } else {
                Kind::Write
            };
            let called = self.common.now();
            let mut failed = 0;
            self.told.clear();
            // One wait, however often it has to be tried: that is what a caller waits.
            loop {
                let outcome = self.execute(&key, &action).await;
                let is_done = !matches!(outcome, Outcome::Unknown | Outcome::Refused);
                if is_done {
                    let returned = self.common.now();
                    self.recording.waits.push(Wait {
                        kind,
                        key: Arc::clone(&key),
                        called,
                        returned,
                        failed,
                        told: std::mem::take(&mut self.told),
                    });
                    self.common.done[kind as usize].fetch_add(1, Ordering::Relaxed);
                    break;
                }
                failed += 1;
                if self.common.is_over.load(Ordering::Relaxed) {
                    break;
                }
                // Who is refused at once asks again at the same pace.
                tokio::time::sleep(self.pause).await;
                if outcome == Outcome::Unknown {
                    // What is unknown may still happen: another value tells the two apart.
                    action = self.another(action);
                }
            }
            tokio::time::sleep(self.pause).await;
        }
        self.recording
    }

    fn below(&mut self, n: u64) -> usize {
        self.dice = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.dice >> 33) % n) as usize
    }

    fn value(&mut self) -> Bytes {
        self.writes += 1;
        format!("<{}.{}>", self.number, self.writes)
            .into_bytes()
            .into()
    }

    fn choose(&mut self, at: usize) -> Action {
        if self.is_reader {
            return Action::Get;
        }
        if !self.is_mixed {
            return Action::Set(self.value());
        }
        let used_as = match at % 4 {
            0 => Use::Counter,
            1 => Use::Text,
            _ => Use::Value,
        };
        match (self.below(10), used_as) {
            (0 | 1, _) => Action::Get,
            (2, _) => Action::Delete,
            (_, Use::Counter) => Action::Increment(1),
            (_, Use::Text) => Action::Append(self.value()),
            (3, _) => Action::CompareAndSet {
                expected: None,
                value: self.value(),
            },
            _ => Action::Set(self.value()),
        }
    }

    fn another(&mut self, action: Action) -> Action {
        match action {
            Action::Set(_) => Action::Set(self.value()),
            Action::Append(_) => Action::Append(self.value()),
            Action::CompareAndSet { expected, .. } => Action::CompareAndSet {
                expected,
                value: self.value(),
            },
            Action::Get
            | Action::Delete
            | Action::Increment(_)
            | Action::Clear
            | Action::Expire(_) => action,
        }
    }

    async fn execute(&mut self, key: &Bytes, action: &Action) -> Outcome {
        let called = self.common.now();
        let replied = self.call(key, action).await;
        if let Err(error) = &replied {
            self.told = error.to_string();
        }
        let outcome = match replied {
            Ok(outcome) => outcome,
            // A read that failed tells nothing, and changed nothing.
            Err(_) if action.is_read() => Outcome::Refused,
            Err(Error::Refused { text }) if text.starts_with("ERR value is not an integer") => {
                Outcome::WrongValue
            }
            Err(error) if error.is_not_executed() => Outcome::Refused,
            Err(_) => Outcome::Unknown,
        };
        let returned = self.common.now();
        if outcome == Outcome::Refused {
            self.recording.refused += 1;
        }
        let is_long = matches!((action, &outcome), (Action::Append(_), Outcome::Number(len)) if *len > VALUE_BYTES_MAX);
        self.recording.operations.push(Operation {
            key: Arc::clone(key),
            action: action.clone(),
            called,
            returned,
            outcome: outcome.clone(),
            client: self.number,
        });
        if is_long {
            let shorter = Action::Set(self.value());
            Box::pin(self.execute(key, &shorter)).await;
        }
        outcome
    }

    async fn call(&self, key: &Bytes, action: &Action) -> Result<Outcome, Error> {
        let table = &self.table;
        Ok(match action {
            Action::Get => Outcome::Value(table.get(key).await?.map(Bytes::from)),
            Action::Set(value) => {
                table.set(key, value).await?;
                Outcome::Done
            }
            Action::Delete => Outcome::Did(table.del(key).await?),
            Action::Append(value) => {
                let len = table.append(key, value).await?;
                Outcome::Number(i64::try_from(len).unwrap_or(i64::MAX))
            }
            // Nobody can ask for it: it comes by itself, and this load sets no expiry.
            Action::Clear | Action::Expire(_) => Outcome::Refused,
            Action::Increment(by) => Outcome::Number(table.incr_by(key, *by).await?),
            Action::CompareAndSet { expected, value } => {
                let options = match expected {
                    None => SetOptions::new().if_missing(),
                    Some(expected) => SetOptions::new().if_equals(expected.to_vec()),
                };
                let outcome = table.set_with(key, value, options).await?;
                Outcome::Did(matches!(
                    outcome,
                    SetOutcome {
                        is_stored: true,
                        ..
                    }
                ))
            }
        })
    }
}
