//! What clients know: of what they asked, were told, and are about.
//!
//! Not here: what they do (`clients`).

use super::way::Seeker;
use crate::clock::{MICROSECOND, Nanos, SECOND};
use crate::habits::{Habits, Kind};
use crate::network::ConnectionId;
use crate::plan::Plan;
use crate::random::Random;
use crate::reply::Reply;
use crate::shape::Shape;
use brickyard_brick::Port;
use brickyard_client::retry::Nature;
use brickyard_client::{Error, cache};
use brickyard_history::{Action, Bytes, Operation};
use brickyard_types::PartitionId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A client gives up on a request after so long.
pub(crate) const PATIENCE: Nanos = 9 * SECOND;

/// What comes as an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// To what a connection begins with.
    Greeting,
    /// To `REQUEST NOW`.
    Clock,
    /// To what is queued: the answer that counts comes later.
    Step,
    /// To WATCH.
    Watch,
    /// To a look at what is watched.
    Looked(usize),
    /// To a transaction that was to run only if what it is about had not changed.
    Watched(usize),
    /// To one operation of the history.
    One(usize),
    /// To several; those of a pair are seen together or not at all.
    Several {
        operations: Vec<usize>,
        is_pair: bool,
    },
    /// To what makes the key of that number.
    Made(u64, usize),
    /// To what takes a key to the other table: of its operations there, and here.
    Moved([usize; 2]),
    /// To a step of the client's scan.
    Scan,
    /// To the export of a partition.
    Export(PartitionId),
    /// To an attempt of the library's call.
    Call,
    /// To a question for the way to the partition of a call's operation.
    Way(usize),
    /// To a call that was answered so before.
    Again(Reply),
    /// To a read of what may be kept.
    Kept(usize, cache::Asked),
    /// To what gives leases back.
    Returned,
    /// To a look at what has changed.
    Changes { waits: bool },
}

/// A request whose answer has not come.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) expected: Expected,
    pub(crate) since: Nanos,
}

impl Asked {
    pub(crate) fn operations(&self) -> &[usize] {
        match &self.expected {
            Expected::One(operation)
            | Expected::Kept(operation, _)
            | Expected::Looked(operation)
            | Expected::Made(_, operation)
            | Expected::Watched(operation) => std::slice::from_ref(operation),
            Expected::Moved(operations) => operations,
            Expected::Several { operations, .. } => operations,
            _ => &[],
        }
    }
}

/// Where a client is connected, or wants to be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spot {
    pub(crate) node: usize,
    pub(crate) brick: usize,
}

/// What a client was told: when last, and what is not whole yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Received {
    pub(crate) at: Nanos,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) struct Client {
    pub(crate) table: usize,
    pub(crate) port: Port,
    pub(crate) is_reader: bool,
    pub(crate) place: Spot,
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) asked: VecDeque<Asked>,
    pub(crate) received: Received,
    /// Operations that it still asks for.
    pub(crate) left: u32,
    pub(crate) random: Random,
    /// Its connection is about its table, and not about making it.
    pub(crate) is_in_table: bool,
    /// It only reads what there is, key by key, at the end.
    pub(crate) sweep: Option<u64>,
    /// It does as the client library does.
    pub(crate) library: Option<Library>,
    pub(crate) pursuits: Pursuits,
    /// It keeps what it reads.
    pub(crate) keeper: Option<Keeper>,
    pub(crate) is_due: bool,
}

impl Client {
    pub(crate) fn is_library(&self) -> bool {
        self.library.is_some()
    }

    /// It waits for something, be it the time to send it again.
    pub(crate) fn is_busy(&self) -> bool {
        !self.asked.is_empty() || self.library.as_ref().is_some_and(Library::is_busy)
    }

    /// It has asked for the way to its call's partition, and was not answered.
    pub(crate) fn is_asking_the_way(&self) -> bool {
        let mut asked = self.asked.iter();
        asked.any(|it| matches!(it.expected, Expected::Way(_)))
    }

    /// How many requests it has under way at most.
    pub(crate) fn depth(&self) -> usize {
        if self.is_library() || self.pursuits.follower.is_some() {
            1
        } else {
            2
        }
    }
}

