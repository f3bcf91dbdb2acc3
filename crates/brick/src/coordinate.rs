//! A distributed transaction from its request to its reply, at the primary of its anchor's partition.
//!
//! In:  a request; answers to parts; ticks. Out: parts for other partitions, and for this brick's own; the reply.
//!
//! Invariants:
//! - An attempt that does not commit is over before another one begins: it has another id, and nothing ever commits under the old one.
//! - What the client is told to be not executed is not: until the anchor's operation is made nothing has happened, and intents are
//!   taken back by whoever meets them.
//! - Two transactions never wait for each other: a vote is given or refused at once, and who reads waits for intents, which go whatever
//!   it does, and for what an older transaction has reserved.
//! - What all of them hold together is bounded ([`crate::distributed`]).

mod asking;
mod commit;
mod draft;
mod locks;
mod recover;
mod settle;

use crate::core::Core;
use crate::distributed::part::{Answer, Ask, Bytes, Part};
use crate::distributed::{
    Action, Age, Drafted, Keys, Known, PerKey, Phase, Portion, Running, Setback,
};
use crate::keyed::Caller;
use crate::output::CommitDependency;
use crate::refusal::{dropped_table, error_line};
use crate::request::{Request, Token};
use crate::version::Version;
use asking::{Asker, ask_all, by_partition, named_table, names_of, resolve, token_of, whose};
use brickyard_command::ErrorReply;
use brickyard_types::TableId;
use brickyard_types::limits::KEY_BYTES_MAX;
use brickyard_wire::Reply;
use commit::{Commit, Failed, commit, place_of};
use draft::{Draft, draft};
use locks::locks_of;
use recover::{look_into_intents, on_recovery_answer};
use std::time::Duration;

/// A part whose answer nobody waits for.
const NOBODY: u64 = 0;

/// The first pause of a transaction that has come upon another one, in microseconds; it doubles, and is drawn from.
const PAUSE_US: u64 = 200;

/// How often it doubles.
const DOUBLINGS_MAX: u32 = 7;

/// Others were first until there was no more time.
const OVERTAKEN: ErrorReply = ErrorReply::constant(
    "TRYAGAIN other clients wrote keys of the transaction all the time; nothing of it was executed, try again",
);

/// Goes on with the transactions of a brick; what is left to do is in [`Action`]s.
pub(crate) struct Coordinator<'a> {
    core: &'a mut Core,
}

impl<'a> Coordinator<'a> {
    pub(crate) fn new(core: &'a mut Core) -> Self {
        Self { core }
    }

    /// Begins a transaction whose keys are of several slots.
    pub(crate) fn begin(&mut self, request: Request) {
        let distributed = &mut self.core.requests.distributed;
        let (id, number) = (distributed.id(), distributed.number());
        let age = Age {
            since: self.core.unix.0,
            coordinator: id.coordinator,
            number: id.number,
        };
        let running = Running::new(request, id, age);
        if let Some(len) = running.longest_key().filter(|len| *len > KEY_BYTES_MAX) {
            let error = ErrorReply::new(format!(
                "ERR key is {len} bytes long and the longest allowed is {KEY_BYTES_MAX}; nothing of the transaction was executed, \
                 use a shorter key"
            ));
            return self.refuse_transaction(&running, &error_line(&error));
        }
        if !self.core.requests.distributed.has_room_for(running.bytes()) {
            return self.refuse_transaction(&running, &error_line(&too_much(self.core)));
        }
        self.attempt(number, running);
    }

    /// An answer to a part.
    pub(crate) fn on_answer(&mut self, token: Token, bytes: &[u8]) {
        let (number, round, part) = whose(token);
        if let Some(running) = self.core.requests.distributed.take(number) {
            self.on_running_answer((number, running), round, part, bytes);
        } else if number != NOBODY {
            on_recovery_answer(self.core, number, round, bytes);
        }
    }

