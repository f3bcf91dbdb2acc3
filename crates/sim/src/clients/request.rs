//! What clients ask for: a command, some at once, a transaction, a step of a scan.
//!
//! In:  a client that is connected, and its dice. Out: bytes for its node; operations in the history, and what is
//! expected as their answers.

use super::export::ask_export;
use super::keeper::{forget, read_kept};
use super::library::{ask_again, call};
use super::mover::{ask_to_move, name};
use super::scan::ask_scan;
use super::send::{note, send_command};
use super::state::{Call, Expected, FIELD, is_in_hash, key};
use super::watch::{ask_to_watch, go_on_watching};
use crate::clock::{MILLISECOND, SKEW_MS};
use crate::habits::{Form, KINDS, Kind};
use crate::world::World;
use brickyard_brick::Port;
use brickyard_history::{Action, Bytes, NOBODY, Operation, Outcome};

/// Appends of unknown outcome on one key past which nobody appends to it: each may be anywhere.
const APPENDS_UNKNOWN_MAX: u32 = 3;

/// Who keeps what it reads writes once in so many requests.
const KEEPERS_WRITE_ONE_IN: u64 = 8;

/// It asks for one key so often in turn, about.
const FAVOURITE_FOR: u64 = 16;

/// A client that is connected asks for the next thing.
pub(super) fn ask(world: &mut World, at: usize) {
    let habits = world.clients.habits;
    let keys = habits.keys;
    let client = &mut world.clients.all[at];
    if let Some(next) = client.sweep {
        let Some(kind) = habits.kind((next / keys) as usize) else {
            client.sweep = None;
            return;
        };
        client.sweep = Some(next + 1);
        return ask_one(world, at, kind, next % keys, true);
    }
    client.left -= 1;
    if go_on_watching(world, at) {
        return;
    }
    let form = draw_form(world, at);
    let is_done = match form {
        Form::Scan => ask_scan(world, at),
        Form::Export => ask_export(world, at),
        Form::ReadMany => ask_many(world, at, true),
        Form::WriteMany => ask_many(world, at, false),
        Form::Pair => ask_pair(world, at, [Kind::Left, Kind::Right]),
        Form::BriefPair => ask_pair(world, at, [Kind::BriefLeft, Kind::BriefRight]),
        Form::ApartPair => ask_pair(world, at, [Kind::ApartLeft, Kind::ApartRight]),
        Form::ReadBoth => ask_both(world, at),
        Form::Watch => ask_to_watch(world, at),
        Form::Clear => ask_to_clear(world, at),
        Form::Move => ask_to_move(world, at),
        Form::One | Form::Burst => false,
    };
    if is_done {
        return;
    }
    let habits = world.clients.habits;
    let client = &mut world.clients.all[at];
    if client.is_library() && client.random.one_in(habits.again_one_in) && ask_again(world, at) {
        return;
    }
    let client = &mut world.clients.all[at];
    let kind = client.random.weighed(habits.kinds);
    let number = client.random.below(habits.keys);
    let (kind, number) = match &mut client.keeper {
        Some(keeper) => keeper.prefer((kind, number), client.random.one_in(FAVOURITE_FOR)),
        None => (kind, number),
    };
    let count = if form == Form::Burst { 2 } else { 1 };
    for _ in 0..count {
        let client = &mut world.clients.all[at];
        let is_read = match client.keeper {
            Some(_) => !client.random.one_in(KEEPERS_WRITE_ONE_IN),
            None => client.is_reader || client.random.one_in(habits.reads_one_in),
        };
        ask_one(world, at, kind, number, is_read);
    }
}

/// How a client asks next: of one slot at a time, or by a node port; others answer for no key but their own.
fn draw_form(world: &mut World, at: usize) -> Form {
    let forms = world.clients.habits.forms;
    let client = &mut world.clients.all[at];
    let form = client.random.weighed(forms);
    // Any other transaction would be the end of what it watches.
    let is_watching = client.pursuits.watch.is_some();
    let keeps = client.keeper.is_some();
    let is_plain = match form {
        Form::One => true,
        _ if keeps => false,
        Form::Scan | Form::ReadMany | Form::WriteMany | Form::Clear => {
            client.port == Port::Node && !client.is_library()
        }
        Form::ApartPair | Form::Move => {
            client.port == Port::Node && !is_watching && !client.is_library()
        }
        Form::Watch => !is_watching && !client.is_reader && !client.is_library(),
        Form::Pair | Form::BriefPair => !is_watching && !client.is_library(),
        Form::Burst | Form::Export | Form::ReadBoth => !client.is_library(),
    };
    if is_plain { form } else { Form::One }
}