/// See the module.
pub(crate) struct Clients {
    pub(crate) all: Vec<Client>,
    pub(crate) habits: Habits,
    pub(crate) history: Vec<Operation>,
    pub(crate) tables: Vec<String>,
    /// Appends of unknown outcome by key.
    pub(crate) appends: BTreeMap<Bytes, u32>,
    pub(crate) values: u64,
    pub(crate) pause: Nanos,
    /// Values that are set for a while, and for how many milliseconds.
    pub(crate) passing: BTreeMap<Bytes, u64>,
    /// Those that came to their end.
    pub(crate) scans: Vec<Scan>,
    /// Transactions that ran since nothing had changed.
    pub(crate) watched: Vec<Watched>,
    pub(crate) served: u64,
    /// Which tables are there.
    pub(crate) made: Vec<bool>,
    /// Keys that go from table to table.
    pub(crate) moved: BTreeMap<u64, Made>,
}

/// Whether a key was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// Nobody knows.
    Maybe,
    Surely,
}

impl Clients {
    pub(crate) fn new(seed: u64, shape: &Shape, plan: &Plan) -> Self {
        let last = plan.faults.iter().map(|it| it.at).max().unwrap_or(0);
        let length = last + 3 * SECOND;
        let habits = plan.scenario.habits;
        let followers = u32::from(habits.follows);
        let all = (0..plan.clients + followers).map(|at| {
            let follows = at >= plan.clients;
            let mut random = Random::of(seed, 1_000 + u64::from(at));
            let port = if random.one_in(habits.bricks_one_in) {
                Port::Brick
            } else {
                Port::Node
            };
            let is_library = random.one_in(habits.libraries_one_in) && !follows;
            Client {
                table: at as usize % shape.tables.len(),
                is_reader: port == Port::Brick
                    && !is_library
                    && !follows
                    && random.one_in(habits.readers_one_in),
                port,
                place: Spot::default(),
                connection: None,
                asked: VecDeque::new(),
                received: Received::default(),
                left: if follows { 0 } else { plan.operations },
                random,
                is_in_table: false,
                sweep: None,
                library: is_library.then(|| Library::new(u64::from(at) + 1, habits.looks_up)),
                pursuits: Pursuits {
                    follower: follows.then(Follower::default),
                    ..Pursuits::default()
                },
                // No dice: what other scenarios draw stays what it was.
                keeper: (habits.keeps && port == Port::Brick && !is_library).then(Keeper::new),
                is_due: true,
            }
        });
        Self {
            all: all.collect(),
            habits,
            history: Vec::new(),
            tables: shape.tables.iter().map(|it| it.name.clone()).collect(),
            appends: BTreeMap::new(),
            values: 0,
            pause: length / u64::from(plan.operations.max(1)),
            passing: BTreeMap::new(),
            scans: Vec::new(),
            watched: Vec::new(),
            served: 0,
            made: vec![false; shape.tables.len()],
            moved: BTreeMap::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Where a client waits for the answer to an operation, and since when.
    pub(crate) fn waits(&self, at: usize) -> Option<(usize, ConnectionId, Nanos)> {
        let client = &self.all[at];
        let (connection, asked) = (client.connection?, client.asked.front()?);
        let is_plain = !matches!(
            asked.expected,
            Expected::Greeting | Expected::Export(_) | Expected::Changes { .. }
        );
        // What comes behind something else waits for that, too.
        is_plain.then_some((
            client.place.node,
            connection,
            asked.since.max(client.received.at),
        ))
    }

    /// Whether nobody asks for anything any more, nor waits.
    pub(crate) fn are_done(&self) -> bool {
        let mut others = self.all.iter().filter(|it| it.pursuits.follower.is_none());
        others.all(|it| it.left == 0 && !it.is_busy() && it.sweep.is_none())
    }

    /// Whether whoever follows knows of all that had changed by then, and asks for no more.
    pub(crate) fn have_followed_until(&mut self, then: Nanos) -> bool {
        let followers = self.all.iter_mut().filter_map(|it| {
            let is_busy = !it.asked.is_empty();
            Some((it.pursuits.follower.as_mut()?, is_busy))
        });
        let late = followers.filter_map(|(it, is_busy)| {
            it.rests |= it.is_level_since(then);
            (!it.rests || is_busy).then_some(())
        });
        late.count() == 0
    }

    /// Whether clients know that all tables are there.
    pub(crate) fn are_tables_made(&self) -> bool {
        self.made.iter().all(|it| *it)
    }

    /// Everybody reads everything, each at another node.
    pub(crate) fn sweep(&mut self) {
        for client in self
            .all
            .iter_mut()
            .filter(|it| it.pursuits.follower.is_none())
        {
            client.sweep = Some(0);
            client.left = 0;
        }
    }

    /// The outcome of an operation will not be known.
    pub(crate) fn note_unknown(&mut self, index: usize) {
        let operation = &self.history[index];
        if let Action::Append(_) = operation.action {
            *self.appends.entry(operation.key.clone()).or_insert(0) += 1;
        }
    }

    /// Another value than all before.
    pub(crate) fn value(&mut self) -> Bytes {
        self.values += 1;
        format!("<{}>", self.values).into_bytes().into()
    }

    /// Whether a client sends again what has failed.
    pub(crate) fn tries_again(&self, at: usize) -> bool {
        self.all.get(at).is_some_and(Client::is_library)
    }

    /// The table of a client.
    pub(crate) fn table(&self, table: usize) -> &str {
        &self.tables[table]
    }
}

/// Keys that are set and never deleted, of a table.
pub(crate) fn steady_keys(table: &str, count: u64) -> impl Iterator<Item = Bytes> + '_ {
    (0..count).map(|number| key(table, Kind::Steady, number))
}

pub(crate) fn key(table: &str, kind: Kind, number: u64) -> Bytes {
    let text = match kind {
        Kind::Text => format!("{table}:t{number}"),
        Kind::Number => format!("{table}:n{number}"),
        Kind::Passing => format!("{table}:p{number}"),
        Kind::Steady => format!("{table}:s{number}"),
        Kind::Left => format!("{{{table}:x{number}}}left"),
        Kind::Right => format!("{{{table}:x{number}}}right"),
        Kind::Near => format!("{{{table}:y{number}}}near"),
        Kind::Far => format!("{{{table}:y{number}}}far"),
        Kind::ApartLeft => format!("{table}:left{number}"),
        Kind::ApartRight => format!("{table}:right{number}"),
        // In both tables it has the name behind the table's.
        Kind::Moved => format!("{table}/moved{number}"),
        Kind::Copied => format!("{table}/copied{number}"),
        Kind::BriefLeft => format!("{{{table}:b{number}}}left"),
        Kind::BriefRight => format!("{{{table}:b{number}}}right"),
    };
    text.into_bytes().into()
}

/// The field that counts of a key that is a hash.
pub(crate) const FIELD: &[u8] = b"f";

/// Whether a key's value is a field's: every second one's of those that are asked for one at a time.
pub(crate) const fn is_in_hash(kind: Kind, number: u64) -> bool {
    number % 2 == 1 && matches!(kind, Kind::Number | Kind::Passing)
}

/// What takes a client several requests.
#[derive(Debug, Default)]
pub(crate) struct Pursuits {
    /// The scan that it is about.
    pub(crate) scan: Option<Scan>,
    /// A key that it watches.
    pub(crate) watch: Option<Watch>,
    /// It does nothing but follow what changes.
    pub(crate) follower: Option<Follower>,
}

/// A scan: under way, or whole.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    pub(crate) table: usize,
    pub(crate) began: Nanos,
    pub(crate) cursor: Bytes,
    pub(crate) seen: BTreeSet<Bytes>,
}

