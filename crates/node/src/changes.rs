//! Changes of the catalog that this node's bricks ask for: one at a time, repeated until it is known what
//! came of each.
//!
//! In:  requests of bricks, what was applied, which catalog the bricks act by. Out: envelopes for the
//! leader, answers for the bricks.
//!
//! A *look* is a change of nothing. When it is applied here, so is all that was acknowledged before it was asked for, at whichever
//! node: by then it stood in the agreed log. All bricks that want to know that share one.
//!
//! Invariants:
//! - A request that is sent again has the number that it had; the catalog makes it once.
//! - A look that is under way answers nobody who came after it was sent.

use brickyard_brick::ControlReply;
use brickyard_metadata::{Alteration, CatalogVersion, Change, Envelope, Outcome};
use brickyard_routing::NodeId;
use brickyard_types::{Incarnation, Instant};
use std::collections::VecDeque;
use std::time::Duration;

/// Changes that may wait. Each waits for a client, and clients wait for their answers.
const WAITING_MAX: usize = 256;

/// Bricks' clients that may wait for the next look: all of a node, about.
const LOOKING_MAX: usize = 16_384;

/// How soon a request is sent again.
const REPEAT: Duration = Duration::from_millis(300);

/// How long a client waits before it is told that nobody knows.
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks are no closer together: each is an entry of the agreed log, and clients may ask for a table that is not there without end.
const LOOKS_APART: Duration = Duration::from_millis(100);

/// What a client is told whose look came to nothing.
const NO_LOOK: &str =
    "CLUSTERDOWN the nodes that vote do not say what was changed until now; try again";

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
    /// None: it is a look.
    origin: Option<ChangeOrigin>,
    envelope: Envelope,
    since: Instant,
    sent: Option<Instant>,
    /// How often it was sent, to whomever.
    times: u32,
}

/// What may be answered when all bricks act by that version.
#[derive(Debug)]
struct Adopting {
    origin: ChangeOrigin,
    reply: ControlReply,
    version: CatalogVersion,
    since: Instant,
}

/// Who looks.
#[derive(Debug, Default)]
struct Looks {
    /// Those that came since the last look was sent, and when.
    waiting: Vec<(ChangeOrigin, Instant)>,
    /// Those that the one is for that is under way.
    under_way: Vec<ChangeOrigin>,
    /// When the last one was sent.
    last: Option<Instant>,
}

impl Looks {
    fn is_due(&self, now: Instant) -> bool {
        let is_early = self.last.is_some_and(|last| now - last < LOOKS_APART);
        !self.waiting.is_empty() && !is_early
    }

    /// One is sent.
    fn begin(&mut self, now: Instant) {
        assert!(self.under_way.is_empty(), "one look at a time");
        let waiting = self.waiting.drain(..);
        self.under_way = waiting.map(|(origin, _)| origin).collect();
        self.last = Some(now);
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    waiting: VecDeque<Asked>,
    current: Option<Current>,
    adopting: Vec<Adopting>,
    looks: Looks,
    sequence: u64,
    answers: Vec<Answer>,
}

impl Changes {
    /// A brick asks for a change.
    pub(crate) fn ask(&mut self, now: Instant, origin: ChangeOrigin, change: Change) {
        if self.waiting.len() >= WAITING_MAX {
            return self.answers.push((origin, busy()));
        }
        self.waiting.push_back(Asked {
            origin,
            change,
            since: now,
        });
    }

    /// A brick wants to act by all that was acknowledged by now.
    pub(crate) fn look(&mut self, now: Instant, origin: ChangeOrigin) {
        if self.looks.waiting.len() >= LOOKING_MAX {
            return self.answers.push((origin, busy()));
        }
        self.looks.waiting.push((origin, now));
    }

