//! Replies that are made and wait for replicas, of requests that had waited before: each has its own end.
//!
//! In:  a reply that is held, and when its request is given up. Out: at that time, if what it rests on has not
//!      committed, an error that promises nothing.
//!
//! What a request waits for that was executed as it came ends with its batch (`Log::give_up`): that is no younger than the
//! request. One that waited for a view, or for a value, may rest on what was prepared when it had waited for long, also by
//! others; and may itself have been prepared with what has time left (PROTOCOL rule 34).

use crate::brick::Brick;
use crate::forward::{Origin, Token};
use crate::keyed::error_line;
use crate::output::{Gate, Opens};
use brickyard_command::ErrorReply;
use brickyard_routing::Member;
use brickyard_types::Instant;

/// When a reply is given up that waits for something.
#[derive(Debug)]
struct Deadline {
    until: Instant,
    gate: Gate,
    /// The brick that wants it.
    member: Member,
    token: Token,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Deadlines(Vec<Deadline>);

impl Brick {
    /// Takes note of when a reply is given up, if its request was not asked for just now.
    pub(crate) fn note_deadline(&mut self, origin: Origin, gate: Gate) {
        let Some(placing) = self.core.replicas.placing else {
            return;
        };
        let Origin { member, token } = origin;
        // Bricks of other nodes look at the time themselves.
        if member.node == self.core.shared.node && !self.core.log.opens(gate) {
            self.deadlines.0.push(Deadline {
                until: placing.until,
                gate,
                member,
                token,
            });
        }
    }

    /// Ends replies that have waited for too long.
    pub(crate) fn end_replies(&mut self) {
        let (now, log) = (self.core.now, &self.core.log);
        let deadlines = &mut self.deadlines.0;
        deadlines.retain(|it| !log.opens(it.gate));
        let late: Vec<_> = deadlines.extract_if(.., |it| it.until <= now).collect();
        if late.is_empty() {
            return;
        }
        let error = error_line(&ErrorReply::constant(
            "UNKNOWNRESULT the key's replicas did not all take in time what the reply rests on; the write may or may not \
             have been executed: read the key to know",
        ));
        for deadline in late {
            self.end_reply(&deadline, &error);
        }
        self.let_out();
    }

    fn end_reply(&mut self, deadline: &Deadline, error: &[u8]) {
        let Deadline { member, token, .. } = *deadline;
        let mut held = self.held_replies.iter_mut();
        if let Some((gate, _, reply)) = held.find(|it| it.1 == member && it.2.token == token) {
            reply.bytes = error.to_vec();
            *gate = Gate::OPEN;
            return;
        }
        if member == self.core.member() {
            self.clients.give_up(token, error, &self.core.log);
        }
    }
}
