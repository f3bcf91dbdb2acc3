//! The source's snapshot and replication stream, on a thread of its own.
//!
//! In:  a source, and from where to go on. Out: [`Event`]s in a bounded channel.
//!
//! Invariants:
//! - The source hears twice a second at least that we are there, however slow the target is; what it hears as acknowledged
//!   is at the target. So `WAIT 1` at the source waits for the target.
//! - A connection that breaks is made again where the last whole command ended. A source that cannot go on from there ends
//!   the import in words.

use super::source::Source;
use anyhow::{Context, anyhow};
use brickyard_bench::Link;
use brickyard_import::{StreamCommand, StreamError, StreamReader};
use brickyard_rdb::{Item, RdbReader};
use brickyard_wire::encode_request;
use std::{
    io::{self, BufReader, Cursor, Read},
    mem,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::sync::mpsc::{Receiver, Sender, channel, error::TrySendError};

/// Events that may wait for the loop.
const EVENTS_WAITING: usize = 16;
/// Items in one event.
const BATCH: usize = 512;
/// Bytes of values in one event.
const BATCH_BYTES: usize = 1 << 20;

/// Bytes that are read at a time.
const READ_BYTES: usize = 64 * 1024;
/// How long a read waits before the source is told again that we are there.
const READ_WAIT: Duration = Duration::from_millis(50);
/// So often at the least.
const WORD_EVERY: Duration = Duration::from_millis(500);
/// A source says something every 10 s; after so long it counts as gone.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Between two tries to reach it again.
const TRY_AGAIN: Duration = Duration::from_millis(200);
/// Longest answer to PSYNC, and the longest line before a snapshot.
const LINE_BYTES_MAX: usize = 4096;
/// The mark behind a snapshot of unknown length has so many bytes.
const MARK_BYTES: usize = 40;

/// What the source says.
#[derive(Debug)]
pub(crate) enum Event {
    /// It sends a snapshot of what it was at this offset.
    Snapshot { id: String, offset: u64 },
    /// It goes on from where the import was; its history may have a new name.
    Continues { id: String },
    /// Pieces of the snapshot.
    Items(Vec<Item>),
    /// The snapshot is over, and was whole.
    Copied,
    /// Commands, and how far the bytes go that have come.
    Commands(Vec<StreamCommand>, u64),
    /// The connection was lost, and is made again.
    Lost(String),
    /// Nothing more comes.
    Failed(anyhow::Error),
}

/// From where the stream goes on.
#[derive(Clone, Debug)]
pub(crate) struct StreamPosition {
    pub(crate) id: String,
    pub(crate) offset: u64,
}

/// Starts the thread. `low_water` is what the source is told of; it is to be set before events are taken.
pub(crate) fn start(
    source: &Source,
    from: Option<StreamPosition>,
    low_water: Arc<AtomicU64>,
    patience: Duration,
) -> anyhow::Result<Receiver<Event>> {
    let (sender, events) = channel(EVENTS_WAITING);
    let feed = Feed {
        source: source.clone(),
        sender,
        low_water,
        patience,
    };
    thread::Builder::new()
        .name("feed".to_owned())
        .spawn(move || feed.run(from))
        .context("cannot start a thread")?;
    Ok(events)
}

struct Feed {
    source: Source,
    sender: Sender<Event>,
    low_water: Arc<AtomicU64>,
    patience: Duration,
}

/// The loop has gone, or the source.
enum End {
    NobodyListens,
    Failed(anyhow::Error),
    /// Of the connection alone: it may be made again.
    Lost(anyhow::Error),
}

impl From<anyhow::Error> for End {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<StreamError> for End {
    fn from(error: StreamError) -> Self {
        Self::Failed(error.into())
    }
}

impl Feed {
    fn run(self, mut from: Option<StreamPosition>) {
        let mut lost: Option<Instant> = None;
        let mut is_begun = false;
        loop {
            let mut at = from.clone();
            match self.follow(&mut at, &mut is_begun) {
                Ok(()) | Err(End::NobodyListens) => return,
                Err(End::Failed(error)) => {
                    let _ = self.sender.blocking_send(Event::Failed(error));
                    return;
                }
                Err(End::Lost(error)) => {
                    let has_moved =
                        from.as_ref().map(|it| it.offset) != at.as_ref().map(|it| it.offset);
                    if has_moved || lost.is_none() {
                        lost = Some(Instant::now());
                        let _ = self.sender.blocking_send(Event::Lost(format!("{error:#}")));
                    }
                    let is_over = lost.is_some_and(|it| it.elapsed() > self.patience);
                    if at.is_none() || is_over {
                        let error = error.context(format!("the source {}", self.source.address()));
                        let _ = self.sender.blocking_send(Event::Failed(error));
                        return;
                    }
                    from = at;
                    thread::sleep(TRY_AGAIN);
                }
            }
        }
    }

    /// One connection, to its end. `from` moves along with whole commands.
    fn follow(&self, from: &mut Option<StreamPosition>, is_begun: &mut bool) -> Result<(), End> {
        let lost = |error: brickyard_bench::Error| End::Lost(error.into());
        let mut link = Link::open(&self.source.target).map_err(lost)?;
        for words in [
            &["REPLCONF", "listening-port", "0"][..],
            &["REPLCONF", "capa", "eof", "capa", "psync2"],
        ] {
            let reply = link.call(words).map_err(lost)?;
            if let Some(text) = reply.error() {
                return Err(self
                    .refused("REPLCONF", &String::from_utf8_lossy(text))
                    .into());
            }
        }
        let (id, offset) = match &from {
            Some(from) => (from.id.as_str(), (from.offset + 1).to_string()),
            None => ("?", "-1".to_owned()),
        };
        let mut request = Vec::new();
        encode_request(&mut request, &["PSYNC", id, &offset]);
        link.send(&request).map_err(lost)?;
        link.set_timeout(Some(READ_WAIT)).map_err(lost)?;
        let mut socket = BufReader::with_capacity(
            READ_BYTES,
            Socket {
                link,
                low_water: Arc::clone(&self.low_water),
                said: Instant::now(),
                acknowledged: 0,
                heard: Instant::now(),
                is_answered: false,
                is_following: false,
            },
        );
        let line = line(&mut socket).map_err(|it| End::Lost(it.into()))?;
        socket.get_mut().is_answered = true;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["+FULLRESYNC", id, offset] => {
                let offset = offset
                    .parse::<u64>()
                    .with_context(|| format!("the source answered PSYNC with '{line}'"))?;
                if *is_begun && from.is_some() {
                    return Err(anyhow!(
                        "the source cannot go on from offset {}: its backlog is too small, or it has lost its history. \
                         Run the same command again: it copies anew. `CONFIG SET repl-backlog-size 256mb` at the source \
                         keeps more",
                        from.as_ref().map_or(0, |it| it.offset)
                    )
                    .into());
                }
                *is_begun = true;
                let id = id.to_owned();
                self.send(
                    &mut socket,
                    Event::Snapshot {
                        id: id.clone(),
                        offset,
                    },
                )?;
                let rest = self.copy(socket)?;
                let (mut input, left) = rest;
                // A source that sends its snapshot without a file waits for this word.
                input.get_mut().is_following = true;
                input
                    .get_mut()
                    .acknowledge()
                    .map_err(|it| End::Lost(it.into()))?;
                *from = Some(StreamPosition { id, offset });
                self.stream(input, &left, from)
            }
            ["+CONTINUE", ref new @ ..] => {
                *is_begun = true;
                let old = from.as_ref().map(|it| it.id.clone()).unwrap_or_default();
                let id = new.first().map_or(old, |it| (*it).to_owned());
                if let Some(from) = from {
                    from.id.clone_from(&id);
                }
                self.send(&mut socket, Event::Continues { id })?;
                socket.get_mut().is_following = true;
                self.stream(socket, &[], from)
            }
            _ if line.starts_with("-LOADING") || line.starts_with("-NOMASTERLINK") => Err(
                End::Lost(anyhow!("the source answered PSYNC with '{line}'")),
            ),
            _ => Err(self.refused("PSYNC", line.trim_start_matches('-')).into()),
        }
    }

    fn refused(&self, command: &str, text: &str) -> anyhow::Error {
        let address = self.source.address();
        anyhow!(
            "{address} refused {command}: {text}; the user that imports needs `+psync +replconf`, and the server has to be a \
             Redis or Valkey that lets replicas copy it (many hosted ones do not: take their RDB file instead)"
        )
    }

    /// The snapshot; what came behind it.
    fn copy(&self, mut socket: BufReader<Socket>) -> Result<(BufReader<Socket>, Vec<u8>), End> {
        let begin = line(&mut socket).context("before the snapshot")?;
        let (mark, bytes) = match begin.strip_prefix("$EOF:") {
            Some(mark) => (Some(mark.to_owned()), None),
            None => {
                let bytes = begin
                    .strip_prefix('$')
                    .and_then(|it| it.parse::<u64>().ok());
                let told = || format!("the source begins its snapshot with '{begin}'");
                (None, Some(bytes.with_context(told)?))
            }
        };
        let broken = "the snapshot was not copied to its end; run the same command again: it begins anew. Where the source \
                      has ended it, give it more patience: CONFIG SET client-output-buffer-limit \"replica 0 0 0\"";
        let mut reader = RdbReader::new(socket).context(broken)?;
        let mut items = Vec::new();
        let mut size = 0;
        loop {
            let item = reader.next_item().context(broken)?;
            if item == Item::End {
                break;
            }
            if let Item::Record(record) = &item {
                size += record.key.len() + record.value.bytes();
            }
            items.push(item);
            if items.len() >= BATCH || size >= BATCH_BYTES {
                size = 0;
                self.send(reader.get_mut(), Event::Items(mem::take(&mut items)))?;
            }
        }
        let taken = reader.offset();
        let (left, mut socket) = reader.into_rest();
        self.send(&mut socket, Event::Items(items))?;
        let left = match mark {
            Some(mark) => {
                let mut behind = Cursor::new(left).chain(&mut socket);
                let mut found = [0; MARK_BYTES];
                behind.read_exact(&mut found).context(broken)?;
                ensure_end(
                    found == *mark.as_bytes(),
                    "another mark is behind the snapshot than was announced",
                )?;
                let (left, _) = behind.into_inner();
                let taken = left.position() as usize;
                left.into_inner().split_off(taken)
            }
            None => {
                ensure_end(
                    bytes == Some(taken),
                    "the snapshot has another length than was announced",
                )?;
                left
            }
        };
        self.send(&mut socket, Event::Copied)?;
        Ok((socket, left))
    }

    fn stream(
        &self,
        mut socket: BufReader<Socket>,
        left: &[u8],
        from: &mut Option<StreamPosition>,
    ) -> Result<(), End> {
        let Some(from) = from else {
            return Err(anyhow!("the source goes on with a stream that was not begun").into());
        };
        let mut reader = StreamReader::new(from.offset);
        reader.push(left);
        let mut bytes = vec![0; READ_BYTES];
        loop {
            let mut commands = Vec::new();
            while let Some(command) = reader.next_command()? {
                if command
                    .words
                    .get(1)
                    .is_some_and(|it| it.eq_ignore_ascii_case(b"GETACK"))
                {
                    socket
                        .get_mut()
                        .acknowledge()
                        .map_err(|it| End::Lost(it.into()))?;
                }
                commands.push(command);
            }
            from.offset = reader.offset();
            if !commands.is_empty() {
                let event = Event::Commands(commands, reader.received());
                self.send(&mut socket, event)?;
            }
            match socket.read(&mut bytes) {
                Ok(0) => return Err(End::Lost(anyhow!("the source closed the connection"))),
                Ok(count) => reader.push(&bytes[..count]),
                Err(error) => return Err(End::Lost(error.into())),
            }
        }
    }

    /// Hands the event over; while the loop is behind, the source hears of us.
    fn send(&self, socket: &mut BufReader<Socket>, event: Event) -> Result<(), End> {
        let mut event = event;
        loop {
            match self.sender.try_send(event) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Closed(_)) => return Err(End::NobodyListens),
                Err(TrySendError::Full(back)) => event = back,
            }
            thread::sleep(Duration::from_millis(1));
            socket.get_mut().say().map_err(|it| End::Lost(it.into()))?;
        }
    }
}