/// What a client watches.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    pub(crate) key: Bytes,
    /// Since when it knows that it does.
    pub(crate) since: Option<Nanos>,
    /// What it saw.
    pub(crate) seen: Option<Option<Bytes>>,
}

/// A transaction that ran: its key did not change between these times.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    pub(crate) operation: usize,
    pub(crate) since: Nanos,
    pub(crate) until: Nanos,
}

/// Of what was answered, so many calls are kept to be made again.
pub(crate) const ANSWERED_MAX: usize = 12;

/// What a client knows that uses the library.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) client: u64,
    /// What the servers' clock says in microseconds, at some time.
    pub(crate) clock: Option<(u64, Nanos)>,
    pub(crate) last: u64,
    pub(crate) call: Option<Call>,
    /// Where the next attempt goes, if somebody said so.
    pub(crate) redirect: Option<(usize, usize, Port)>,
    /// Calls that were answered, and how.
    pub(crate) answered: VecDeque<(Vec<Bytes>, Reply)>,
    /// It does not hold the map.
    pub(crate) seeker: Option<Seeker>,
}

/// A call until its end.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) operation: usize,
    pub(crate) words: Vec<Bytes>,
    pub(crate) nature: Nature,
    /// None: not sent yet, or what was sent is known to have been too old.
    pub(crate) sequence: Option<u64>,
    pub(crate) attempt: u32,
    /// An earlier attempt may have been executed.
    pub(crate) has_left: bool,
    pub(crate) is_sent: bool,
    pub(crate) deadline: Nanos,
    pub(crate) not_before: Nanos,
    pub(crate) otherwise: Error,
}

