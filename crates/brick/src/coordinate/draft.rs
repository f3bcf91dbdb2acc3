//! A distributed transaction's commands, run against what was read of its keys.
//!
//! In:  a transaction, and what partitions have answered. Out: its reply, which keys it has read and what it is to write; or what it
//!      has to read first. Nothing has happened yet.
//!
//! Invariants:
//! - What it decides by is in `reads`, with its version: if all of that holds at one moment, the reply is true at that moment.
//! - A command that fails has written nothing, as in a transaction of one partition.
//! - Keys are those of the table that the transaction was sent to; of one that is over two tables the command says which are the other's.

use crate::core::Core;
use crate::distributed::part::{After, Stored};
use crate::distributed::{Drafted, Event, Keys, Known, PerKey};
use crate::gather::REPLY_TOO_LONG;
use crate::keyed::{Caller, ScriptRun, StepView, Stepped, admit_steps, run_all, write_refusal};
use crate::keyspace_events::Cause;
use crate::settings::Settings;
use crate::stats::Stats;
use crate::transaction::{Across, Transaction};
use crate::version::Version;
use brickyard_command::table::flag;
use brickyard_command::{Args, ErrorReply, Failure, KeyValue, Keyspace, NewValue, Probe, Spec};
use brickyard_types::record::Kind;
use brickyard_types::{Op, TableId, UnixMillis, limits};
use brickyard_wire::Reply;

/// Bytes that all writes of a transaction take together: those of one partition are one message.
const WRITES_BYTES_MAX: usize = 64 << 20;

/// More than what a write takes besides its key and its value.
const WRITE_BYTES: usize = 64;

/// How a draft went.
pub(super) enum Draft {
    /// It has to read these first.
    Wants(Keys),
    /// It is refused, or is over; nothing is to be written.
    Ends(Vec<u8>),
    Done(Drafted),
}

/// Runs a transaction against what is known of its keys.
pub(super) fn draft(
    core: &mut Core,
    transaction: &Transaction,
    (caller, home): (Caller, TableId),
    known: &PerKey<Known>,
) -> Draft {
    let mut out = Vec::new();
    let admitted = match transaction.across {
        None => admit_steps(core, transaction, caller.table),
        // What grows is the other table, whose brick says whether it may.
        Some(_) => write_refusal(core, caller.table, None).map_or(Ok(()), Err),
    };
    if let Err(error) = admitted {
        Reply::new(&mut out, caller.protocol).error_bytes(error.as_bytes());
        return Draft::Ends(out);
    }
    let only_reads = transaction.only_reads();
    let mut scripts = transaction
        .has_scripts()
        .then(|| ScriptRun::begin(core, caller.table, only_reads));
    let mut view = DraftView {
        core,
        table: caller.table,
        home,
        across: transaction.across,
        known,
        wants: Keys::default(),
        reads: Keys::default(),
        staged: Vec::new(),
        newest: PerKey::default(),
        staged_bytes: 0,
        read_bytes: 0,
        bounded_from: None,
        cause: None,
    };
    let bytes_max = Settings::load(&view.core.shared.settings.output_bytes_max);
    let mut reply = Reply::new(&mut out, caller.protocol);
    let stepped = run_all(
        transaction,
        scripts.as_mut(),
        &mut view,
        &mut reply,
        bytes_max,
    );
    let drafted = match stepped {
        Stepped::Suspended => Err(Draft::Wants(std::mem::take(&mut view.wants))),
        Stepped::TooLong => {
            out.clear();
            Reply::new(&mut out, caller.protocol).error_bytes(REPLY_TOO_LONG.as_bytes());
            Err(Draft::Ends(std::mem::take(&mut out)))
        }
        Stepped::Done => Ok(view.end()),
    };
    let mut published = Vec::new();
    if let Some(mut scripts) = scripts {
        published = scripts.take_published();
        scripts.end(core);
    }
    match drafted {
        Err(other) => other,
        Ok(drafted) => Draft::Done(Drafted {
            reply: out,
            published,
            ..drafted
        }),
    }
}

