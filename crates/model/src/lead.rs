//! A brick as a primary: writes, votes, commits, members that come and go.

use crate::log::Entry;
use crate::map::Role;
use crate::scope::Durability;
use crate::state::{BRICKS, Copied, Down, Phase, Promotion, Up};
use crate::world::World;
use crate::{Rule, state::Member};

impl World<'_> {
    /// A write is prepared: into the own log, and into the stream of each member that has begun.
    pub(crate) fn write(&mut self, at: usize) {
        self.state.left.writes -= 1;
        let brick = &self.state.bricks[at];
        let entry = Entry {
            view: brick.view,
            write: self.scope.left.writes - self.state.left.writes,
            committed: brick.committed,
        };
        self.append(at, entry);
        self.send(at, entry);
        self.settle(at);
    }

    fn send(&mut self, at: usize, entry: Entry) {
        let op = self.state.bricks[at].disk.log.last();
        for to in 0..BRICKS {
            if self.state.bricks[at].members[to].phase != Phase::Streaming {
                continue;
            }
            let stream = self.state.stream_mut(at, to);
            stream.sent += 1;
            let number = stream.sent;
            stream.send(Down::Record { number, op, entry });
        }
    }

    /// Commits what can be: everything that all required members have voted for.
    pub(crate) fn settle(&mut self, at: usize) {
        let brick = &self.state.bricks[at];
        if !brick.leads() || !brick.is_leased() {
            return;
        }
        let own = match self.scope.durability {
            Durability::Fsync => brick.disk.synced,
            Durability::Memory | Durability::Log => brick.disk.log.last(),
        };
        let Some(voted) = self.voted(at) else {
            return;
        };
        let op = own.min(voted);
        if op > brick.committed {
            self.commit(at, op);
            for to in 0..BRICKS {
                if self.state.bricks[at].members[to].phase == Phase::Streaming {
                    let stream = self.state.stream_mut(at, to);
                    stream.send(Down::Commit { op });
                }
            }
        }
        self.ask_promotions(at);
    }

    /// Up to which op all required members have voted; `None`: one has not in this view and on its stream.
    fn voted(&self, at: usize) -> Option<u8> {
        let mut least = u8::MAX;
        for (to, member) in self.state.bricks[at].members.iter().enumerate() {
            if member.life == 0 || !member.is_required {
                continue;
            }
            // Rules `votes cover what was appended`, `votes belong to a stream` and
            // `uncommitted ops are voted for again`: one that refused does not count, nor do votes for what was sent
            // on another stream or in another view.
            let stream = self.state.stream(at, to);
            if member.phase != Phase::Streaming || stream.voted < member.since {
                return None;
            }
            least = least.min(member.base + (stream.voted - member.since));
        }
        Some(least)
    }

    /// An answer of a member.
    pub(crate) fn answer(&mut self, at: usize, from: usize) {
        let up = self.state.stream_mut(at, from).up.remove(0);
        let brick = &mut self.state.bricks[at];
        let view = brick.view;
        let member = &mut brick.members[from];
        match up {
            Up::Vote { number } => {
                let stream = self.state.stream_mut(at, from);
                // Of another stream: no correct peer votes for what was not sent.
                if number <= stream.sent {
                    stream.voted = stream.voted.max(number);
                }
                self.settle(at);
            }
            Up::Refuse { view: refused } if refused == view && member.life > 0 => {
                self.fall_out(at, from, Phase::Refused);
            }
            Up::Join { view: joined } if joined == view && member.phase == Phase::Refused => {
                self.begin(at, from);
            }
            Up::Summary {
                view: reported_to,
                log,
                committed,
            } if reported_to == view && member.phase == Phase::AwaitsSummary => {
                self.begin_learner(at, from, log, committed);
            }
            Up::CopyDone { view: done } => {
                let is_it = done == view && member.phase == Phase::Streaming;
                if is_it && member.copy == Copied::Sent {
                    member.copy = Copied::Held;
                    self.require(at, from);
                }
            }
            Up::Closed => self.fall_out(at, from, Phase::Unlinked),
            Up::Refuse { .. } | Up::Join { .. } | Up::Summary { .. } => {}
        }
    }

    /// From here on the learner's vote is required (rule `learner votes before promotion`).
    pub(crate) fn require(&mut self, at: usize, from: usize) {
        let sent = self.state.stream(at, from).sent;
        let is_required = !self.rules.lack(Rule::LearnersVote);
        let member = &mut self.state.bricks[at].members[from];
        member.is_required = is_required;
        if member.promotion == Promotion::None {
            member.promotion = Promotion::WaitsFor(sent);
        }
        self.settle(at);
    }

    fn ask_promotions(&mut self, at: usize) {
        for to in 0..BRICKS {
            let voted = self.state.stream(at, to).voted;
            let member = &mut self.state.bricks[at].members[to];
            if let Promotion::WaitsFor(number) = member.promotion
                && member.life > 0
                && voted >= number
            {
                self.ask_promotion(at, to);
            }
        }
    }

    pub(crate) fn ask_promotion(&mut self, at: usize, to: usize) {
        let brick = &mut self.state.bricks[at];
        brick.members[to].promotion = Promotion::Asked;
        let replica = crate::Replica::new(to, brick.members[to].life);
        self.state.plane.ask = Some((brick.view, replica));
    }

    /// The member's stream broke, or it refused: what it was sent no longer counts.
    pub(crate) fn fall_out(&mut self, at: usize, to: usize, phase: Phase) {
        let keeps = !self.rules.lack(Rule::VotesStayRequired);
        let member = &mut self.state.bricks[at].members[to];
        if member.life == 0 {
            return;
        }
        member.phase = phase;
        member.copy = Copied::None;
        // Rule `learner votes before promotion`: once asked for, a promotion may take effect at any time.
        if member.is_learner && !(member.promotion == Promotion::Asked && keeps) {
            member.promotion = Promotion::None;
            member.is_required = false;
            self.settle(at);
        }
    }

    /// The view begins for a member, or begins again; a learner is asked what it holds.
    pub(crate) fn begin(&mut self, at: usize, to: usize) {
        let brick = &self.state.bricks[at];
        if !brick.leads() || brick.members[to].life == 0 {
            return;
        }
        let (view, log, committed) = (brick.view, brick.disk.log, brick.committed);
        if brick.members[to].is_learner {
            self.state.bricks[at].members[to].phase = Phase::AwaitsSummary;
            self.state.stream_mut(at, to).send(Down::Ask { view });
            return;
        }
        let stream = self.state.stream_mut(at, to);
        stream.sent += 1;
        let number = stream.sent;
        stream.send(Down::Begin {
            number,
            view,
            log,
            committed,
        });
        self.streams(at, to, number);
    }

    /// Votes count from this frame on, which brought everything up to the end of the log.
    pub(crate) fn streams(&mut self, at: usize, to: usize, number: u8) {
        let brick = &mut self.state.bricks[at];
        let base = brick.disk.log.last();
        let member = &mut brick.members[to];
        member.phase = Phase::Streaming;
        member.since = number;
        member.base = base;
    }

    /// A member of the view.
    pub(crate) fn add_member(&mut self, at: usize, to: usize, life: u8, role: Role) {
        let is_learner = role == Role::Learner;
        self.state.bricks[at].members[to] = Member {
            life,
            is_learner,
            is_required: !is_learner,
            ..Member::default()
        };
        self.connect(at, to);
    }

    /// This brick is the primary of a view that it has just entered.
    pub(crate) fn begin_view(&mut self, at: usize) {
        let brick = &self.state.bricks[at];
        if brick.disk.log.last_view() < brick.view {
            let inherited = brick.disk.log.last();
            if self.rules.lack(Rule::InheritedCommitsWait) && brick.is_leased() {
                self.commit(at, inherited);
            }
            let brick = &self.state.bricks[at];
            let entry = Entry {
                view: brick.view,
                write: 0,
                committed: brick.committed,
            };
            // Rule `a cut is a record`: a view starts with a record of its own.
            self.append(at, entry);
        }
    }
}
