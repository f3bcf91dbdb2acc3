//! Clients that do as the client library does: writes have ids, and what has failed is sent again, maybe elsewhere,
//! as `brickyard_client` decides.
//!
//! In:  one call at a time. Out: attempts, and in the end what is true of the call.
//!
//! Not here: the library's map of slots, its sockets and tasks: a call goes anywhere, and where it is told to; or where the way to its
//! partition leads (`seeker`).

use super::outcome::{answer_one, conclude, outcome, says_nothing};
use super::seeker::{doubt, seek};
use super::send::send_command;
use super::state::{ANSWERED_MAX, Call, Expected, PATIENCE};
use crate::clock::{MILLISECOND, Nanos, SECOND};
use crate::power::node_at;
use crate::reply::Reply;
use crate::world::World;
use brickyard_brick::Port;
use brickyard_client::Error;
use brickyard_client::retry::{Again, AttemptFailure, Nature, Verdict, decide, honest};
use brickyard_history::Outcome;
use brickyard_node::HostPort;
use brickyard_wire::{Fate, fate, ids_up_to};
use std::time::Duration;

/// A connection that owes an answer and says nothing for so long is left.
const SILENCE: Nanos = 2 * SECOND;

pub(super) fn call(world: &mut World, at: usize, call: Call) {
    if let Some(library) = &mut world.clients.all[at].library {
        library.call = Some(call);
    }
    go_on_calling(world, at);
}

/// Sends the call if it can be sent now, or gives it up.
pub(super) fn go_on_calling(world: &mut World, at: usize) {
    let now = world.now();
    let client = &world.clients.all[at];
    let is_ready = client.connection.is_some() && client.is_in_table && client.asked.is_empty();
    let is_silent = client
        .asked
        .front()
        .is_some_and(|it| now - it.since > SILENCE);
    let Some(call) = client.library.as_ref().and_then(|it| it.call.as_ref()) else {
        return;
    };
    if now >= call.deadline {
        return time_out(world, at);
    }
    if call.is_sent && is_silent {
        return fail_call(world, at, AttemptFailure::Silent);
    }
    if !call.is_sent && is_ready && now >= call.not_before && !seek(world, at) {
        return send_call(world, at);
    }
    // Who is asked for the way says nothing.
    if is_silent && world.clients.all[at].is_asking_the_way() {
        world.leave(at);
    }
}

fn send_call(world: &mut World, at: usize) {
    let now = world.now();
    let Some(library) = &mut world.clients.all[at].library else {
        return;
    };
    let Some(mut call) = library.call.take() else {
        return;
    };
    call.is_sent = true;
    if call.nature == Nature::Named && call.sequence.is_none() {
        call.sequence = Some(library.next_id(now));
    }
    let words = call.words_of(library.client, call.has_left);
    if call.attempt > 1 {
        let (attempt, operation) = (call.attempt, call.operation);
        world.count("attempts again");
        world.tell(|| format!("client {at} sends operation {operation} again ({attempt})"));
    }
    if let Some(library) = &mut world.clients.all[at].library {
        library.call = Some(call);
    }
    let words: Vec<&[u8]> = words.iter().map(|it| &**it).collect();
    send_command(world, at, &words, Expected::Call);
}

/// The server's clock, by which ids are numbered.
pub(super) fn answer_clock(world: &mut World, at: usize, reply: &Reply) {
    let now = world.now();
    let micros = match reply {
        Reply::Number(micros) => u64::try_from(*micros).ok(),
        Reply::Bulk(text) | Reply::Simple(text) => std::str::from_utf8(text)
            .ok()
            .and_then(|it| it.parse().ok()),
        _ => None,
    };
    match (micros, &mut world.clients.all[at].library) {
        (Some(micros), Some(library)) => library.clock = Some((micros, now)),
        _ => world.object(format!("{reply} is no answer to REQUEST NOW")),
    }
}

pub(super) fn answer_call(world: &mut World, at: usize, reply: &Reply) {
    if let Reply::Error(line) = reply {
        return fail_call(world, at, AttemptFailure::Reply(line.clone()));
    }
    let Some(library) = &mut world.clients.all[at].library else {
        return;
    };
    if let Some(call) = library.call.take() {
        if call.sequence.is_some() {
            if library.answered.len() == ANSWERED_MAX {
                library.answered.pop_front();
            }
            let words = call.words_of(library.client, true);
            library.answered.push_back((words, reply.clone()));
        }
        answer_one(world, call.operation, reply);
    }
}