    /// Transactions whose pause is over go on.
    pub(crate) fn retry(&mut self) {
        let now = self.core.now;
        while !self.scripts_have_had_their_turn()
            && let Some((number, running)) = self.core.requests.distributed.take_due(now)
        {
            match running.phase {
                Phase::Unresolved(_) => self.resolve(number, running),
                _ => self.attempt(number, running),
            }
        }
    }

    /// Intents that stay are looked into, and who waits for some looks again.
    pub(crate) fn tick(&mut self) {
        look_into_intents(self.core);
        let distributed = &mut self.core.requests.distributed;
        distributed.reserved.end_old(self.core.now);
        if distributed.has_waiters {
            // Whatever they wait for may have gone without a word, as by FLUSHALL.
            self.core.requests.distributed.has_waiters = self.core.requests.has_view();
            self.core.replicas.wake();
        }
    }

    fn scripts_have_had_their_turn(&self) -> bool {
        let (scripts, settings) = (&self.core.workshop.scripts, &self.core.shared.settings);
        scripts.have_had_their_turn(self.core.now, settings)
    }

    fn keep(&mut self, number: u64, running: Running) {
        self.core.requests.distributed.keep(number, running);
    }

    fn act(&mut self, action: Action) {
        self.core.requests.distributed.act(action);
    }

    /// A transaction's client gets its reply once `dependency` is met.
    fn reply(&mut self, running: &Running, bytes: Vec<u8>, dependency: CommitDependency) {
        let request = &running.request;
        if bytes.first() == Some(&b'-') {
            self.core.stats().errors.replied.add(1);
        }
        self.act(Action::Reply {
            origin: request.origin,
            bytes,
            dependency,
            deadline: request.has_waited.then_some(request.deadline),
        });
    }

    /// Runs the commands against what is known, and does what that asks for.
    fn attempt(&mut self, number: u64, mut running: Running) {
        let table_id = running.request.table;
        let Some(table) = self.core.tables.index_of(table_id) else {
            return self.refuse_transaction(&running, &error_line(&dropped_table()));
        };
        if running.place.is_none() && !running.transaction().only_reads() {
            match place_of(self.core, table, running.anchor()) {
                Some((place, _)) => running.place = Some(place),
                None => return self.place_again(running),
            }
        }
        if let Some(across) = running.transaction().across
            && self.core.tables.index_of(across.table).is_none()
        {
            return self.await_table(number, running, across.table);
        }
        let caller = Caller::of(&running.request, table, self.core.member());
        let caller = (caller, table_id);
        let drafted = draft(self.core, running.transaction(), caller, running.known());
        match drafted {
            Draft::Wants(keys) => self.read(number, running, keys),
            Draft::Ends(reply) => self.refuse_transaction(&running, &reply),
            Draft::Done(drafted) => {
                let needed = drafted.reply.len();
                if needed > running.request.room {
                    let request = Box::new(running.request);
                    return self.act(Action::GiveBack(request, needed));
                }
                running.drafted = drafted;
                self.decide(number, running, table);
            }
        }
    }

    /// Asks for what keys hold.
    fn read(&mut self, number: u64, mut running: Running, keys: Keys) {
        assert!(!keys.is_empty(), "a draft waits for no key");
        running.phase = Phase::Reading;
        let reserves = running.attempts > 0;
        let asks = |portion: &Portion| Ask::Read {
            keys: portion.keys.iter().cloned().map(Bytes).collect(),
            reserves,
        };
        self.ask_parts(number, running, keys.to_names(), asks);
    }

