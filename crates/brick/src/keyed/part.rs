//! What a partition's primary does for a distributed transaction.
//!
//! In:  a part. Out: its answer, which waits until all that it rests on has committed; or what it waits for.
//!
//! Invariants (rules of docs/protocol.md):
//! - `a vote stays`: intents that were answered for are in the partition's log, and go by the outcome alone.
//! - `an anchor decides`: what has become of a transaction is what the anchor's partition has of it, or what the brick that coordinates
//!   it there knows; a transaction of which neither knows is aborted for good.
//! - `two tables are answered for last`: where the anchor's table was dropped nothing commits any more, and whoever asks hears of each key
//!   whether it had its intent.

use super::run::{Caller, Ran, ran, write_refusal};
use crate::core::Core;
use crate::distributed::part::{After, Answer, Ask, Bytes, Lock, Part, Stored};
use crate::distributed::{Intent, Participant};
use crate::output::CommitDependency;
use crate::refusal::EARLIER_NODE_TABLES;
use crate::request::UNBOUNDED;
use crate::requests::ColdValue;
use crate::transaction::Watch;
use crate::version::Version;
use crate::view::{RequestContext, View, watch_absent};
use brickyard_command::{ErrorReply, Failure, Keyspace, NewValue};
use brickyard_metadata::Level;
use brickyard_types::{PartitionId, TableId, UnixMillis, ValueType};
use brickyard_wire::Reply;

/// Bytes of values that a transaction may fetch from one partition: its answer is one message.
const READ_BYTES_MAX: usize = 64 << 20;

/// What it reads would not fit into one answer.
const READS_TOO_MUCH: ErrorReply = ErrorReply::constant(
    "ERR a transaction may read 64 MiB of one partition at most; split it into smaller ones",
);

/// An intent that this program cannot read.
const NO_INTENT: ErrorReply = ErrorReply::constant(
    "DAMAGED the key has an intent of a transaction that cannot be read; run \"brickyard inspect\" on the data directory",
);

/// The expiry of an intent that is to leave nothing: a time that does not come.
const LEAVING: UnixMillis = UnixMillis(1 << 60);

/// How a part went.
enum Done {
    Answered(Answer),
    Refused(ErrorReply),
}

/// Carries out a part, and writes the answer to `out`.
pub(crate) fn run_part(
    core: &mut Core,
    part: &Part,
    caller: Caller,
    values: &[ColdValue],
    out: &mut Vec<u8>,
) -> Ran {
    assert!(part.is_sound(), "{part:?} was not looked at when it came");
    let first = part.first_key();
    let Some((location, table)) = core
        .locate(caller.table, first)
        .zip(core.table(caller.table).map(|state| state.id))
    else {
        Answer::Misplaced.encode(out);
        return Ok(CommitDependency::NONE);
    };
    if matches!(part.ask, Ask::Outcome) && core.requests.distributed.is_open(part.id) {
        Answer::Pending.encode(out);
        return Ok(CommitDependency::NONE);
    }
    if let Ask::Resolve { is_committed, .. } = part.ask
        && is_committed
        && part
            .anchor_table
            .is_some_and(|it| core.tables.is_dropped(it))
    {
        // Nobody can say any more that it has committed, and nobody was told so.
        Answer::Ended {
            is_committed: false,
        }
        .encode(out);
        return Ok(CommitDependency::NONE);
    }
    let partition = partition_at(core, caller.table, location.leaf);
    if matches!(part.ask, Ask::Lock(_))
        && partition.is_some_and(|it| core.requests.distributed.rests(it, core.now))
    {
        Answer::Taken.encode(out);
        return Ok(CommitDependency::NONE);
    }
    if let Ask::Lock(locks) = &part.ask
        && let grows = growth(locks)
        && let Some(error) = write_refusal(core, caller.table, grows)
    {
        Reply::new(out, caller.protocol).error_bytes(error.as_bytes());
        return Ok(CommitDependency::NONE);
    }
    let context = RequestContext {
        writer: caller.writer,
        reads_only: false,
        sees_prepared: false,
        writes_many: true,
        // Who reads waits for intents of others; a vote is never waited for, so that no two wait for each other.
        sees_intents: !matches!(part.ask, Ask::Read { .. }),
        values_max: UNBOUNDED,
    };
    let mut view = View::new(core, caller.table, context, (first, location), values);
    if !part.keys().iter().all(|key| view.is_in_partition(key)) {
        view.abandon();
        Answer::Misplaced.encode(out);
        return Ok(CommitDependency::NONE);
    }
    let done = match &part.ask {
        Ask::Read { keys, reserves } => read(&mut view, part, keys, *reserves),
        Ask::Check(all) => check(&mut view, table, all),
        Ask::Lock(locks) => lock(&mut view, part, (table, locks)),
        Ask::Resolve { keys, is_committed } => resolve(&mut view, part, keys, *is_committed),
        Ask::Outcome => outcome(&mut view, part),
        Ask::Look => look(&mut view, part),
    };
    let mut answer = match done {
        Ok(Done::Answered(answer)) => answer,
        Ok(Done::Refused(error)) | Err(Failure::Error(error)) => {
            let dependency = view.abandon().dependency;
            Reply::new(out, caller.protocol).error_bytes(error.as_bytes());
            return Ok(dependency);
        }
        Err(Failure::Suspend) => return suspended(ran(view.abandon())),
    };
    let is_resolving = matches!(part.ask, Ask::Resolve { .. });
    let is_done = is_resolving || matches!(answer, Answer::Done | Answer::Read(_));
    let finished = if is_done {
        view.finish()
    } else {
        view.abandon()
    };
    let dependency = ran(finished)?;
    if let (Answer::Read(all), Ask::Read { keys, .. }) = (&mut answer, &part.ask) {
        // Of what does not exist only now: what was found expired is removed by the end of the view.
        for ((held, version), key) in all.iter_mut().zip(keys) {
            if held.is_none() {
                *version = watch_absent(core, caller.table, &key.0).encode();
            }
        }
    }
    match &part.ask {
        Ask::Resolve { is_committed, .. } => {
            core.requests.distributed.note_resolving(dependency);
            if !is_committed {
                release(core, table, part);
            }
        }
        Ask::Lock(_) | Ask::Check(_) if answer == Answer::Done => release(core, table, part),
        _ => {}
    }
    answer.encode(out);
    Ok(dependency)
}

