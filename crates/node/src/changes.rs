//! Changes of the catalog that this node's bricks ask for: one at a time, repeated until it is known what
//! came of each.
//!
//! In:  requests of bricks, what was applied, which catalog the bricks act by. Out: envelopes for the
//! leader, answers for the bricks.
//!
//! Invariant: a request that is sent again has the number that it had; the catalog makes it once.

use brickyard_brick::ControlReply;
use brickyard_metadata::{Change, Envelope, Outcome};
use brickyard_routing::NodeId;
use brickyard_types::{Incarnation, Instant};
use std::collections::VecDeque;
use std::time::Duration;

/// Changes that may wait. Each waits for a client, and clients wait for their answers.
const WAITING_MAX: usize = 256;

/// How soon a request is sent again.
const REPEAT: Duration = Duration::from_millis(300);

/// How long a client waits before it is told that nobody knows.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is true of a change that was sent and whose outcome is not known.
const LATER: &str = "the change may be made later: look before you repeat it";

/// Whom to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeOrigin {
    /// Which brick.
    pub brick: usize,
    /// Which of its requests.
    pub token: u64,
}

/// An answer.
pub(crate) type Answer = (ChangeOrigin, ControlReply);

#[derive(Debug)]
struct Asked {
    origin: ChangeOrigin,
    change: Change,
    since: Instant,
}

#[derive(Debug)]
struct Current {
    origin: ChangeOrigin,
    envelope: Envelope,
    since: Instant,
    sent: Option<Instant>,
    /// How often it was sent, to whomever.
    times: u32,
}

/// A change that was made, and bricks that do not act by it yet.
#[derive(Debug)]
struct Adopting {
    origin: ChangeOrigin,
    applied: brickyard_metadata::Applied,
    since: Instant,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    waiting: VecDeque<Asked>,
    current: Option<Current>,
    adopting: Vec<Adopting>,
    sequence: u64,
    answers: Vec<Answer>,
}

impl Changes {
    /// A brick asks for a change.
    pub(crate) fn ask(&mut self, now: Instant, origin: ChangeOrigin, change: Change) {
        if self.waiting.len() >= WAITING_MAX {
            let busy = "BUSY too many changes are waiting; try again".to_owned();
            return self.answers.push((origin, ControlReply::Failed(busy)));
        }
        self.waiting.push_back(Asked {
            origin,
            change,
            since: now,
        });
    }

    /// What to send to the leader now, if anything.
    pub(crate) fn poll(
        &mut self,
        now: Instant,
        from: NodeId,
        incarnation: Incarnation,
    ) -> Option<Envelope> {
        if self.current.is_none() {
            let Asked {
                origin,
                change,
                since,
            } = self.waiting.pop_front()?;
            self.sequence += 1;
            self.current = Some(Current {
                origin,
                envelope: Envelope {
                    from,
                    incarnation,
                    sequence: self.sequence,
                    change,
                },
                since,
                sent: None,
                times: 0,
            });
        }
        let current = self.current.as_mut()?;
        let is_due = current.sent.is_none_or(|sent| now - sent >= REPEAT);
        is_due.then(|| {
            current.times += 1;
            current.sent = Some(now);
            current.envelope.clone()
        })
    }

    /// Sends the current request at once: there is another leader.
    pub(crate) fn hurry(&mut self) {
        if let Some(current) = &mut self.current {
            current.sent = None;
        }
    }

    /// It is known what came of a request of this life.
    pub(crate) fn on_outcome(&mut self, now: Instant, sequence: u64, outcome: &Outcome) {
        let is_current = |it: &mut Current| it.envelope.sequence == sequence;
        let Some(current) = self.current.take_if(is_current) else {
            return;
        };
        match outcome {
            Ok(applied) => self.adopting.push(Adopting {
                origin: current.origin,
                applied: applied.clone(),
                since: now,
            }),
            Err(refusal) => {
                // What is under way has a first word of its own.
                let text = match refusal.starts_with("TRYAGAIN ") {
                    true => refusal.clone(),
                    false => format!("ERR {refusal}"),
                };
                let reply = ControlReply::Failed(text);
                self.answers.push((current.origin, reply));
            }
        }
    }

    /// A leader does not even propose it. Of an earlier copy of the request, which was sent to another leader, or to the same one
    /// when there was nothing against it, that says nothing.
    pub(crate) fn on_refused(&mut self, now: Instant, sequence: u64, refusal: &str) {
        let current = self.current.as_ref();
        let is_repeated =
            current.is_some_and(|it| it.times > 1 && it.envelope.sequence == sequence);
        if !is_repeated {
            return self.on_outcome(now, sequence, &Err(refusal.to_owned()));
        }
        if let Some(current) = self.current.take() {
            let text =
                format!("UNKNOWNRESULT {refusal}; it was asked for before, and then {LATER}");
            self.answers
                .push((current.origin, ControlReply::Failed(text)));
        }
    }

    /// The disk takes nothing: whoever waits is told so, and that the change may be made later.
    pub(crate) fn on_disk_refused(&mut self, reason: &str) {
        if let Some(current) = self.current.take() {
            let text = format!(
                "UNKNOWNRESULT this node's part of the agreement cannot be written ({reason}); {LATER}"
            );
            self.answers
                .push((current.origin, ControlReply::Failed(text)));
        }
    }

    /// Every brick of this node acts by this version at least; gives up on what takes too long.
    pub(crate) fn take_answers(&mut self, now: Instant, adopted: u64) -> Vec<Answer> {
        let mut answers = std::mem::take(&mut self.answers);
        self.adopting.retain(|it| {
            let is_late = now - it.since >= PATIENCE;
            let is_done = adopted >= it.applied.version.0 || is_late;
            if is_done {
                answers.push((it.origin, ControlReply::Changed(it.applied.clone())));
            }
            !is_done
        });
        let is_late = |since: Instant| now - since >= PATIENCE;
        if let Some(current) = self.current.take_if(|it| is_late(it.since)) {
            // It was sent, if not to the present leader.
            let text = format!("UNKNOWNRESULT the nodes that vote did not agree in time; {LATER}");
            let reply = ControlReply::Failed(text);
            answers.push((current.origin, reply));
        }
        while let Some(asked) = self.waiting.pop_front_if(|it| is_late(it.since)) {
            let text = "CLUSTERDOWN no majority of the nodes that vote can be reached; try again";
            answers.push((asked.origin, ControlReply::Failed(text.to_owned())));
        }
        answers
    }
}

#[cfg(test)]
#[path = "changes_test.rs"]
mod changes_test;