fn ask_one(world: &mut World, at: usize, kind: Kind, number: u64, is_read: bool) {
    let [shortest, longest] = world.clients.habits.lives_ms;
    let client = &mut world.clients.all[at];
    let key = key(&world.clients.tables[client.table], kind, number);
    let dice = client.random.below(12);
    let lives = client.random.between(shortest, longest);
    if is_read && client.keeper.is_some() && !is_in_hash(kind, number) {
        return read_kept(world, at, key);
    }
    if !is_read {
        forget(world, at, &key);
    }
    let (action, words) = match (is_read, is_in_hash(kind, number)) {
        (true, false) => (Action::Get, words(&[b"GET", name(&key)])),
        (true, true) => (Action::Get, words(&[b"HGET", &key, FIELD])),
        (false, false) => write(world, &key, kind, dice, lives),
        (false, true) => {
            let may_script = !world.clients.all[at].is_library();
            write_field(world, &key, (kind, dice, lives), may_script)
        }
    };
    let operation = note(world, at, key, action);
    if world.clients.all[at].is_library() {
        let made = Call::new(operation, words, is_read, world.now());
        return call(world, at, made);
    }
    let words: Vec<&[u8]> = words.iter().map(|it| &**it).collect();
    send_command(world, at, &words, Expected::One(operation));
}

/// Several keys with one command: each by itself, as the node port has it.
fn ask_many(world: &mut World, at: usize, are_reads: bool) -> bool {
    let keys = world.clients.habits.keys;
    let count = 2 + world.clients.all[at].random.below(2);
    let mut operations = Vec::new();
    let mut words: Vec<Bytes> = Vec::new();
    words.push(
        if are_reads {
            b"MGET".as_slice()
        } else {
            b"MSET"
        }
        .into(),
    );
    for _ in 0..count {
        let client = &mut world.clients.all[at];
        let number = client.random.below(keys);
        let key = key(&world.clients.tables[client.table], Kind::Text, number);
        if words.contains(&key) {
            continue;
        }
        words.push(key.clone());
        let action = if are_reads {
            Action::Get
        } else {
            let value = world.clients.value();
            words.push(value.clone());
            Action::Set(value)
        };
        operations.push(note(world, at, key, action));
    }
    let words: Vec<&[u8]> = words.iter().map(|it| &**it).collect();
    let is_pair = false;
    send_command(
        world,
        at,
        &words,
        Expected::Several {
            operations,
            is_pair,
        },
    );
    true
}

/// A table is emptied: each key of it, as the node port has it.
fn ask_to_clear(world: &mut World, at: usize) -> bool {
    let keys = world.clients.habits.keys;
    let table = world.clients.tables[world.clients.all[at].table].clone();
    let all = KINDS
        .iter()
        .flat_map(|kind| (0..keys).map(|number| key(&table, *kind, number)));
    let all: Vec<Bytes> = all.collect();
    let operations = all
        .into_iter()
        .map(|key| note(world, at, key, Action::Clear));
    let operations = operations.collect();
    let is_pair = false;
    send_command(
        world,
        at,
        &[b"FLUSHDB"],
        Expected::Several {
            operations,
            is_pair,
        },
    );
    true
}

/// A transaction about two keys, which always hold the same; maybe for a while.
fn ask_pair(world: &mut World, at: usize, kinds: [Kind; 2]) -> bool {
    let value = world.clients.value();
    let habits = world.clients.habits;
    let [shortest, longest] = habits.lives_ms;
    let client = &mut world.clients.all[at];
    let are_reads = client.is_reader || client.random.one_in(2);
    let table = world.clients.tables[client.table].clone();
    let number = client.random.below(habits.keys);
    let lives = client.random.between(shortest, longest);
    let text = lives.to_string();
    // Of several slots MGET reads each key by itself.
    let is_apart = kinds[0] == Kind::ApartLeft;
    if are_reads && !is_apart && world.clients.all[at].random.one_in(2) {
        return look_at_pair(world, at, kinds.map(|kind| key(&table, kind, number)));
    }
    // No dice of its own: what clients draw for the rest stays what it was.
    if lives.is_multiple_of(3) {
        let keys = kinds.map(|kind| key(&table, kind, number));
        let is_brief = kinds[0] == Kind::BriefLeft;
        let lives = is_brief.then_some(lives);
        let seen_together = !is_apart || !habits.clears();
        let written = (!are_reads).then_some((value, lives));
        return ask_by_script(world, at, (keys, seen_together), written);
    }
    send_command(world, at, &[b"MULTI"], Expected::Step);
    let mut operations = Vec::new();
    for kind in kinds {
        let key = key(&table, kind, number);
        let is_brief = kind == Kind::BriefLeft || kind == Kind::BriefRight;
        let (action, words): (Action, Vec<&[u8]>) = if are_reads {
            (Action::Get, vec![b"GET", &key])
        } else if is_brief {
            note_passing(world, &key, &value, lives);
            let words: Vec<&[u8]> = vec![b"SET", &key, &value, b"PX", text.as_bytes()];
            (Action::Set(value.clone()), words)
        } else {
            (Action::Set(value.clone()), vec![b"SET", &key, &value])
        };
        send_command(world, at, &words, Expected::Step);
        operations.push(note(world, at, key.clone(), action));
    }
    let expected = Expected::Several {
        operations,
        // Of several slots a flush may have emptied one.
        is_pair: !is_apart || !habits.clears(),
    };
    send_command(world, at, &[b"EXEC"], expected);
    true
}