/// Bytes by which these writes may make the table grow.
fn growth(locks: &[Lock]) -> Option<usize> {
    let grow = locks.iter().filter_map(|lock| match &lock.after {
        After::Holds(stored) => Some(lock.key.0.len() + stored.len()),
        After::Same | After::Gone => None,
    });
    grow.reduce(|all, bytes| all + bytes)
}

/// Others may have the keys that the transaction has reserved.
fn release(core: &mut Core, table: TableId, part: &Part) {
    let reserved = &mut core.requests.distributed.reserved;
    if reserved.is_empty() {
        return;
    }
    let mut were_reserved = false;
    for key in part.keys() {
        were_reserved |= reserved.release(table, key, part.age);
    }
    if were_reserved {
        core.replicas.wake();
    }
}

fn partition_at(core: &Core, table: usize, leaf: u32) -> Option<PartitionId> {
    let partition = core.table(table)?.partitions.get(leaf as usize)?.as_ref()?;
    Some(partition.id)
}

/// Something suspended it, so something is lacking.
fn suspended(ran: Ran) -> Ran {
    assert!(ran.is_err(), "it waits for nothing");
    ran
}

fn read(view: &mut View<'_>, part: &Part, keys: &[Bytes], reserves: bool) -> Result<Done, Failure> {
    let mut all = Vec::with_capacity(keys.len());
    let (mut is_suspended, mut bytes) = (false, 0);
    for key in keys {
        if reserves && !view.reserve_key(&key.0, part.age) {
            is_suspended = true;
            continue;
        }
        match view.read_any(&key.0) {
            Ok(None) => all.push((None, Version::Unknown.encode())),
            Ok(Some(entry)) => {
                bytes += entry.value.len();
                if bytes > READ_BYTES_MAX {
                    return Ok(Done::Refused(READS_TOO_MUCH));
                }
                let held = Stored::new(entry.value_type, entry.expires_at, entry.value.to_vec());
                all.push((Some(held), Version::Written(entry.op).encode()));
            }
            // All that it needs is read at once.
            Err(Failure::Suspend) => is_suspended = true,
            Err(error) => return Err(error),
        }
    }
    if is_suspended {
        return Err(Failure::Suspend);
    }
    Ok(Done::Answered(Answer::Read(all)))
}

/// Whether the key is what it was.
fn is_as_expected(
    view: &mut View<'_>,
    table: TableId,
    key: &Bytes,
    version: Version,
) -> Result<bool, Failure> {
    let watch = Watch {
        table,
        key: key.0.clone(),
        version,
    };
    view.is_unchanged(&watch).map_err(Failure::Error)
}

fn check(view: &mut View<'_>, table: TableId, all: &[(Bytes, [u64; 4])]) -> Result<Done, Failure> {
    for (key, version) in all {
        if !is_as_expected(view, table, key, Version::decode(*version))? {
            return Ok(Done::Answered(Answer::Differs(key.clone())));
        }
    }
    Ok(Done::Answered(Answer::Done))
}