/// A write, and what it took the place of.
#[derive(Debug)]
struct Staged {
    table: TableId,
    key: Vec<u8>,
    before: Option<After>,
    bytes: usize,
    event: Option<Event>,
}

/// The keys of a transaction as its commands see them.
struct DraftView<'a> {
    core: &'a mut Core,
    table: usize,
    /// The id of that.
    home: TableId,
    across: Option<Across>,
    known: &'a PerKey<Known>,
    wants: Keys,
    reads: Keys,
    staged: Vec<Staged>,
    newest: PerKey<After>,
    staged_bytes: usize,
    read_bytes: usize,
    /// What they were when the command began that only reads: it is bounded as if it came alone.
    bounded_from: Option<usize>,
    cause: Option<Cause>,
}

impl DraftView<'_> {
    fn end(self) -> Drafted {
        assert!(
            self.wants.is_empty(),
            "a draft that lacks something is done"
        );
        assert!(
            self.reads
                .names()
                .all(|(table, key)| self.known.has(table, key)),
            "a key is decided by that was not read"
        );
        let events = self.staged.into_iter().filter_map(|it| it.event);
        Drafted {
            reads: self.reads,
            writes: self.newest,
            events: events.collect(),
            ..Drafted::default()
        }
    }

    /// What a key holds now for the command at hand; `None`: it does not exist.
    fn held(&mut self, table: TableId, key: &[u8]) -> Result<Option<(&Stored, Op)>, Failure> {
        let now = self.core.unix;
        let is_there = |held: &&Stored| held.expires_at().is_none_or(|at| at >= now);
        let own = match self.newest.get(table, key) {
            Some(After::Holds(stored)) => Some(Some(stored)),
            Some(After::Gone) => Some(None),
            Some(After::Same) | None => None,
        };
        if let Some(own) = own {
            return Ok(own.filter(is_there).map(|held| (held, Op(0))));
        }
        if key.len() > limits::KEY_BYTES_MAX {
            // No partition has it, nor is one asked.
            return Ok(None);
        }
        let Some(known) = self.known.get(table, key) else {
            self.wants.note(table, key);
            return Err(Failure::Suspend);
        };
        self.reads.note(table, key);
        let op = match known.version {
            Version::Written(op) => op,
            Version::Absent(_) | Version::Unknown => Op(0),
        };
        let held = known.held.as_ref().filter(is_there);
        Ok(held.map(|held| (held, op)))
    }

    /// Whether a command that only reads has asked for more than its client may leave unread.
    fn reads_too_much(&self) -> bool {
        let max = Settings::load(&self.core.shared.settings.output_bytes_max);
        self.bounded_from
            .is_some_and(|from| (self.read_bytes - from) as u64 > max)
    }

    /// The other table, by its number.
    fn other_table(&self, database: u16) -> Result<TableId, Failure> {
        let across = self.across.filter(|it| it.database == database);
        across
            .map(|it| it.table)
            .ok_or(Failure::Error(ErrorReply::OUT_OF_REACH))
    }

    fn put_in(&mut self, table: TableId, key: &[u8], put: NewValue<'_>) -> Result<(), Failure> {
        let len: usize = put.value.iter().map(|piece| piece.len()).sum();
        if key.len() > limits::KEY_BYTES_MAX {
            return Err(Failure::Error(ErrorReply::new(format!(
                "ERR key is {} bytes long and the longest allowed is {}; use a shorter key",
                key.len(),
                limits::KEY_BYTES_MAX
            ))));
        }
        if len > self.value_bytes_max() {
            return Err(Failure::Error(ErrorReply::TOO_LONG));
        }
        if self.staged_bytes + key.len() + len + WRITE_BYTES > WRITES_BYTES_MAX {
            return Err(Failure::Error(ErrorReply::new(format!(
                "ERR one command or transaction may write {} MiB at most; split it into smaller ones",
                WRITES_BYTES_MAX >> 20
            ))));
        }
        let stored = Stored::new(put.value_type, put.expires_at, put.value.concat());
        self.stage(Kind::Put, (table, key), After::Holds(stored));
        Ok(())
    }

    fn stage(&mut self, kind: Kind, (table, key): (TableId, &[u8]), after: After) {
        let (bytes, expires) = match &after {
            After::Holds(stored) => (key.len() + stored.len(), stored.expires_at.is_some()),
            After::Same | After::Gone => (key.len(), false),
        };
        let bytes = bytes + WRITE_BYTES;
        self.staged_bytes += bytes;
        let event = self
            .cause
            .map(|cause| (cause, kind, expires, (table, key.to_vec())));
        let before = self.newest.insert(table, key.to_vec(), after);
        self.staged.push(Staged {
            table,
            key: key.to_vec(),
            before,
            bytes,
            event,
        });
    }
}

