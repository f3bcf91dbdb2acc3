//! Requests and replies whose time is up: what can truly be said to those who wait for them.
//!
//! In:  the time; writes of unknown outcome. Out: errors that promise "not executed" where that is
//!      so, and nothing where it is not (rules `requests are executed once`, `waiting reads are admitted anew` and
//!      `an old primary knows no outcome`).

use crate::clients::Clients;
use crate::core::Core;
use crate::keyed::honest_line;
use crate::output::Lost;
use crate::refusal::error_line;
use crate::remote::Remotes;
use crate::request::{Origin, Request, Work};
use crate::requests::State;
use brickyard_command::ErrorReply;
use brickyard_types::Instant;
use std::time::Duration;

/// Which part of a request's time a node may be without a lease before it refuses what waits for one.
const CUT_OFF_PART: u32 = 10;

/// What becomes of a request whose time is up.
pub(super) enum End {
    /// It was answered already.
    Answered,
    /// Nobody knows whether the other brick has executed it, and why.
    Unknown(String),
    /// Its client is told this.
    Error(Vec<u8>),
}

/// Requests that have waited too long, or that wait here in vain: when this node has been without a lease for so long that
/// clients had better ask another. That is a part of the time that a request may take, so that enough of it is left.
pub(super) fn take_overdue(core: &mut Core, remotes: &Remotes) -> Vec<(Request, State)> {
    let patience = core.shared.limits.request_deadline / CUT_OFF_PART;
    let is_cut_off = core.replicas.is_cut_off(core.now, patience);
    let was_sent = |number| remotes.was_sent(number);
    core.requests.take_overdue(core.now, is_cut_off, was_sent)
}

/// Ends such a request.
pub(super) fn end(core: &mut Core, remotes: &mut Remotes, request: &Request, state: State) -> End {
    assert!(state != State::Ready, "{request:?} ends without having run");
    let error = match state {
        State::Remote(number) => {
            // What comes behind it may go on.
            core.replicas.wake();
            let Some((peer, was_sent)) = remotes.forget(number) else {
                return End::Answered;
            };
            let reason = format!("brick {peer} did not answer in time");
            if (was_sent || request.work.was_lost()) && !request.work.only_reads() {
                return End::Unknown(reason);
            }
            ErrorReply::new(format!(
                "CLUSTERDOWN {reason}; the command was not executed, try again"
            ))
        }
        State::Barrier => ErrorReply::constant(
            "CLUSTERDOWN what was written to the table before has not committed in time; the command was not executed, \
             try again",
        ),
        State::Values => {
            // What comes behind it may go on.
            core.replicas.wake();
            ErrorReply::constant(
                "CLUSTERDOWN the disk has not returned a value of the key in time; the command was not executed, try again",
            )
        }
        State::View(_) | State::Ready => no_view(core, &request.work),
    };
    End::Error(honest_line(&request.work, &error))
}

/// Why a request waits for a view.
fn no_view(core: &Core, work: &Work) -> ErrorReply {
    if !core.replicas.was_leased {
        return ErrorReply::constant(
            "LOADING this node has started and waits for a lease from its cluster's control plane; the command was \
             not executed, try again",
        );
    }
    let what = match work {
        Work::Subrequest(..) => "a part of the table",
        _ => "the key",
    };
    ErrorReply::new(format!(
        "CLUSTERDOWN {what} has no brick now that may serve it: a view is changing, too few replicas are in \
         sync, or this node has lost the control plane; the command was not executed, try again"
    ))
}

/// Ends replies that have waited for too long; whether there were any.
pub(super) fn end_replies(core: &mut Core, clients: &mut Clients) -> bool {
    let error = || {
        error_line(&ErrorReply::constant(
            "UNKNOWNRESULT the key's replicas did not all take in time what the reply rests on; the write may or may not \
             have been executed: read the key to know",
        ))
    };
    let expired = core.requests.replies.expire(core.now, &core.log, error);
    let Some((error, in_output)) = expired else {
        return false;
    };
    for Origin { token, .. } in in_output {
        clients.give_up(token, &error, &core.log);
    }
    true
}

/// Whoever waits for lost operations is told so.
pub(crate) fn lose(core: &mut Core, clients: &mut Clients, lost: Lost, error: &[u8]) {
    if let Lost::From(_) | Lost::Unwritten(_) = lost {
        core.tables.find_clears(&core.log, lost);
    } else if let Lost::Of(partition, _) = lost {
        core.tables.find_clear(&core.log, partition);
    }
    clients.lose(lost, error);
    core.requests.refuse(lost, error, || core.log.barrier());
}

/// Clients whose writes were cut, or wait for too long, are told that nobody knows (rule
/// `an old primary knows no outcome`); whether there are any.
pub(super) fn tell_lost(core: &mut Core, clients: &mut Clients) -> bool {
    if core.replicas.lost.is_empty() {
        return false;
    }
    let error = error_line(&ErrorReply::constant(
        "UNKNOWNRESULT the key's replicas changed before all of them had the write; it may or may not have been \
         executed: read the key to know",
    ));
    for lost in std::mem::take(&mut core.replicas.lost) {
        lose(core, clients, lost, &error);
    }
    true
}

/// Ends writes that have waited for their replicas for too long; whether there were any.
pub(super) fn give_up_writes(core: &mut Core, clients: &mut Clients) -> bool {
    let deadline = core.shared.limits.request_deadline;
    let before = Instant(core.now.0.saturating_sub(as_nanos(deadline)));
    let given_up = core.log.give_up(before);
    if given_up.is_empty() {
        return false;
    }
    let error = error_line(&ErrorReply::new(format!(
        "UNKNOWNRESULT the key's replicas did not all take the write within {} ms; it may or may not have \
         been executed: read the key to know",
        deadline.as_millis()
    )));
    for (partition, batch) in given_up {
        lose(core, clients, Lost::Only(partition, batch), &error);
    }
    true
}

fn as_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