/// Gives keys their intents, if all of them are what they have to be.
fn lock(
    view: &mut View<'_>,
    part: &Part,
    (table, locks): (TableId, &[Lock]),
) -> Result<Done, Failure> {
    let mut intents = Vec::with_capacity(locks.len());
    let mut is_suspended = false;
    for lock in locks {
        if view.is_kept_from(&lock.key.0, part.age) {
            return Ok(Done::Answered(Answer::Taken));
        }
        // Of a hash in parts an intent has the head: the parts stay as they are meanwhile.
        let held = match view.read_stored(&lock.key.0) {
            Ok(held) => held,
            Err(Failure::Suspend) => {
                is_suspended = true;
                continue;
            }
            Err(error) => return Err(error),
        };
        if held.is_some_and(|held| held.value_type == ValueType::Intent) {
            view.note_met(&lock.key.0);
            return Ok(Done::Answered(Answer::Taken));
        }
        let before =
            held.map(|held| Stored::new(held.value_type, held.expires_at, held.value.to_vec()));
        if let Some(version) = lock.version()
            && !is_as_expected(view, table, &lock.key, version)?
        {
            return Ok(Done::Answered(Answer::Differs(lock.key.clone())));
        }
        let after = match &lock.after {
            After::Same => before.clone(),
            After::Gone => None,
            After::Holds(stored) => Some(stored.clone()),
        };
        intents.push(Intent {
            id: part.id,
            anchor: Participant {
                table: part.anchor_table,
                key: part.anchor.0.clone(),
            },
            decided: None,
            before,
            after,
        });
    }
    if is_suspended {
        return Err(Failure::Suspend);
    }
    assert_eq!(locks.len(), intents.len(), "each key has one intent");
    for (lock, intent) in locks.iter().zip(intents) {
        put_intent(view, &lock.key.0, &intent)?;
    }
    Ok(Done::Answered(Answer::Done))
}

/// Gives a key an intent.
pub(crate) fn put_intent(view: &mut View<'_>, key: &[u8], intent: &Intent) -> Result<(), Failure> {
    if intent.is_across() && !view.all_know(Level::TWO_TABLES) {
        return Err(Failure::Error(EARLIER_NODE_TABLES));
    }
    let value = intent.encode();
    if value.len() >= view.value_bytes_max() {
        // It has what the key holds and what it is to hold.
        return Err(Failure::Error(ErrorReply::constant(
            "ERR a value is too long for a transaction over several partitions: what a key holds and what it is to hold may \
             have 64 MiB together",
        )));
    }
    let put = NewValue {
        value: &[&value],
        // So keys are counted and listed as what is to become of them: who was answered finds what it wrote.
        expires_at: intent.after.is_none().then_some(LEAVING),
        value_type: ValueType::Intent,
    };
    view.put(key, put)
}

/// The intent that a key has.
fn intent_of(view: &mut View<'_>, key: &[u8]) -> Result<Option<Intent>, Failure> {
    match view.read_any(key)? {
        Some(held) if held.value_type == ValueType::Intent => match Intent::decode(held.value) {
            Some(intent) => Ok(Some(intent)),
            None => Err(Failure::Error(NO_INTENT)),
        },
        _ => Ok(None),
    }
}

fn resolve(
    view: &mut View<'_>,
    part: &Part,
    keys: &[Bytes],
    is_committed: bool,
) -> Result<Done, Failure> {
    let mut intents = Vec::with_capacity(keys.len());
    let mut is_suspended = false;
    for key in keys {
        match intent_of(view, &key.0) {
            Ok(intent) => intents.push((key, intent.filter(|it| it.id == part.id))),
            Err(Failure::Suspend) => is_suspended = true,
            Err(error) => return Err(error),
        }
    }
    if is_suspended {
        return Err(Failure::Suspend);
    }
    let mut gone = None;
    for (key, intent) in intents {
        let Some(intent) = intent else {
            gone = Some(key);
            continue;
        };
        let becomes = match is_committed {
            true => intent.after,
            false => intent.before,
        };
        match becomes {
            Some(stored) => {
                let put = NewValue {
                    value: &[&stored.value.0],
                    expires_at: stored.expires_at(),
                    value_type: stored.value_type(),
                };
                view.put(&key.0, put)?;
            }
            None => {
                view.delete(&key.0)?;
            }
        }
    }
    // Who commits over two tables answers its client by this: it has to know whether it was too late.
    let gone = gone.filter(|_| is_committed && part.anchor_table.is_some());
    Ok(Done::Answered(match gone {
        Some(key) => Answer::Differs(key.clone()),
        None => Answer::Done,
    }))
}

fn outcome(view: &mut View<'_>, part: &Part) -> Result<Done, Failure> {
    let intent = intent_of(view, &part.anchor.0)?;
    let is_committed = intent.is_some_and(|it| it.id == part.id && it.decided.is_some());
    Ok(Done::Answered(Answer::Ended { is_committed }))
}

fn look(view: &mut View<'_>, part: &Part) -> Result<Done, Failure> {
    let Some(intent) = intent_of(view, &part.anchor.0)? else {
        return Ok(Done::Answered(Answer::Done));
    };
    let own = view.table_id();
    let Intent {
        id,
        anchor,
        decided,
        ..
    } = intent;
    let Some(anchor_table) = anchor.table else {
        let keys = |all: Vec<Participant>| all.into_iter().map(|it| Bytes(it.key)).collect();
        return Ok(Done::Answered(Answer::Intent {
            id,
            anchor: Bytes(anchor.key),
            decided: decided.map(keys),
        }));
    };
    let named = |it: Participant| (it.table.unwrap_or(own), Bytes(it.key));
    Ok(Done::Answered(Answer::IntentAcross {
        id,
        anchor: (anchor_table, Bytes(anchor.key)),
        decided: decided.map(|all| all.into_iter().map(named).collect()),
    }))
}