impl Keyspace for DraftView<'_> {
    fn now(&self) -> UnixMillis {
        self.core.unix
    }

    fn value_bytes_max(&self) -> usize {
        self.core.shared.limits.value_bytes_max
    }

    fn read_any(&mut self, key: &[u8]) -> Result<Option<KeyValue<'_>>, Failure> {
        if self.reads_too_much() {
            return Err(Failure::Error(REPLY_TOO_LONG));
        }
        let home = self.home;
        let len = self.held(home, key)?.map_or(0, |(held, _)| held.len());
        self.read_bytes += len;
        let found = self.held(home, key)?;
        Ok(found.map(|(held, op)| KeyValue {
            value: &held.value.0,
            expires_at: held.expires_at(),
            op,
            value_type: held.value_type(),
        }))
    }

    fn probe(&mut self, key: &[u8]) -> Result<Option<Probe>, Failure> {
        let found = self.held(self.home, key)?;
        Ok(found.map(|(held, op)| Probe {
            value_len: held.len(),
            expires_at: held.expires_at(),
            op,
            value_type: held.value_type(),
        }))
    }

    fn put(&mut self, key: &[u8], put: NewValue<'_>) -> Result<(), Failure> {
        self.put_in(self.home, key, put)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool, Failure> {
        if self.probe(key)?.is_none() {
            return Ok(false);
        }
        self.stage(Kind::Delete, (self.home, key), After::Gone);
        Ok(true)
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), Failure> {
        self.read_bytes += bytes;
        if self.reads_too_much() {
            return Err(Failure::Error(REPLY_TOO_LONG));
        }
        Ok(())
    }

    fn random(&mut self) -> u64 {
        self.core.random.next()
    }

    fn database(&self) -> Option<u16> {
        match self.across {
            // The number was looked up for the connection, to which it may be another table's than that of this name.
            Some(_) => None,
            None => self.core.table(self.table)?.database(),
        }
    }

    fn is_there_across(&mut self, database: u16, key: &[u8]) -> Result<bool, Failure> {
        let table = self.other_table(database)?;
        Ok(self.held(table, key)?.is_some())
    }

    fn put_across(&mut self, database: u16, key: &[u8], put: NewValue<'_>) -> Result<(), Failure> {
        let table = self.other_table(database)?;
        self.put_in(table, key, put)
    }
}

impl StepView for DraftView<'_> {
    /// Which partition a key is of makes no difference here.
    fn has(&self, _: &[u8]) -> bool {
        true
    }

    fn must_wait_for(&mut self, _: &[u8]) -> bool {
        false
    }

    fn begin_command(&mut self, spec: &Spec, args: Args<'_>) {
        let only_reads = spec.has(flag::READONLY);
        self.bounded_from = only_reads.then_some(self.read_bytes);
        let tells = self.core.shared.settings.keyspace_events().tell_anything();
        self.cause = tells.then(|| Cause::of(spec.id, args));
    }

    fn staged(&self) -> usize {
        self.staged.len()
    }

    fn take_back(&mut self, staged: usize) {
        while self.staged.len() > staged
            && let Some(last) = self.staged.pop()
        {
            assert!(
                self.staged_bytes >= last.bytes,
                "{} bytes are taken back of {}",
                last.bytes,
                self.staged_bytes
            );
            self.staged_bytes -= last.bytes;
            match last.before {
                Some(before) => {
                    self.newest.insert(last.table, last.key, before);
                }
                None => {
                    self.newest.remove(last.table, &last.key);
                }
            }
        }
    }

    fn stats(&self) -> &Stats {
        self.core.stats()
    }
}
