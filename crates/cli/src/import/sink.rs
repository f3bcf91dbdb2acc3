//! The tables that are filled, through the client library.
//!
//! In:  changes of keys. Out: word of those that were acknowledged, in the order in which they were sent.
//!
//! Invariant: a value, a removal and a time of expiry are sent again until they are acknowledged, whatever became of the
//! first: they store the same. A command that is to be executed once is not.

use crate::load::writer::is_momentary;
use anyhow::{Context, anyhow, bail, ensure};
use brickyard_bench::Target;
use brickyard_client::{Client, Error, Options, Pending, Table, Value};
use brickyard_import::{KeyChange, KeyPlace, PlannedAction};
use brickyard_rdb::{RdbValue, dump_hash};
use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

/// Changes that may be under way,
const WINDOW: usize = 4096;
/// or bytes of them.
const WINDOW_BYTES: usize = 16 << 20;

/// How long one attempt may take: the server's own deadline.
const ATTEMPT: Duration = Duration::from_secs(5);
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// Where databases go.
pub(crate) struct Sink {
    client: Client,
    tables: BTreeMap<u32, Table>,
    patience: Duration,
    flights: VecDeque<Flight>,
    bytes: usize,
    /// Changes that were acknowledged.
    pub(crate) stored: u64,
}

struct Flight {
    action: PlannedAction,
    reply: Pending<Value>,
    since: Instant,
}

impl Sink {
    /// Finds the cluster and the tables.
    pub(crate) async fn open(
        target: &Target,
        others: &[String],
        names: &BTreeMap<u32, String>,
        patience: Duration,
    ) -> anyhow::Result<Self> {
        let seeds = std::iter::once(target.address.clone()).chain(others.iter().cloned());
        let client = Client::connect(Options {
            user: target.user.clone(),
            password: target.password.clone(),
            tls: target.tls.clone(),
            deadline: ATTEMPT,
            ..Options::new(seeds)
        });
        let client = client
            .await
            .with_context(|| format!("cannot find the cluster of {}", target.address))?;
        let tables = names
            .iter()
            .map(|(database, name)| (*database, client.table(name)));
        let tables = tables.collect();
        Ok(Self {
            client,
            tables,
            patience,
            flights: VecDeque::new(),
            bytes: 0,
            stored: 0,
        })
    }

    pub(crate) fn table(&self, database: u32) -> anyhow::Result<&Table> {
        self.tables
            .get(&database)
            .with_context(|| format!("database {database} has no table"))
    }

    /// How many keys all tables have.
    pub(crate) async fn len(&self, names: &BTreeMap<u32, String>) -> anyhow::Result<u64> {
        let mut len = 0;
        for (database, table) in &self.tables {
            let name = names.get(database).map(String::as_str).unwrap_or_default();
            len += table.len().await.with_context(|| {
                format!("table '{name}' of the target; `brickyard table create {name}` makes one")
            })?;
        }
        Ok(len)
    }

    pub(crate) fn has_room(&self) -> bool {
        self.flights.len() < WINDOW && self.bytes < WINDOW_BYTES
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.flights.is_empty()
    }

    /// Sends a change.
    pub(crate) fn send(&mut self, action: PlannedAction) -> anyhow::Result<()> {
        self.bytes += bytes_of(&action);
        let reply = self.call(&action)?;
        self.flights.push_back(Flight {
            action,
            reply,
            since: Instant::now(),
        });
        Ok(())
    }