/// Makes a call once more that was answered; whether there is one.
pub(super) fn ask_again(world: &mut World, at: usize) -> bool {
    let client = &mut world.clients.all[at];
    let Some(library) = &client.library else {
        return false;
    };
    let which = client.random.index(library.answered.len());
    let Some((words, reply)) = library.answered.get(which).cloned() else {
        return false;
    };
    let words: Vec<&[u8]> = words.iter().map(|it| &**it).collect();
    world.count("calls made again");
    send_command(world, at, &words, Expected::Again(reply));
    true
}

/// What was answered is not executed again: the answer is the same (rule `requests are executed once`), or there is
/// none.
pub(super) fn answer_again(world: &mut World, at: usize, before: &Reply, reply: &Reply) {
    let is_same = match reply {
        Reply::Error(line) => fate(line) != Fate::Refused || says_nothing(line),
        reply => reply == before,
    };
    if !is_same {
        world.object(format!(
            "client {at} asks again, and is told {reply}; before it was {before}"
        ));
    }
}

/// The connection is gone: the call was lost with it, if it was sent.
pub(super) fn lose_call(world: &mut World, at: usize) {
    let call = world.clients.all[at].library.as_ref();
    if call
        .and_then(|it| it.call.as_ref())
        .is_some_and(|it| it.is_sent)
    {
        fail_call(
            world,
            at,
            AttemptFailure::Lost("the connection is gone".to_owned()),
        );
    }
}

/// There is no time for another attempt.
fn time_out(world: &mut World, at: usize) {
    let library = world.clients.all[at].library.as_mut();
    let Some(call) = library.and_then(|it| it.call.take_if(|call| !call.is_sent)) else {
        return fail_call(world, at, AttemptFailure::Late);
    };
    let may_be_executed = call.has_left && call.nature != Nature::Read;
    let error = honest(call.otherwise.clone(), may_be_executed);
    end_call(world, at, &call, error, false);
}

/// An attempt has failed: what the library makes of it is done.
fn fail_call(world: &mut World, at: usize, failure: AttemptFailure) {
    let now = world.now();
    let Some(library) = &mut world.clients.all[at].library else {
        return;
    };
    let Some(mut call) = library.call.take() else {
        return;
    };
    let must_leave = matches!(failure, AttemptFailure::Silent | AttemptFailure::Late);
    call.is_sent = false;
    call.has_left |= failure.is_open(call.nature);
    if let AttemptFailure::Reply(line) = &failure
        && let Some(floor) = ids_up_to(line).filter(|_| !call.has_left)
    {
        library.last = library.last.max(floor);
        call.sequence = None;
    }
    let may_be_executed = call.has_left && call.nature != Nature::Read;
    let verdict = decide(
        failure,
        call.nature,
        call.attempt,
        Duration::from_nanos(PATIENCE),
    );
    let again = match verdict {
        Verdict::Fail(error) => {
            return end_call(world, at, &call, honest(error, may_be_executed), must_leave);
        }
        Verdict::Again { again, otherwise } => {
            call.otherwise = otherwise;
            again
        }
    };
    call.attempt += 1;
    let (operation, is_told) = (call.operation, matches!(again, Again::At { .. }));
    let place = match again {
        Again::At { host, port, .. } => place_of(host, port),
        Again::AfterPause { .. } => {
            let most = ((4 * MILLISECOND) << call.attempt.min(7)).min(500 * MILLISECOND);
            call.not_before = now + most / 2;
            None
        }
    };
    library.call = Some(call);
    library.redirect = place;
    doubt(world, at, operation, is_told);
    // Elsewhere, or there again: whatever comes.
    world.leave(at);
}

fn end_call(world: &mut World, at: usize, call: &Call, error: Error, must_leave: bool) {
    let operation = call.operation;
    world.tell(|| format!("client {at} is told by the library: {error}"));
    let outcome = match &error {
        Error::UnknownOutcome { .. } | Error::Timeout { .. } => Outcome::Unknown,
        Error::Refused { text } => {
            let action = &world.clients.history[operation].action;
            outcome(action, &Reply::Error(text.clone().into_bytes()))
        }
        _ => Outcome::Refused,
    };
    conclude(world, operation, outcome);
    if must_leave {
        world.leave(at);
    }
}

/// The node and brick that answer at an address of a `MOVED`, and whether as a node.
pub(super) fn place_of(host: String, port: u16) -> Option<(usize, usize, Port)> {
    let node = node_at(&HostPort { host, port })?;
    let brick = usize::from(port.checked_sub(7_000)?);
    Some((node, brick, Port::Brick))
}