    /// What to send to the leader now, if anything.
    pub(crate) fn poll(
        &mut self,
        now: Instant,
        from: NodeId,
        incarnation: Incarnation,
    ) -> Option<Envelope> {
        if self.current.is_none() {
            let (origin, change, since) = if self.looks.is_due(now) {
                self.looks.begin(now);
                (None, nothing(), now)
            } else {
                let asked = self.waiting.pop_front()?;
                (Some(asked.origin), asked.change, asked.since)
            };
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

    /// It is known what came of a request of this life; the catalog here is at that version.
    pub(crate) fn on_outcome(
        &mut self,
        now: Instant,
        sequence: u64,
        outcome: &Outcome,
        version: CatalogVersion,
    ) {
        let is_current = |it: &mut Current| it.envelope.sequence == sequence;
        let Some(current) = self.current.take_if(is_current) else {
            return;
        };
        let Some(origin) = current.origin else {
            // That nothing was to be changed is no news.
            let looking = self.looks.under_way.drain(..);
            self.adopting.extend(looking.map(|origin| Adopting {
                origin,
                reply: ControlReply::CaughtUp,
                version,
                since: now,
            }));
            return;
        };
        match outcome {
            Ok(applied) => self.adopting.push(Adopting {
                origin,
                version: applied.version,
                reply: ControlReply::Changed(applied.clone()),
                since: now,
            }),
            Err(refusal) => {
                let reply = ControlReply::Failed(refused(refusal));
                self.answers.push((origin, reply));
            }
        }
    }

    /// It is not known what came of the current request, and will not be; `reason` is what is known.
    fn give_up(&mut self, current: &Current, reason: &str) {
        let Some(origin) = current.origin else {
            let looking = self.looks.under_way.drain(..);
            let no_look = ControlReply::Failed(NO_LOOK.to_owned());
            self.answers
                .extend(looking.map(|origin| (origin, no_look.clone())));
            return;
        };
        let text = format!("UNKNOWNRESULT {reason}; {LATER}");
        self.answers.push((origin, ControlReply::Failed(text)));
    }

    /// A leader does not even propose it. Of an earlier copy of the request, which was sent to another leader, or to the same one
    /// when there was nothing against it, that says nothing.
    pub(crate) fn on_refused(&mut self, sequence: u64, refusal: &str) {
        let is_current = |it: &mut Current| it.envelope.sequence == sequence;
        let Some(current) = self.current.take_if(is_current) else {
            return;
        };
        match current.origin {
            Some(origin) if current.times == 1 => {
                let text = refused(refusal);
                self.answers.push((origin, ControlReply::Failed(text)));
            }
            _ => {
                let reason = format!("{refusal}; it was asked for before, and then");
                self.give_up(&current, &reason);
            }
        }
    }

    /// The disk takes nothing: whoever waits is told so, and that the change may be made later.
    pub(crate) fn on_disk_refused(&mut self, reason: &str) {
        if let Some(current) = self.current.take() {
            let reason = format!("this node's part of the agreement cannot be written ({reason})");
            self.give_up(&current, &reason);
        }
    }

    /// Every brick of this node acts by this version at least; gives up on what takes too long.
    pub(crate) fn take_answers(&mut self, now: Instant, adopted: u64) -> Vec<Answer> {
        let is_late = |since: Instant| now - since >= PATIENCE;
        if let Some(current) = self.current.take_if(|it| is_late(it.since)) {
            // It was sent, if not to the present leader.
            self.give_up(&current, "the nodes that vote did not agree in time");
        }
        let mut answers = std::mem::take(&mut self.answers);
        self.adopting.retain(|it| {
            let is_done = adopted >= it.version.0;
            // A change was made, whoever acts by it; who looks would be told what is not so.
            let is_known = is_done || matches!(it.reply, ControlReply::Changed(_));
            let is_over = is_done || is_late(it.since);
            if is_over {
                let reply = match is_known {
                    true => it.reply.clone(),
                    false => ControlReply::Failed(NO_LOOK.to_owned()),
                };
                answers.push((it.origin, reply));
            }
            !is_over
        });
        self.looks.waiting.retain(|(origin, since)| {
            if is_late(*since) {
                answers.push((*origin, ControlReply::Failed(NO_LOOK.to_owned())));
            }
            !is_late(*since)
        });
        while let Some(asked) = self.waiting.pop_front_if(|it| is_late(it.since)) {
            let text = "CLUSTERDOWN no majority of the nodes that vote can be reached; try again";
            answers.push((asked.origin, ControlReply::Failed(text.to_owned())));
        }
        answers
    }
}

/// A change that every catalog refuses, and is the same after it.
fn nothing() -> Change {
    Change::AlterTable {
        name: "default".to_owned(),
        alteration: Alteration::default(),
    }
}

fn busy() -> ControlReply {
    ControlReply::Failed("BUSY too many changes are waiting; try again".to_owned())
}

/// The error that a client gets.
fn refused(refusal: &str) -> String {
    // What is under way has a first word of its own.
    match refusal.starts_with("TRYAGAIN ") {
        true => refusal.to_owned(),
        false => format!("ERR {refusal}"),
    }
}

#[cfg(test)]
#[path = "changes_test.rs"]
mod changes_test;