    fn call(&self, action: &PlannedAction) -> anyhow::Result<Pending<Value>> {
        let (place, change) = match action {
            PlannedAction::Change(place, change) => (place, change),
            PlannedAction::Flush(database) => {
                let table = self
                    .table(*database)?
                    .with_deadline(self.patience.max(ATTEMPT));
                return Ok(table.command(&["FLUSHDB"]));
            }
        };
        let table = self.table(place.database)?;
        let key = &place.key[..];
        Ok(match change {
            KeyChange::Set {
                value: RdbValue::String(value),
                expires_at: None,
            } => table.command(&[b"SET", key, value]),
            KeyChange::Set {
                value: RdbValue::String(value),
                expires_at: Some(at),
            } => table.command(&[b"SET", key, value, b"PXAT", at.to_string().as_bytes()]),
            KeyChange::Set {
                value: RdbValue::Hash(fields),
                expires_at,
            } => {
                let fields = fields.iter();
                let fields = fields.map(|it| (&it.name[..], &it.value[..], it.expires_at));
                let payload = dump_hash(fields);
                let at = expires_at.unwrap_or(0).to_string();
                table.command(&[
                    b"RESTORE",
                    key,
                    at.as_bytes(),
                    &payload,
                    b"ABSTTL",
                    b"REPLACE",
                ])
            }
            KeyChange::Delete => table.command(&[b"DEL", key]),
            KeyChange::ExpireAt(at) => {
                table.command(&[b"PEXPIREAT", key, at.to_string().as_bytes()])
            }
            KeyChange::Persist => table.command(&[b"PERSIST", key]),
            KeyChange::Execute(words) => table.command(words),
        })
    }

    /// Waits for the oldest change under way to be acknowledged; for ever, if there is none.
    ///
    /// Nothing is lost when it is dropped before: what it has waited for is waited for again.
    pub(crate) async fn next(&mut self) -> anyhow::Result<PlannedAction> {
        loop {
            let Some(flight) = self.flights.front_mut() else {
                return std::future::pending().await;
            };
            let result = (&mut flight.reply).await;
            let Some(mut flight) = self.flights.pop_front() else {
                bail!("what was under way is gone");
            };
            match result {
                Ok(_) => {
                    self.bytes -= bytes_of(&flight.action);
                    self.stored += 1;
                    return Ok(flight.action);
                }
                Err(error) if is_momentary(&error) && can_repeat(&flight.action) => {
                    ensure!(
                        flight.since.elapsed() < self.patience,
                        "{error}; it was tried for {:?}, see --patience. Run the same command again: it goes on",
                        self.patience
                    );
                    flight.reply = self.call(&flight.action)?;
                    self.flights.push_front(flight);
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => {
                    let what = describe(&flight.action);
                    return Err(match error {
                        Error::Refused { text } => anyhow!("the target refused {what}: {text}"),
                        error => {
                            anyhow::Error::new(error).context(format!("the target, at {what}"))
                        }
                    });
                }
            }
        }
    }

    /// Executes a command once, when nothing else is under way.
    pub(crate) async fn execute(&self, database: u32, words: &[Vec<u8>]) -> Result<Value, Error> {
        match self.tables.get(&database) {
            Some(table) => table.command(words).await,
            None => Ok(Value::Null),
        }
    }

    pub(crate) fn close(&self) {
        self.client.close();
    }
}

fn can_repeat(action: &PlannedAction) -> bool {
    !matches!(action, PlannedAction::Change(_, KeyChange::Execute(_)))
}

fn bytes_of(action: &PlannedAction) -> usize {
    match action {
        PlannedAction::Change(KeyPlace { key, .. }, KeyChange::Set { value, .. }) => {
            key.len() + value.bytes()
        }
        PlannedAction::Change(KeyPlace { key, .. }, KeyChange::Execute(words)) => {
            key.len() + words.iter().map(Vec::len).sum::<usize>()
        }
        PlannedAction::Change(place, _) => place.key.len(),
        PlannedAction::Flush(_) => 0,
    }
}

fn describe(action: &PlannedAction) -> String {
    match action {
        PlannedAction::Change(place, change) => {
            let verb = match change {
                KeyChange::Set { value, .. } => format!("a value of {} bytes", value.bytes()),
                KeyChange::Delete => "a removal".to_owned(),
                KeyChange::ExpireAt(_) => "a time of expiry".to_owned(),
                KeyChange::Persist => "the end of an expiry".to_owned(),
                KeyChange::Execute(words) => {
                    String::from_utf8_lossy(words.first().map(Vec::as_slice).unwrap_or_default())
                        .into_owned()
                }
            };
            format!(
                "{verb} of the key '{}'",
                String::from_utf8_lossy(&place.key)
            )
        }
        PlannedAction::Flush(_) => "FLUSHDB".to_owned(),
    }
}