    /// The commands have run: what they read is looked at again, or locked, or it commits.
    fn decide(&mut self, number: u64, mut running: Running, table: usize) {
        let home = running.request.table;
        if running.drafted.writes.is_empty() {
            let mut all: PerKey<Version> = PerKey::default();
            for watch in &running.transaction().watches {
                all.insert(home, watch.key.clone(), watch.version);
            }
            let is_one_moment = running.reads <= 1 && all.is_empty();
            for (of, key) in running.drafted.reads.names() {
                let version = running.known().get(of, key).map(|it| it.version);
                all.or_insert(of, key, || version.unwrap_or(Version::Unknown));
            }
            // Without a key it rests on nothing: a script that was refused, or touched none.
            if is_one_moment || all.is_empty() {
                return self.answer_reads(running);
            }
            running.phase = Phase::Checking;
            let asks = |portion: &Portion| {
                let versions = portion.keys.iter().map(|key| {
                    let version = all.get(portion.table, key).copied();
                    let version = version.unwrap_or(Version::Unknown);
                    (Bytes(key.clone()), version.encode())
                });
                Ask::Check(versions.collect())
            };
            return self.ask_parts(number, running, all.to_names(), asks);
        }
        let Some(leaf) = self.core.locate(table, running.anchor()).map(|it| it.leaf) else {
            return self.refuse_transaction(&running, &error_line(&dropped_table()));
        };
        let is_foreign = |core: &Core, of: TableId, key: &[u8]| {
            of != home || core.locate(table, key).is_some_and(|it| it.leaf != leaf)
        };
        let mut locks = locks_of(&running);
        locks.retain(|of, key| is_foreign(self.core, of, key));
        let anchor = running.anchor().to_vec();
        let drafted = &running.drafted;
        let is_touched = drafted.writes.has(home, &anchor) || drafted.reads.has(home, &anchor);
        if !locks.is_empty() && !is_touched {
            let mut keys = Keys::default();
            keys.note(home, &anchor);
            // Its record says what was decided, so what it holds has to be known.
            if !running.known().has(home, &anchor) {
                return self.read(number, running, keys);
            }
            running.drafted.reads.note(home, &anchor);
        }
        let touched = locks.names().chain(running.drafted.writes.names());
        let mut new = Keys::default();
        for (of, key) in touched.filter(|(of, key)| !running.known().has(*of, key)) {
            new.note(of, key);
        }
        if running.attempts > 0 && !new.is_empty() {
            // Others were first, also with keys of which nothing is read: it has to reserve these, too.
            return self.read(number, running, new);
        }
        if locks.is_empty() {
            running.asked.clear();
            return self.commit_transaction(number, running);
        }
        running.phase = Phase::Locking;
        let asks = |portion: &Portion| {
            let keys = portion.keys.iter();
            let locked = keys.filter_map(|key| locks.get(portion.table, key).cloned());
            Ask::Lock(locked.collect())
        };
        self.ask_parts(number, running, locks.to_names(), asks);
    }

    /// Asks each partition for its part of these keys.
    fn ask_parts(
        &mut self,
        number: u64,
        mut running: Running,
        keys: Vec<(TableId, Vec<u8>)>,
        asks: impl Fn(&Portion) -> Ask,
    ) {
        assert!(!keys.is_empty(), "no key is asked for: {:?}", running.phase);
        assert_eq!(running.missing, 0, "answers of round {}", running.round);
        running.round += 1;
        running.setback = None;
        let home = running.request.table;
        running.asked = by_partition(self.core, keys);
        running.missing = running.asked.len();
        if running.phase == Phase::Reading {
            running.reads += running.missing as u32;
        }
        let asker = Asker {
            number,
            round: running.round,
            deadline: running.request.deadline,
        };
        let (id, age) = (running.id, running.age);
        let anchor = Bytes(running.anchor().to_vec());
        let parts = running.asked.iter().map(|portion| {
            let part = Part {
                id,
                age,
                anchor: anchor.clone(),
                ask: asks(portion),
                anchor_table: named_table(home, portion.table),
            };
            (portion.table, part)
        });
        let parts = parts.collect();
        // It has to be known before its parts are asked for: what has become of it may be asked at once.
        self.keep(number, running);
        ask_all(self.core, &asker, parts);
    }

