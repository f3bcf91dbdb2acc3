//! Requests and replies whose time is up: what can truly be said to those who wait for them.
//!
//! In:  the time; writes of which nobody knows whether they commit. Out: errors that promise "not executed" where that is
//!      so, and nothing where it is not (PROTOCOL rules 19, 24 and 25).

use crate::brick::Brick;
use crate::keyed::honest_line;
use crate::output::{Gate, Lost};
use crate::refusal::error_line;
use crate::request::{Origin, Request, Work};
use crate::requests::State;
use brickyard_command::ErrorReply;
use brickyard_types::Instant;
use std::time::Duration;

/// Which part of a request's time a node may be without a lease before it refuses what waits for one.
const CUT_OFF_PART: u32 = 4;

impl Brick {
    /// Whether this node has been without a lease for so long that clients had better ask another: a part of the time that
    /// a request may take, so that enough of it is left for that.
    fn is_cut_off(&self) -> bool {
        let patience = self.core.shared.limits.request_deadline / CUT_OFF_PART;
        self.core.replicas.is_cut_off(self.core.now, patience)
    }

    /// Ends what has waited too long, or what waits here in vain.
    pub(crate) fn end_overdue(&mut self) {
        self.end_replies();
        let was_sent = |number| self.remotes.was_sent(number);
        let is_cut_off = self.is_cut_off();
        let now = self.core.now;
        let overdue = self.core.requests.take_overdue(now, is_cut_off, was_sent);
        for (request, state) in overdue {
            self.end_request(&request, state);
        }
    }

    fn end_request(&mut self, request: &Request, state: State) {
        let error = match state {
            State::Remote(number) => {
                // What comes behind it may go on.
                self.core.replicas.wake();
                let Some((peer, was_sent)) = self.remotes.forget(number) else {
                    return;
                };
                let reason = format!("brick {peer} did not answer in time");
                if (was_sent || request.work.was_lost()) && !request.work.only_reads() {
                    return self.tell_unknown(request.origin.token, &reason);
                }
                ErrorReply::new(format!(
                    "CLUSTERDOWN {reason}; the command was not executed, try again"
                ))
            }
            State::Barrier => ErrorReply::constant(
                "CLUSTERDOWN what was written to the table before has not committed in time; the command was not executed, \
                 try again",
            ),
            State::View(_) | State::Ready | State::Values => self.no_view(&request.work),
        };
        let line = honest_line(&request.work, &error);
        self.respond(request, line, Gate::OPEN);
    }

    /// Why a request waits for a view.
    fn no_view(&self, work: &Work) -> ErrorReply {
        if !self.core.replicas.was_leased {
            return ErrorReply::constant(
                "LOADING this node has started and waits for a lease from its cluster's control plane; the command was \
                 not executed, try again",
            );
        }
        let what = match work {
            Work::Share(..) => "a part of the table",
            _ => "the key",
        };
        ErrorReply::new(format!(
            "CLUSTERDOWN {what} has no brick now that may serve it: a view is changing, too few replicas are in \
             sync, or this node has lost the control plane; the command was not executed, try again"
        ))
    }

    /// Ends replies that have waited for too long.
    fn end_replies(&mut self) {
        let error = || {
            error_line(&ErrorReply::constant(
                "UNKNOWNRESULT the key's replicas did not all take in time what the reply rests on; the write may or may not \
                 have been executed: read the key to know",
            ))
        };
        let core = &mut self.core;
        let expired = core.requests.replies.expire(core.now, &core.log, error);
        let Some((error, in_output)) = expired else {
            return;
        };
        for Origin { token, .. } in in_output {
            self.clients.give_up(token, &error, &self.core.log);
        }
        self.let_out();
    }

    /// Clients whose writes were cut, or wait for too long, are told that nobody knows (PROTOCOL rule 25).
    pub(crate) fn tell_lost(&mut self) {
        if self.core.replicas.lost.is_empty() {
            return;
        }
        let error = error_line(&ErrorReply::constant(
            "UNKNOWNRESULT the key's replicas changed before all of them had the write; it may or may not have been \
             executed: read the key to know",
        ));
        for lost in std::mem::take(&mut self.core.replicas.lost) {
            self.lose(lost, &error);
        }
        self.let_out();
    }

    /// Writes that have waited for their replicas for too long.
    pub(crate) fn give_up_writes(&mut self) {
        let deadline = self.core.shared.limits.request_deadline;
        let before = Instant(self.core.now.0.saturating_sub(as_nanos(deadline)));
        let given_up = self.core.log.give_up(before);
        if given_up.is_empty() {
            return;
        }
        let error = error_line(&ErrorReply::new(format!(
            "UNKNOWNRESULT the key's replicas did not all take the write within {} ms; it may or may not have \
             been executed: read the key to know",
            deadline.as_millis()
        )));
        for (partition, batch) in given_up {
            self.lose(Lost::Only(partition, batch), &error);
        }
        self.let_out();
    }
}

fn as_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