fn ensure_end(is_so: bool, what: &'static str) -> Result<(), End> {
    if is_so {
        Ok(())
    } else {
        Err(anyhow!(what).into())
    }
}

/// A line that is not empty: empty ones say that the source is there.
fn line(reader: &mut impl Read) -> io::Result<String> {
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        reader.read_exact(&mut byte)?;
        match byte[0] {
            b'\n' if line.is_empty() => {}
            b'\n' => return Ok(String::from_utf8_lossy(&line).trim_end().to_owned()),
            byte if line.len() < LINE_BYTES_MAX => line.push(byte),
            _ => return Err(io::Error::other("the source sends a line without an end")),
        }
    }
}

/// The connection; a read that waits says now and then that we are there.
#[derive(Debug)]
struct Socket {
    link: Link,
    low_water: Arc<AtomicU64>,
    said: Instant,
    acknowledged: u64,
    heard: Instant,
    /// The source has answered PSYNC. One that gathers replicas for a snapshot waits until they are silent.
    is_answered: bool,
    is_following: bool,
}

impl Socket {
    /// Says that we are there, if that is due.
    fn say(&mut self) -> io::Result<()> {
        if !self.is_answered {
            return Ok(());
        }
        let low_water = self.low_water.load(Ordering::Relaxed);
        let has_moved =
            self.is_following && low_water > self.acknowledged && self.said.elapsed() > READ_WAIT;
        if !has_moved && self.said.elapsed() < WORD_EVERY {
            return Ok(());
        }
        if self.is_following {
            return self.acknowledge();
        }
        self.said = Instant::now();
        // While a snapshot comes there is no offset to tell.
        self.link.send(b"\n").map_err(io::Error::other)
    }

    fn acknowledge(&mut self) -> io::Result<()> {
        let low_water = self.low_water.load(Ordering::Relaxed);
        self.said = Instant::now();
        self.acknowledged = low_water;
        let mut request = Vec::new();
        encode_request(&mut request, &["REPLCONF", "ACK", &low_water.to_string()]);
        self.link.send(&request).map_err(io::Error::other)
    }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.link.read(bytes) {
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock
                            | io::ErrorKind::TimedOut
                            | io::ErrorKind::Interrupted
                    ) =>
                {
                    if self.heard.elapsed() > SILENCE_MAX {
                        return Err(io::Error::other(format!(
                            "the source was silent for {SILENCE_MAX:?}"
                        )));
                    }
                    self.say()?;
                }
                result => {
                    self.heard = Instant::now();
                    self.say()?;
                    return result;
                }
            }
        }
    }
}
