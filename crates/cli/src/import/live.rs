//! The loop of an import: the source's events in, changes of tables out, until it is handed over.
//!
//! In:  events of the feed, answers of the asker, acknowledgements of the tables, words of the operator. Out: the copy, a
//!      resume point every second, and the hand-over.
//!
//! Invariant: a resume point is written only of what the tables have acknowledged.

use super::{
    asker::{self, Answer, Ask},
    compare::compare_with,
    feed::{self, Event, StreamPosition},
    handover::{HandOver, Wishes, Word},
    progress::{Named, Progress, Shown, named},
    sink::Sink,
    source::Source,
};
use anyhow::{Context, bail, ensure};
use brickyard_bench::grouped;
use brickyard_import::{
    KeyChange, KeyPlace, Meaning, Phase, PlannedAction, Planner, ResumePoint, StreamCommand,
    meaning,
};
use brickyard_rdb::{Item, RdbValue};
use futures_util::FutureExt;
use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::Sender,
    },
    time::{Duration, Instant},
};
use tokio::sync::mpsc::UnboundedReceiver;

/// Keys with something to be done, past which no more events are taken in.
const PENDING_MAX: usize = 50_000;
/// Keys that are read at the source in one transaction; it holds up its other clients for so long.
const READ_KEYS: usize = 64;
/// Such transactions under way.
const READS_MAX: usize = 4;
/// Between two resume points.
const POINT_EVERY: Duration = Duration::from_secs(1);
/// The loop looks about at least so often.
const TICK: Duration = Duration::from_millis(50);
/// So long before the source lets writers go again it is handed over, or not at all.
const PAUSE_LEFT: Duration = Duration::from_millis(200);
/// Keys that are compared at the hand-over.
const SAMPLE: usize = 256;

/// What an import is to do.
pub(crate) struct Orders {
    pub(crate) tables: BTreeMap<u32, String>,
    pub(crate) state: PathBuf,
    pub(crate) merges: bool,
    pub(crate) patience: Duration,
    pub(crate) wishes: Wishes,
}

/// The import.
struct Live<'a> {
    source: &'a Source,
    orders: &'a Orders,
    sink: &'a mut Sink,
    point: ResumePoint,
    planner: Planner,
    asks: Sender<Ask>,
    reads: usize,
    low_water: Arc<AtomicU64>,
    /// How far the bytes go that have come.
    received: u64,
    /// When what had come reached so far; what the tables have passed is forgotten.
    arrivals: VecDeque<(u64, Instant)>,
    shown: Shown,
    left_out: Named,
    /// Keys that changed last, for the comparison.
    sample: VecDeque<KeyPlace>,
    handover: HandOver,
    progress: Progress,
}

/// Copies and follows the source until it is handed over.
pub(crate) async fn run(
    source: &Source,
    sink: &mut Sink,
    orders: &Orders,
    words: UnboundedReceiver<Word>,
) -> anyhow::Result<()> {
    let point = begin(source, sink, orders).await?;
    let is_resumed = point.phase == Phase::Following;
    let from = is_resumed.then(|| StreamPosition {
        id: point.replication_id.clone(),
        offset: point.offset,
    });
    let low_water = Arc::new(AtomicU64::new(if is_resumed { point.offset } else { 0 }));
    let (asks, answers) = asker::start(source, orders.patience)?;
    let events = feed::start(source, from, Arc::clone(&low_water), orders.patience)?;
    let planner = Planner::new(orders.tables.keys().copied(), point.offset, point.database);
    let received = point.offset;
    sink.stored = point.stored;
    let mut live = Live {
        source,
        orders,
        sink,
        point,
        planner,
        asks,
        reads: 0,
        low_water,
        received,
        arrivals: VecDeque::new(),
        shown: Shown::default(),
        left_out: Named::new(),
        sample: VecDeque::new(),
        handover: HandOver::new(),
        progress: Progress::new(),
    };
    let result = live.go(events, answers, words).await;
    live.progress.finish();
    if let Err(error) = result {
        if live.handover.is_begun() {
            // By itself, and before this program ends. A source that is gone holds nobody up.
            let _ = asker::Asker::new(source).and_then(|mut it| it.unpause());
        }
        // What was acknowledged is kept, whatever ended the rest.
        if live.shown.is_following {
            live.write_point()?;
        }
        return Err(error);
    }
    Ok(())
}