const READ_PAIR: &[u8] = b"return {redis.call('get', KEYS[1]), redis.call('get', KEYS[2])}";

/// It copies what it has written: a script sees its own writes.
const WRITE_PAIR: &[u8] = b"redis.call('set', KEYS[1], ARGV[1]) \
    return {{ok = 'OK'}, redis.call('set', KEYS[2], redis.call('get', KEYS[1]))}";

const WRITE_BRIEF_PAIR: &[u8] = b"return {redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]), \
    redis.call('set', KEYS[2], ARGV[1], 'PX', ARGV[2])}";

/// The same by a script, which reads, or writes a value that lives for so many milliseconds or for good.
fn ask_by_script(
    world: &mut World,
    at: usize,
    (keys, seen_together): ([Bytes; 2], bool),
    written: Option<(Bytes, Option<u64>)>,
) -> bool {
    let lives = written.as_ref().and_then(|(_, lives)| *lives);
    let action = match &written {
        None => Action::Get,
        Some((value, _)) => Action::Set(value.clone()),
    };
    let text = lives.unwrap_or(0).to_string();
    let mut operations = Vec::new();
    for key in &keys {
        if let (Some((value, _)), Some(lives)) = (&written, lives) {
            note_passing(world, key, value, lives);
        }
        operations.push(note(world, at, key.clone(), action.clone()));
    }
    let [left, right] = &keys;
    let words: Vec<&[u8]> = match &written {
        None => vec![b"EVAL_RO", READ_PAIR, b"2", left, right],
        Some((value, None)) => vec![b"EVAL", WRITE_PAIR, b"2", left, right, value],
        Some((value, Some(_))) => {
            let script = WRITE_BRIEF_PAIR;
            vec![b"EVAL", script, b"2", left, right, value, text.as_bytes()]
        }
    };
    let expected = Expected::Several {
        operations,
        is_pair: seen_together,
    };
    send_command(world, at, &words, expected);
    true
}

/// The same by one command.
fn look_at_pair(world: &mut World, at: usize, keys: [Bytes; 2]) -> bool {
    read_keys(world, at, keys, true)
}

/// Reads two keys of a slot that are written each by itself.
fn ask_both(world: &mut World, at: usize) -> bool {
    let keys = world.clients.habits.keys;
    let client = &mut world.clients.all[at];
    let number = client.random.below(keys);
    let table = &world.clients.tables[client.table];
    let keys = [Kind::Near, Kind::Far].map(|kind| key(table, kind, number));
    read_keys(world, at, keys, false)
}

fn read_keys(world: &mut World, at: usize, keys: [Bytes; 2], is_pair: bool) -> bool {
    let [left, right] = &keys;
    let words: [&[u8]; 3] = [b"MGET", left, right];
    let operations = keys.clone().map(|key| note(world, at, key, Action::Get));
    let expected = Expected::Several {
        operations: operations.into(),
        is_pair,
    };
    send_command(world, at, &words, expected);
    true
}

fn words(words: &[&[u8]]) -> Vec<Bytes> {
    words.iter().map(|it| Bytes::from(*it)).collect()
}