    fn on_running_answer(
        &mut self,
        (number, mut running): (u64, Running),
        round: u64,
        part: u32,
        bytes: &[u8],
    ) {
        if round != running.round || running.retry_at().is_some() {
            self.keep(number, running);
            return;
        }
        assert!(running.missing > 0, "an answer to nothing");
        running.missing -= 1;
        let asked = running.asked.get(part as usize);
        match (running.phase, Answer::decode(bytes)) {
            (Phase::Committing, _) => return self.on_commit_answer(number, running, bytes),
            (Phase::Reading, Ok(Answer::Read(all)))
                if asked.is_some_and(|asked| asked.keys.len() == all.len()) =>
            {
                if let Some(Portion { table, keys }) = asked.cloned() {
                    for (key, (held, version)) in keys.into_iter().zip(all) {
                        let version = Version::decode(version);
                        running.learn(table, key, Known { held, version });
                    }
                }
                if !self.core.requests.distributed.has_room_for(running.bytes()) {
                    let line = error_line(&too_much(self.core));
                    running.note_setback(Setback::Refused(line));
                }
            }
            (_, Ok(Answer::Done)) => {}
            // It went by what this brick has said before.
            (Phase::Resolving, Ok(Answer::Differs(_))) if self.is_still_in_place(&running) => {}
            (_, Ok(Answer::Differs(key))) => {
                let mut watches = running.transaction().watches.iter();
                let is_watched = watches.any(|watch| watch.key == key.0);
                running.note_setback(match is_watched {
                    true => Setback::Watched,
                    false => Setback::Again,
                });
            }
            (_, Ok(_)) => running.note_setback(Setback::Again),
            (_, Err(line)) if is_passing(line) => {
                running.note_setback(Setback::Passing(line.to_vec()));
            }
            (_, Err(line)) => running.note_setback(Setback::Refused(line.to_vec())),
        }
        if running.missing > 0 {
            self.keep(number, running);
            return;
        }
        match running.phase {
            Phase::Resolving => self.close(number, running),
            // Nobody waits for it.
            Phase::Closing => {}
            _ => match running.setback.take() {
                None => self.go_on_after(number, running),
                Some(setback) => self.set_back(number, running, setback),
            },
        }
    }

    /// All answers are there, and good.
    fn go_on_after(&mut self, number: u64, running: Running) {
        match running.phase {
            Phase::Reading => self.attempt(number, running),
            Phase::Checking => self.answer_reads(running),
            Phase::Locking => self.commit_transaction(number, running),
            other => unreachable!("{other:?} has no such answers"),
        }
    }

    /// What was read holds at one moment, and nothing is to be written.
    fn answer_reads(&mut self, mut running: Running) {
        let reply = std::mem::take(&mut running.drafted.reply);
        self.publish_drafted(&mut running);
        self.reply(&running, reply, CommitDependency::NONE);
    }

    /// All votes are there: it commits, or is taken back.
    fn commit_transaction(&mut self, number: u64, mut running: Running) {
        let Some(table) = self.core.tables.index_of(running.request.table) else {
            return self.refuse_transaction(&running, &error_line(&dropped_table()));
        };
        let Some(place) = running.place else {
            unreachable!("a transaction that writes has a place");
        };
        if self.lacks_other_table(&running) {
            let line = error_line(&settle::OTHER_DROPPED);
            return self.set_back(number, running, Setback::Refused(line));
        }
        let committed = commit(
            self.core,
            &Commit {
                id: running.id,
                age: running.age,
                anchor: running.anchor(),
                table,
                place,
                writer: Caller::of(&running.request, table, self.core.member()).writer,
                watches: &running.transaction().watches,
                known: running.known(),
                reads: &running.drafted.reads,
                writes: &running.drafted.writes,
                locked: &running.asked,
            },
        );
        let dependency = match committed {
            Ok(dependency) => dependency,
            Err(failed) => {
                let setback = match failed {
                    Failed::Again => Setback::Again,
                    Failed::Watched => Setback::Watched,
                    Failed::Refused(error) => Setback::Refused(error_line(&error)),
                    Failed::Moved => {
                        self.core.stats().distributed.moved.add(1);
                        self.take_back(&mut running);
                        return self.place_again(running);
                    }
                };
                return self.set_back(number, running, setback);
            }
        };
        self.core.stats().distributed.committed.add(1);
        self.publish_drafted(&mut running);
        if !running.is_across() {
            let reply = std::mem::take(&mut running.drafted.reply);
            self.reply(&running, reply, dependency);
        }
        if running.asked.is_empty() {
            assert!(!running.is_across(), "it has written nothing across");
            return;
        }
        assert!(
            running.setback.is_none(),
            "it commits against a vote: {:?}",
            running.setback
        );
        running.phase = Phase::Committing;
        running.round += 1;
        running.missing = 1;
        let origin = self.core.own(token_of(number, running.round, 0));
        self.keep(number, running);
        let mut done = Vec::new();
        Answer::Done.encode(&mut done);
        self.act(Action::Reply {
            origin,
            bytes: done,
            dependency,
            deadline: None,
        });
    }