/// The resume point to go on from, or that of an import that begins.
async fn begin(source: &Source, sink: &Sink, orders: &Orders) -> anyhow::Result<ResumePoint> {
    let state = orders.state.display();
    if let Some(point) = ResumePoint::read(&orders.state)? {
        ensure!(
            point.source == source.address() && point.tables == orders.tables,
            "{state} is of an import from {} into {:?}; name another file by --state",
            point.source,
            point.tables.values()
        );
        ensure!(
            point.phase != Phase::HandedOver,
            "the import of {state} was handed over: clients use the tables. Remove the file to begin anew, into empty tables"
        );
        return Ok(point);
    }
    let keys = sink.len(&orders.tables).await?;
    ensure!(
        keys == 0 || orders.merges,
        "the tables have {} keys; import into empty ones, or say --merge to write over what has the same key and keep the \
         rest",
        grouped(keys)
    );
    let point = ResumePoint::new(source.address(), orders.tables.clone(), keys == 0);
    point.write(&orders.state)?;
    Ok(point)
}

impl Live<'_> {
    async fn go(
        &mut self,
        mut events: tokio::sync::mpsc::Receiver<Event>,
        mut answers: UnboundedReceiver<Answer>,
        mut words: UnboundedReceiver<Word>,
    ) -> anyhow::Result<()> {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut written = Instant::now();
        loop {
            self.drive()?;
            if self.handover.is_due(self.planner.low_water()) && self.sink.is_idle() {
                return self.hand_over().await;
            }
            let can_take = self.planner.pending() < PENDING_MAX;
            tokio::select! {
                biased;
                Some(answer) = answers.recv() => self.on_answer(answer)?,
                Some(word) = words.recv() => self.on_word(word)?,
                done = self.sink.next() => self.on_done(done?)?,
                event = events.recv(), if can_take => {
                    let event = event.context("the feed ended without a word")?;
                    self.on_event(event, &mut answers).await?;
                }
                _ = tick.tick() => {}
            }
            // Whatever else is acknowledged already.
            while let Some(done) = self.sink.next().now_or_never() {
                self.on_done(done?)?;
            }
            self.look_about()?;
            if self.shown.is_following && written.elapsed() >= POINT_EVERY {
                self.write_point()?;
                written = Instant::now();
            }
        }
    }

    /// Sends what can be sent, and has read what is to be read.
    fn drive(&mut self) -> anyhow::Result<()> {
        while self.sink.has_room()
            && let Some(action) = self.planner.poll_action()
        {
            self.sink.send(action)?;
        }
        while self.reads < READS_MAX {
            let places = self.planner.poll_reads(READ_KEYS);
            if places.is_empty() {
                break;
            }
            self.reads += 1;
            self.ask(Ask::Read(places))?;
        }
        Ok(())
    }

    fn ask(&self, ask: Ask) -> anyhow::Result<()> {
        self.asks
            .send(ask)
            .ok()
            .context("the thread that asks the source has ended")
    }

    fn on_done(&mut self, action: PlannedAction) -> anyhow::Result<()> {
        match action {
            PlannedAction::Change(place, _) => self.planner.on_done(&place),
            PlannedAction::Flush(_) => self.planner.on_flushed(),
        }
        self.low_water
            .store(self.planner.low_water(), Ordering::Relaxed);
        Ok(())
    }

    fn on_answer(&mut self, answer: Answer) -> anyhow::Result<()> {
        match answer {
            Answer::Read {
                offset,
                outcomes,
                others,
            } => {
                self.reads -= 1;
                for name in others {
                    *self.left_out.entry(name).or_default() += 1;
                }
                for (place, outcome) in outcomes {
                    self.planner.on_read(place, offset, outcome);
                }
            }
            Answer::Paused(result) => match result {
                Ok(offset) => self.handover.on_paused(offset),
                Err(error) => {
                    self.handover.give_up(&self.asks);
                    self.progress
                        .tell(&format!("not handed over, still following: {error:#}"));
                }
            },
            Answer::Unpaused(result) => result?,
            Answer::Keys(_) => bail!("the source told keys that nobody asked for"),
            Answer::Failed(error) => return Err(error),
        }
        Ok(())
    }

    fn on_word(&mut self, word: Word) -> anyhow::Result<()> {
        match word {
            Word::HandOver if self.shown.is_following => {
                self.handover.begin(&self.asks, &self.orders.wishes);
            }
            Word::HandOver => self
                .progress
                .tell("the snapshot is still being copied; say it again when that is done"),
            Word::Stop => bail!("it was stopped; run the same command again: it goes on"),
            Word::Other(text) => {
                self.progress.tell(&format!(
                    "'{text}' is no word here; `handover` is, and Ctrl-C"
                ));
            }
        }
        Ok(())
    }

    async fn on_event(
        &mut self,
        event: Event,
        answers: &mut UnboundedReceiver<Answer>,
    ) -> anyhow::Result<()> {
        match event {
            Event::Snapshot { id, offset } => self.on_snapshot(id, offset).await?,
            Event::Continues { id } => {
                let told = format!(
                    "going on from offset {} of {}",
                    grouped(self.point.offset),
                    self.source.version
                );
                self.progress.tell(&told);
                self.point.replication_id = id;
                self.shown.is_following = true;
            }
            Event::Items(items) => {
                for item in items {
                    self.on_item(item);
                }
            }
            Event::Copied => {
                self.shown.is_following = true;
                self.progress.tell(&format!(
                    "the snapshot was read in {:.1} s; what changed since follows",
                    self.progress.began.elapsed().as_secs_f64()
                ));
            }
            Event::Commands(commands, received) => {
                for command in commands {
                    self.on_command(command, answers).await?;
                }
                self.received = received;
                self.arrivals
                    .push_back((self.planner.processed(), Instant::now()));
                self.low_water
                    .store(self.planner.low_water(), Ordering::Relaxed);
            }
            Event::Lost(why) => self
                .progress
                .tell(&format!("the source is lost and is looked for: {why}")),
            Event::Failed(error) => return Err(error),
        }
        Ok(())
    }

    /// The source sends everything. What the tables have from before is the import's own, or stays on somebody's word.
    async fn on_snapshot(&mut self, id: String, offset: u64) -> anyhow::Result<()> {
        let is_again = self.point.stored > 0 || self.point.phase == Phase::Following;
        if self.point.began_empty {
            if is_again {
                self.progress.tell(
                    "the source cannot go on from where the import broke off: the tables, which had nothing before it, are \
                     emptied, and everything is copied anew",
                );
            }
            // Also of a copy that broke off before its first resume point.
            for database in self.orders.tables.keys().copied() {
                self.sink.send(PlannedAction::Flush(database))?;
                self.sink.next().await?;
            }
        } else {
            ensure!(
                self.orders.merges,
                "the source cannot go on from where the import broke off, and the tables had keys before it: what the source \
                 has removed since cannot be told from those. Say --merge to copy everything and keep the rest"
            );
        }
        self.point.replication_id = id;
        self.point.phase = Phase::Copying;
        self.point.offset = offset;
        self.point.write(&self.orders.state)?;
        self.sink.stored = 0;
        self.shown = Shown::default();
        self.received = offset;
        self.planner = Planner::new(self.orders.tables.keys().copied(), offset, 0);
        self.progress.tell(&format!(
            "copying {} at {}",
            self.source.version,
            self.source.address()
        ));
        Ok(())
    }

    fn on_item(&mut self, item: Item) {
        match item {
            Item::Record(record) => {
                let (key, value) = (record.key, record.value);
                self.planner
                    .on_record(record.database, key, value, record.expires_at);
            }
            Item::Other { database, kind } if self.orders.tables.contains_key(&database) => {
                *self.left_out.entry(kind.to_owned()).or_default() += 1;
            }
            Item::TooLong { .. } => *self.left_out.entry("too long".to_owned()).or_default() += 1,
            Item::Announced { database, keys } if self.orders.tables.contains_key(&database) => {
                self.shown.announced += keys;
            }
            Item::Other { .. } | Item::Announced { .. } | Item::End => {}
        }
    }

    async fn on_command(
        &mut self,
        command: StreamCommand,
        answers: &mut UnboundedReceiver<Answer>,
    ) -> anyhow::Result<()> {
        let StreamCommand { start, end, words } = command;
        let database = self.planner.database();
        match meaning(&words) {
            Meaning::Nothing => {}
            Meaning::Select(database) => {
                self.planner.on_select(end, database);
                return Ok(());
            }
            Meaning::Set(pairs, expires_at) => {
                for (key, value) in pairs {
                    self.remember(database, &key);
                    let value = RdbValue::String(value);
                    let change = KeyChange::Set { value, expires_at };
                    self.planner.on_change(start, end, key, change);
                }
            }
            Meaning::Delete(keys) => {
                for key in keys {
                    self.remember(database, &key);
                    self.planner.on_change(start, end, key, KeyChange::Delete);
                }
            }
            Meaning::ExpireAt(key, at) => {
                self.planner
                    .on_change(start, end, key, KeyChange::ExpireAt(at))
            }
            Meaning::Persist(key) => self.planner.on_change(start, end, key, KeyChange::Persist),
            Meaning::Flush { is_everything } => self.planner.on_flush(start, end, is_everything),
            Meaning::Other(kind) => {
                *self
                    .left_out
                    .entry(format!("change of a {kind}"))
                    .or_default() += 1;
            }
            Meaning::Changed(keys) => {
                for (_, key) in &keys {
                    self.remember(database, key);
                }
                self.planner.on_changed(start, end, keys);
            }
            Meaning::Unknown => {
                let keys = self.keys_of(words, answers).await?;
                let keys = keys.into_iter().map(|key| (None, key)).collect();
                self.planner.on_changed(start, end, keys);
            }
            Meaning::Swap => bail!(
                "databases were swapped at the source (SWAPDB), which has no likeness in tables: remove {} and begin anew",
                self.orders.state.display()
            ),
        }
        self.planner.on_end(end);
        Ok(())
    }

    /// Asks the source for the keys of a command that is not known here; the stream waits.
    async fn keys_of(
        &mut self,
        words: Vec<Vec<u8>>,
        answers: &mut UnboundedReceiver<Answer>,
    ) -> anyhow::Result<Vec<Vec<u8>>> {
        self.ask(Ask::Keys(words))?;
        loop {
            match answers
                .recv()
                .await
                .context("the thread that asks the source has ended")?
            {
                Answer::Keys(keys) => return keys,
                other => self.on_answer(other)?,
            }
        }
    }

    fn remember(&mut self, database: u32, key: &[u8]) {
        if self.orders.tables.contains_key(&database) {
            self.sample.push_back(KeyPlace {
                database,
                key: key.to_vec(),
            });
            if self.sample.len() > SAMPLE {
                self.sample.pop_front();
            }
        }
    }

    /// Counts, lag, and whether it is time to hand over or to give that up.
    fn look_about(&mut self) -> anyhow::Result<()> {
        let low_water = self.planner.low_water();
        while self
            .arrivals
            .front()
            .is_some_and(|(offset, _)| *offset <= low_water)
        {
            self.arrivals.pop_front();
        }
        self.shown.lag = self
            .arrivals
            .front()
            .map_or(Duration::ZERO, |(_, since)| since.elapsed());
        self.shown.lag_bytes = self.received.saturating_sub(low_water);
        self.shown.stored = self.sink.stored;
        let wishes = &self.orders.wishes;
        if self.shown.is_following
            && self
                .handover
                .is_wanted(wishes, self.shown.lag, self.reads_snapshot())
        {
            self.handover.begin(&self.asks, wishes);
        }
        if self.handover.is_overdue(wishes) {
            self.handover.give_up(&self.asks);
            let bytes = grouped(self.shown.lag_bytes);
            self.progress.tell(&format!(
                "not handed over: still behind by {bytes} bytes after {:?} (--pause-max). Clients write to the source again, \
                 and the import follows on",
                wishes.pause_max
            ));
        }
        self.progress.show(&self.shown, &self.left_out);
        Ok(())
    }

    /// Whether records of the snapshot are still on their way to the tables.
    fn reads_snapshot(&self) -> bool {
        self.planner.low_water() == self.point.offset && self.point.phase == Phase::Copying
    }

    fn write_point(&mut self) -> anyhow::Result<()> {
        let low_water = self.planner.low_water();
        // Until something behind the snapshot is stored, nobody knows that all of it is.
        if self.reads_snapshot() && self.planner.pending() > 0 {
            return Ok(());
        }
        self.point.phase = Phase::Following;
        self.point.offset = low_water;
        self.point.database = self.planner.low_water_database();
        self.point.stored = self.sink.stored;
        self.point.write(&self.orders.state)?;
        Ok(())
    }

    /// The source stands still, and the tables have everything: a last look, and the word.
    async fn hand_over(&mut self) -> anyhow::Result<()> {
        let offset = self.planner.low_water();
        let mut sample: Vec<KeyPlace> = self.sample.drain(..).collect();
        sample.sort();
        sample.dedup();
        let mut compared = 0;
        if !sample.is_empty() {
            compared = sample.len();
            let Answer::Read { outcomes, .. } = asker::Asker::new(self.source)?.read(&sample)?
            else {
                bail!("the source answered a read with something else");
            };
            let differences = compare_with(self.sink, outcomes).await?;
            if let Some(difference) = differences.first() {
                bail!(
                    "not handed over: of {compared} keys that changed last {} differ, the first: {difference}. This is an error \
                     of brickyard; please report it",
                    differences.len()
                );
            }
        }
        if self.orders.wishes.fences {
            asker::Asker::new(self.source)?.fence()?;
        }
        let waited = self.handover.waited();
        let longest = self.orders.wishes.longest();
        ensure!(
            waited + PAUSE_LEFT < longest,
            "not handed over: it took {waited:?}, and the source holds writers up for {longest:?} (--hold); what they have written \
             since is not here. Run the same command again: it goes on"
        );
        self.write_point()?;
        self.point.phase = Phase::HandedOver;
        self.point.write(&self.orders.state)?;
        self.progress.finish();
        println!("HANDED OVER at offset {offset}: nothing is missing; point clients here now");
        let writes = if self.orders.wishes.fences {
            "the source refuses writes from now on (min-replicas-to-write)".to_owned()
        } else {
            format!(
                "the source holds writes for {:?} from then on, and takes them again",
                self.orders.wishes.hold
            )
        };
        eprintln!(
            "writers waited {} ms for it; {compared} keys that changed last are the same on both sides; {writes}",
            waited.as_millis()
        );
        if !self.left_out.is_empty() {
            eprintln!("left out: {}", named(&self.left_out));
        }
        for (database, count) in self.planner.unmapped() {
            eprintln!(
                "left out: {} records and changes of database {database}, which no --database names",
                grouped(*count)
            );
        }
        Ok(())
    }
}