/// As [`write`], of a field of a hash. Beside it there may be another one, which the key is for when this is gone.
fn write_field(
    world: &mut World,
    key: &Bytes,
    (kind, dice, lives): (Kind, u64, u64),
    may_script: bool,
) -> (Action, Vec<Bytes>) {
    if dice < world.clients.habits.deletes {
        // There may be other fields, so that the key is there without this one.
        let all_go = kind == Kind::Number && lives.is_multiple_of(2) && may_script;
        let request = match all_go {
            true => words(&[b"EVAL", DELETE_ALL, b"1", key]),
            false => words(&[b"HDEL", key, FIELD]),
        };
        return (Action::Delete, request);
    }
    if kind == Kind::Number {
        let beside = (lives % 12).to_string();
        let request = match dice % 3 == 2 && may_script {
            true => words(&[b"EVAL", COUNT_BESIDE, b"1", key, beside.as_bytes()]),
            false => words(&[b"HINCRBY", key, FIELD, b"1"]),
        };
        return (Action::Increment(1), request);
    }
    let value = world.clients.value();
    let text = lives.to_string();
    note_passing(world, key, &value, lives);
    let text = text.as_bytes();
    let request = match dice.is_multiple_of(2) && may_script {
        true => words(&[b"EVAL", SET_BESIDE, b"1", key, text, &value]),
        false => words(&[b"HSETEX", key, b"PX", text, b"FIELDS", b"1", FIELD, &value]),
    };
    (Action::Set(value), request)
}

/// The whole hash goes; the reply is about the field.
const DELETE_ALL: &[u8] = b"local had = redis.call('hexists', KEYS[1], 'f') \
    redis.call('del', KEYS[1]) return had";

/// The hash gets more fields, or fewer: with many it is in parts, and their number changes.
const COUNT_BESIDE: &[u8] = b"local count = tonumber(ARGV[1]) \
    for i = 1, count do redis.call('hset', KEYS[1], 'beside' .. i, 'it') end \
    for i = count + 1, 12 do redis.call('hdel', KEYS[1], 'beside' .. i) end \
    return redis.call('hincrby', KEYS[1], 'f', 1)";

/// The other field has no expiry: when this one's time is over the key stays, and the hash is written without it.
const SET_BESIDE: &[u8] = b"redis.call('hset', KEYS[1], 'beside', 'it') \
    return redis.call('hsetex', KEYS[1], 'px', ARGV[1], 'fields', '1', 'f', ARGV[2])";

fn write(
    world: &mut World,
    key: &Bytes,
    kind: Kind,
    dice: u64,
    lives: u64,
) -> (Action, Vec<Bytes>) {
    if dice < world.clients.habits.deletes && kind != Kind::Steady {
        return (Action::Delete, words(&[b"DEL", key]));
    }
    if kind == Kind::Number {
        return (Action::Increment(1), words(&[b"INCR", key]));
    }
    let value = world.clients.value();
    let unknown = world.clients.appends.get(key).copied().unwrap_or(0);
    match (kind, dice) {
        (Kind::Passing, _) => {
            let text = lives.to_string();
            note_passing(world, key, &value, lives);
            let words = words(&[b"SET", key, &value, b"PX", text.as_bytes()]);
            (Action::Set(value), words)
        }
        (Kind::Text, 7..9) if unknown < APPENDS_UNKNOWN_MAX => {
            let words = words(&[b"APPEND", key, &value]);
            (Action::Append(value), words)
        }
        (Kind::Text, 9..11) => {
            let seen = last_seen(world, key);
            let words = match &seen {
                Some(seen) => words(&[b"SET", key, &value, b"IFEQ", seen]),
                None => words(&[b"SET", key, &value, b"NX"]),
            };
            let action = Action::CompareAndSet {
                expected: seen,
                value,
            };
            (action, words)
        }
        _ => {
            let words = words(&[b"SET", key, &value]);
            (Action::Set(value), words)
        }
    }
}

/// What a key held when somebody looked last.
fn last_seen(world: &World, key: &Bytes) -> Option<Bytes> {
    let mut history = world.clients.history.iter().rev().take(200);
    history.find_map(|it| match (&it.action, &it.outcome) {
        _ if it.key != *key => None,
        (Action::Get, Outcome::Value(value)) => Some(value.clone()),
        (Action::Set(value), Outcome::Done) => Some(Some(value.clone())),
        _ => None,
    })?
}

/// The value goes by itself: some time from when its life may end at the earliest, or is gone already.
fn note_passing(world: &mut World, key: &Bytes, value: &Bytes, lives: u64) {
    let earliest = world.now() + lives.saturating_sub(SKEW_MS + 1) * MILLISECOND;
    world.clients.history.push(Operation {
        key: key.clone(),
        client: NOBODY,
        action: Action::Expire(value.clone()),
        called: earliest,
        returned: earliest,
        outcome: Outcome::Unknown,
    });
    world.clients.passing.insert(value.clone(), lives);
}
