//! What is asked of the source beside its stream, on a thread of its own: keys that are read anew, and the pause.
//!
//! In:  [`Ask`]s. Out: [`Answer`]s, in their order.
//!
//! Invariant: keys are read in one transaction with the source's offset, so that an answer says exactly which commands of
//! the stream it has in it.

use super::source::{Source, field, primary_of};
use anyhow::{Context, anyhow, bail};
use brickyard_bench::Link;
use brickyard_import::{KeyPlace, ReadOutcome};
use brickyard_rdb::{PayloadError, restore};
use brickyard_wire::{Value, encode_request};
use std::{
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::{Duration, Instant},
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Between two tries to reach the source again.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// A request.
#[derive(Debug)]
pub(crate) enum Ask {
    /// Read these keys.
    Read(Vec<KeyPlace>),
    /// Which of a command's words are keys.
    Keys(Vec<Vec<u8>>),
    /// Hold writers up, for so long at the most, and say where the stream ends.
    Pause(Duration),
    /// Let writers go on.
    Unpause,
}

/// What the source answered.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Keys as they were when the stream was at `offset`, and the types of those that are no strings.
    Read {
        offset: u64,
        outcomes: Vec<(KeyPlace, ReadOutcome)>,
        others: Vec<String>,
    },
    Keys(anyhow::Result<Vec<Vec<u8>>>),
    /// The offset at which the stream stands still.
    Paused(anyhow::Result<u64>),
    Unpaused(anyhow::Result<()>),
    /// The source cannot be asked any more.
    Failed(anyhow::Error),
}

/// Starts the thread.
pub(crate) fn start(
    source: &Source,
    patience: Duration,
) -> anyhow::Result<(Sender<Ask>, UnboundedReceiver<Answer>)> {
    let (asks, inbox) = channel();
    let (outbox, answers) = unbounded_channel();
    let mut asker = Asker::new(source)?;
    asker.patience = patience;
    thread::Builder::new()
        .name("asker".to_owned())
        .spawn(move || asker.run(&inbox, &outbox))
        .context("cannot start a thread")?;
    Ok((asks, answers))
}

/// A connection to the source.
pub(crate) struct Asker {
    source: Source,
    link: Link,
    database: u32,
    patience: Duration,
}

impl Asker {
    pub(crate) fn new(source: &Source) -> anyhow::Result<Self> {
        Ok(Self {
            source: source.clone(),
            link: Link::open(&source.target)?,
            database: 0,
            patience: Duration::ZERO,
        })
    }

    fn run(mut self, inbox: &Receiver<Ask>, outbox: &UnboundedSender<Answer>) {
        while let Ok(ask) = inbox.recv() {
            let answer = match ask {
                Ask::Read(places) => self.read_patiently(&places).unwrap_or_else(Answer::Failed),
                Ask::Keys(words) => Answer::Keys(self.keys(&words)),
                Ask::Pause(longest) => Answer::Paused(self.pause(longest)),
                Ask::Unpause => Answer::Unpaused(self.unpause()),
            };
            if outbox.send(answer).is_err() {
                return;
            }
        }
    }

    /// Reads keys, through a loss of the connection: reading twice does no harm.
    fn read_patiently(&mut self, places: &[KeyPlace]) -> anyhow::Result<Answer> {
        let begin = Instant::now();
        loop {
            let error = match self.read(places) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let is_of_connection = error.chain().any(|it| it.is::<brickyard_bench::Error>());
            if !is_of_connection || begin.elapsed() > self.patience {
                let address = self.source.address();
                return Err(error.context(format!("reading keys at the source {address}")));
            }
            thread::sleep(TRY_AGAIN);
            if let Ok(link) = Link::open(&self.source.target) {
                self.link = link;
                self.database = 0;
            }
        }
    }

    /// Reads keys, and the offset of that moment.
    pub(crate) fn read(&mut self, places: &[KeyPlace]) -> anyhow::Result<Answer> {
        // One database at a time keeps the transaction short; the offset of each part is its own.
        let Some(first) = places.first() else {
            bail!("no key is to be read");
        };
        let (mut outcomes, mut others) = (Vec::with_capacity(places.len()), Vec::new());
        let mut offset = u64::MAX;
        let mut rest = places;
        let mut database = first.database;
        while !rest.is_empty() {
            let count = rest.iter().take_while(|it| it.database == database).count();
            let (now, later) = rest.split_at(count);
            let read_at = self.read_part(database, now, &mut outcomes, &mut others)?;
            // Of several moments the first: commands after it are read about again.
            offset = offset.min(read_at);
            rest = later;
            database = later.first().map_or(database, |it| it.database);
        }
        Ok(Answer::Read {
            offset,
            outcomes,
            others,
        })
    }