    /// Its operation has committed, or nobody knows: then whoever meets an intent asks for the outcome.
    fn on_commit_answer(&mut self, number: u64, mut running: Running, bytes: &[u8]) {
        if Answer::decode(bytes) != Ok(Answer::Done) {
            if running.is_across() {
                self.reply(&running, bytes.to_vec(), CommitDependency::NONE);
            }
            return self.leave_to_recovery(&running);
        }
        if running.is_across() {
            return self.resolve(number, running);
        }
        running.phase = Phase::Resolving;
        running.request.deadline = self.core.deadline();
        let keys = names_of(&running.asked);
        self.ask_parts(number, running, keys, |portion| {
            resolve(&portion.keys, true)
        });
    }

    /// Its intents are gone: the anchor's goes, too. If some may be there yet, it stays, and whoever meets it sees to the rest.
    fn close(&mut self, number: u64, mut running: Running) {
        match running.setback.is_some() {
            true if running.is_across() => return self.resolve_later(number, running),
            true => return self.leave_to_recovery(&running),
            false => {}
        }
        if running.is_across() {
            let reply = std::mem::take(&mut running.drafted.reply);
            self.reply(&running, reply, CommitDependency::NONE);
            running.request.deadline = self.core.deadline();
        }
        running.phase = Phase::Closing;
        let anchor = vec![(running.request.table, running.anchor().to_vec())];
        self.ask_parts(number, running, anchor, |portion| {
            resolve(&portion.keys, true)
        });
    }

    /// What is left of it is looked into as if its coordinator were gone.
    fn leave_to_recovery(&mut self, running: &Running) {
        let (table, now) = (running.request.table, self.core.now);
        let met = &mut self.core.requests.distributed.met;
        met.note(table, running.anchor(), now);
    }

    /// It is taken back, and maybe tried again.
    fn set_back(&mut self, number: u64, mut running: Running, setback: Setback) {
        let is_over = !matches!(setback, Setback::Again | Setback::Passing(_));
        if is_over && running.attempts > 0 {
            self.let_go(&running);
        }
        self.take_back(&mut running);
        match setback {
            Setback::Refused(_) if self.lacks_other_table(&running) => {
                self.refuse_transaction(&running, &error_line(&settle::OTHER_DROPPED));
            }
            Setback::Refused(line) => self.refuse_transaction(&running, &line),
            Setback::Watched => {
                let mut reply = Vec::new();
                Reply::new(&mut reply, running.request.protocol).null_array();
                self.reply(&running, reply, CommitDependency::NONE);
            }
            Setback::Again | Setback::Passing(_) => {
                running.attempts += 1;
                self.core.stats().distributed.retried.add(1);
                let most = PAUSE_US << running.attempts.min(DOUBLINGS_MAX);
                let pause = Duration::from_micros(self.core.random.next() % most);
                let until = self.core.now + pause;
                if until >= running.request.deadline {
                    let line = match setback {
                        Setback::Passing(line) => line,
                        _ => error_line(&OVERTAKEN),
                    };
                    return self.refuse_transaction(&running, &line);
                }
                running.phase = Phase::Pausing(until);
                self.keep(number, running);
            }
        }
    }