impl Call {
    pub(crate) fn new(operation: usize, words: Vec<Bytes>, is_read: bool, now: Nanos) -> Self {
        Self {
            operation,
            words,
            nature: if is_read { Nature::Read } else { Nature::Named },
            sequence: None,
            attempt: 1,
            has_left: false,
            is_sent: false,
            deadline: now + PATIENCE,
            not_before: now,
            otherwise: Error::Unreachable {
                reason: "it was never sent".to_owned(),
            },
        }
    }
}

impl Call {
    pub(crate) fn words_of(&self, client: u64, is_again: bool) -> Vec<Bytes> {
        let mut words: Vec<Bytes> = Vec::new();
        if let Some(sequence) = self.sequence {
            let attempt: &[u8] = if is_again { b"AGAIN" } else { b"FIRST" };
            words.push(b"REQUEST".as_slice().into());
            words.push(client.to_string().as_bytes().into());
            words.push(sequence.to_string().as_bytes().into());
            words.push(attempt.into());
        }
        words.extend(self.words.iter().cloned());
        words
    }
}

impl Library {
    pub(crate) fn new(client: u64, looks_up: bool) -> Self {
        Self {
            client,
            clock: None,
            last: 0,
            call: None,
            redirect: None,
            answered: VecDeque::new(),
            seeker: looks_up.then(|| Seeker::new(client)),
        }
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.call.is_some()
    }

    pub(crate) fn take_redirect(&mut self) -> Option<(usize, usize, Port)> {
        self.redirect.take()
    }

    pub(crate) fn next_id(&mut self, now: Nanos) -> u64 {
        let clock = self
            .clock
            .map_or(0, |(micros, at)| micros + (now - at) / MICROSECOND);
        self.last = clock.max(self.last + 1);
        self.last
    }
}

/// Few enough that entries make room for others.
const CACHE_BYTES: usize = 900;

/// What a client knows that keeps what it reads.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) cache: cache::Cache,
    /// Where it goes next, since somebody said so.
    pub(crate) redirect: Option<(usize, usize, Port)>,
    /// The key that it asks for most.
    favourite: Option<(Kind, u64)>,
}

impl Keeper {
    pub(crate) fn new() -> Self {
        Self {
            cache: cache::Cache::new(CACHE_BYTES),
            redirect: None,
            favourite: None,
        }
    }

    /// The key that it asks for: the one that was drawn, or its favourite if it does not change that.
    pub(crate) fn prefer(&mut self, drawn: (Kind, u64), changes: bool) -> (Kind, u64) {
        match self.favourite {
            Some(favourite) if !changes => favourite,
            _ => *self.favourite.insert(drawn),
        }
    }

    pub(crate) fn take_redirect(&mut self) -> Option<(usize, usize, Port)> {
        self.redirect.take()
    }
}

/// What a client knows that follows its table.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    /// Where it goes on; none: it takes a position first.
    pub(crate) position: Option<Bytes>,
    pub(crate) stretches: Vec<Stretch>,
    /// When it asked last of what nobody had to tell it anything.
    pub(crate) level_at: Option<Nanos>,
    /// It knows all that it should, and asks for no more.
    pub(crate) rests: bool,
}

/// What was told since a position was taken, without a gap.
#[derive(Debug)]
pub(crate) struct Stretch {
    /// When the client had the position.
    pub(crate) since: Nanos,
    pub(crate) told: Vec<Told>,
}

/// What a key was told to hold.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) key: Bytes,
    pub(crate) value: Option<Bytes>,
}

impl Follower {
    /// Whether it knows of all that had changed by then.
    pub(crate) fn is_level_since(&self, then: Nanos) -> bool {
        self.level_at.is_some_and(|it| it >= then)
    }
}