    fn read_part(
        &mut self,
        database: u32,
        places: &[KeyPlace],
        outcomes: &mut Vec<(KeyPlace, ReadOutcome)>,
        others: &mut Vec<String>,
    ) -> anyhow::Result<u64> {
        if self.database != database {
            self.must(&["SELECT", &database.to_string()])?;
            self.database = database;
        }
        let expiry = if self.source.has_expire_time {
            "PEXPIRETIME"
        } else {
            "PTTL"
        };
        let mut request = Vec::new();
        encode_request(&mut request, &["MULTI"]);
        for place in places {
            encode_request(&mut request, &[b"TYPE", &place.key[..]]);
            encode_request(&mut request, &[b"DUMP", &place.key[..]]);
            encode_request(&mut request, &[expiry.as_bytes(), &place.key[..]]);
        }
        encode_request(&mut request, &["TIME"]);
        encode_request(&mut request, &["INFO", "replication"]);
        encode_request(&mut request, &["EXEC"]);
        self.link.send(&request)?;
        for _ in 0..3 * places.len() + 3 {
            let reply = self.link.receive_value()?;
            if let Some(text) = reply.error() {
                bail!(
                    "the source refused a read: {}",
                    String::from_utf8_lossy(text)
                );
            }
        }
        let reply = self.link.receive_value()?;
        let replies = reply
            .elements()
            .context("the source answered EXEC with no list")?;
        let (keys, rest) = replies
            .split_at_checked(3 * places.len())
            .context("the source left answers out")?;
        let [time, info] = rest else {
            bail!("the source left answers out");
        };
        let now = time_ms(time).context("the source does not tell the time")?;
        let info = String::from_utf8_lossy(info.bytes().unwrap_or_default());
        let offset = field(&info, "master_repl_offset").and_then(|it| it.parse().ok());
        let offset = offset.context("the source does not tell its replication offset")?;
        for (place, replies) in places.iter().zip(keys.chunks_exact(3)) {
            let [kind, value, expiry] = replies else {
                continue;
            };
            if let Some(text) = value.error() {
                bail!("the source refused DUMP: {}", String::from_utf8_lossy(text));
            }
            let value = match value.bytes().map(restore) {
                Some(Err(PayloadError::VersionOrChecksum)) => bail!(
                    "the source's DUMP of a key is of a version that this program does not know"
                ),
                Some(Err(PayloadError::Format | PayloadError::TooLong)) => {
                    let kind = kind.bytes().unwrap_or_default();
                    others.push(String::from_utf8_lossy(kind).into_owned());
                    None
                }
                Some(Ok(value)) => Some(value),
                None => None,
            };
            let outcome = if let Some(value) = value {
                let expiry = expiry.integer().and_then(|it| u64::try_from(it).ok());
                let expires_at = expiry.map(|it| {
                    if self.source.has_expire_time {
                        it
                    } else {
                        now + it
                    }
                });
                ReadOutcome::Value { value, expires_at }
            } else {
                ReadOutcome::Absent
            };
            outcomes.push((place.clone(), outcome));
        }
        Ok(offset)
    }

    fn keys(&mut self, words: &[Vec<u8>]) -> anyhow::Result<Vec<Vec<u8>>> {
        let mut request = vec![b"COMMAND".to_vec(), b"GETKEYS".to_vec()];
        request.extend_from_slice(words);
        let reply = self.link.call(&request)?;
        if let Some(text) = reply.error() {
            let text = String::from_utf8_lossy(text).into_owned();
            // A command that the source knows and that has no keys changes none.
            if text.contains("no key arguments") {
                return Ok(Vec::new());
            }
            let name = words
                .first()
                .map(|it| String::from_utf8_lossy(it).into_owned());
            return Err(anyhow!(
                "the stream has the command {}, and the source does not tell its keys: {text}",
                name.unwrap_or_default()
            ));
        }
        let keys = reply.elements().unwrap_or_default().iter();
        Ok(keys
            .filter_map(|it| it.bytes().map(<[u8]>::to_vec))
            .collect())
    }

    fn pause(&mut self, longest: Duration) -> anyhow::Result<u64> {
        self.must(&["CLIENT", "PAUSE", &longest.as_millis().to_string(), "WRITE"])?;
        let reply = self.link.call(&["INFO", "replication"])?;
        let info = String::from_utf8_lossy(reply.bytes().unwrap_or_default());
        // It may have become one since the import began.
        if let Some(primary) = primary_of(&info) {
            bail!(
                "{} has become a replica of {primary}, where clients write now; import from there",
                self.source.address()
            );
        }
        let offset = field(&info, "master_repl_offset").and_then(|it| it.parse().ok());
        offset.context("the source does not tell its replication offset")
    }

    /// Refuses writes from now on, and lets those who wait hear of it.
    pub(crate) fn fence(&mut self) -> anyhow::Result<()> {
        // More replicas than there can be: every write is refused with NOREPLICAS.
        self.must(&["CONFIG", "SET", "min-replicas-max-lag", "10"])?;
        self.must(&["CONFIG", "SET", "min-replicas-to-write", "1000000"])?;
        self.unpause()
    }

    pub(crate) fn unpause(&mut self) -> anyhow::Result<()> {
        self.must(&["CLIENT", "UNPAUSE"])
    }

    fn must(&mut self, words: &[&str]) -> anyhow::Result<()> {
        let reply = self.link.call(words)?;
        match reply.error() {
            Some(text) => bail!(
                "{} refused {}: {}",
                self.source.address(),
                words.join(" "),
                String::from_utf8_lossy(text)
            ),
            None => Ok(()),
        }
    }

    /// A page of the keys of a database.
    pub(crate) fn scan(
        &mut self,
        database: u32,
        cursor: &[u8],
    ) -> anyhow::Result<(Vec<u8>, Vec<KeyPlace>)> {
        if self.database != database {
            self.must(&["SELECT", &database.to_string()])?;
            self.database = database;
        }
        let reply = self.link.call(&[b"SCAN", cursor, b"COUNT", b"500"])?;
        let Some([cursor, keys]) = reply.elements() else {
            bail!("the source answered SCAN with something else than a cursor and keys");
        };
        let keys = keys.elements().unwrap_or_default().iter();
        let keys = keys.filter_map(Value::bytes).map(|key| KeyPlace {
            database,
            key: key.to_vec(),
        });
        Ok((cursor.bytes().unwrap_or(b"0").to_vec(), keys.collect()))
    }
}

fn time_ms(value: &Value) -> Option<u64> {
    let [seconds, micros] = value.elements()? else {
        return None;
    };
    let number = |it: &Value| std::str::from_utf8(it.bytes()?).ok()?.parse::<u64>().ok();
    Some(number(seconds)? * 1000 + number(micros)? / 1000)
}