    /// Nobody need wait any longer for what it has reserved.
    fn let_go(&mut self, running: &Running) {
        let portions = by_partition(self.core, running.known().to_names());
        self.ask_nobody(running, &portions);
    }

    /// What these keys have of the attempt goes, be it an intent or a reservation.
    fn ask_nobody(&mut self, running: &Running, portions: &[Portion]) {
        let home = running.request.table;
        let parts = portions.iter().map(|portion| {
            let part = Part {
                id: running.id,
                age: running.age,
                anchor: Bytes(running.anchor().to_vec()),
                ask: resolve(&portion.keys, false),
                anchor_table: named_table(home, portion.table),
            };
            (portion.table, part)
        });
        let asker = Asker {
            number: NOBODY,
            round: 0,
            deadline: self.core.deadline(),
        };
        let parts = parts.collect();
        ask_all(self.core, &asker, parts);
    }

    /// An attempt is over: its intents go, those of which the votes did not come, too.
    fn take_back(&mut self, running: &mut Running) {
        if running.phase == Phase::Locking {
            let locked = std::mem::take(&mut running.asked);
            self.ask_nobody(running, &locked);
        }
        let before = running.id;
        running.id = self.core.requests.distributed.id();
        assert!(running.id > before, "{before:?} would go on as itself");
        running.forget();
        running.place = None;
        running.drafted = Drafted::default();
    }

    /// The brick may not coordinate it, or not now: it goes where it belongs, or waits.
    fn place_again(&mut self, running: Running) {
        self.act(Action::Redispatch(Box::new(running.request)));
    }

    /// Nothing was executed, and this is why.
    fn refuse_transaction(&mut self, running: &Running, line: &[u8]) {
        self.reply(running, not_executed(line), CommitDependency::NONE);
    }

    /// What happened to keys is told, and what scripts have published leaves.
    fn publish_drafted(&mut self, running: &mut Running) {
        let drafted = &mut running.drafted;
        for published in std::mem::take(&mut drafted.published) {
            self.core.outbox.publish(published);
        }
        let events = std::mem::take(&mut drafted.events);
        if events.is_empty() {
            return;
        }
        let classes = self.core.shared.settings.keyspace_events();
        let (tables, notices) = (&self.core.tables, &mut self.core.workshop.notices);
        notices.clear();
        for (at, (cause, kind, expires, (table, key))) in events.iter().enumerate() {
            if let Some(state) = tables.of(*table) {
                notices.add((classes, &state.name), (*cause, *kind, *expires), key, at);
            }
        }
        let told: Vec<_> = notices.take().collect();
        for published in told {
            self.core.outbox.publish(published);
        }
    }
}

/// Why no more transactions are under way, or none that hold so much.
fn too_much(core: &Core) -> ErrorReply {
    core.stats().errors.busy.add(1);
    ErrorReply::new(format!(
        "BUSY transactions over several slots hold as much as they may on brick {}; nothing of this one was executed, try again \
         later",
        core.id
    ))
}

/// Whether a part that was answered so may be carried out a moment later. An attempt that asked for it is over, whatever has become
/// of the part.
fn is_passing(line: &[u8]) -> bool {
    let words: [&[u8]; 3] = [b"-CLUSTERDOWN", b"-TRYAGAIN", b"-UNKNOWNRESULT"];
    words.iter().any(|word| line.starts_with(word))
}

/// A line about a part, of which nobody may know what became of it: of the transaction it is known, since it did not commit.
fn not_executed(line: &[u8]) -> Vec<u8> {
    let Some(unknown) = line.strip_prefix(b"-UNKNOWNRESULT ") else {
        return line.to_vec();
    };
    let start = b"-CLUSTERDOWN nothing of the transaction was executed, try again; a part of it was given up: ";
    [&start[..], unknown].concat()
}
