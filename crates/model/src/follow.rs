//! A brick as a backup or learner: beginnings, records, commit positions, copies.

use crate::Rule;
use crate::log::{Entry, Log};
use crate::map::Role;
use crate::state::{Copied, Down, Phase, Up};
use crate::world::World;

impl World<'_> {
    /// The next frame of a primary.
    pub(crate) fn deliver(&mut self, from: usize, at: usize) {
        let frame = self.state.stream_mut(from, at).down.remove(0);
        match frame {
            Down::Begin {
                number,
                view,
                log,
                committed,
            } => {
                if self.may_begin(from, at, view, Role::Backup) {
                    self.follow(from, at, view, &log, committed);
                } else {
                    self.refuse(from, at, view);
                }
                self.vote_for(from, at, number);
            }
            Down::Ask { view } => {
                if self.may_begin(from, at, view, Role::Learner) {
                    self.summary(from, at, view);
                } else {
                    self.refuse(from, at, view);
                }
            }
            Down::Record { number, op, entry } => {
                self.take(from, at, op, entry);
                self.vote_for(from, at, number);
            }
            Down::Commit { op } => {
                let follow = &mut self.state.bricks[at].follow;
                // Rule `votes belong to a stream`: positions of another stream are dropped.
                if follow.stream == Some(from as u8) {
                    follow.known = follow.known.max(op);
                    self.commit_known(at);
                }
            }
            Down::CopyStart {
                number,
                view,
                cut,
                first,
                log,
            } => {
                self.start_copy(from, at, view, cut, first, &log);
                self.vote_for(from, at, number);
            }
            Down::CopyEnd { log } => self.end_copy(from, at, &log),
        }
    }

    /// A frame is voted for once what it brought is in the log, or was refused: the number covers other
    /// partitions as well. After a refusal it says nothing of this one (rule `votes cover what was appended`), so
    /// that it need not be sent here.
    fn vote_for(&mut self, from: usize, at: usize, number: u8) {
        let is_refused = self.state.stream(from, at).is_refused;
        if !is_refused || self.rules.lack(Rule::RefusalsGoAhead) {
            self.vote(from, at, number);
        }
    }

    /// Whether that brick may begin that view here.
    fn may_begin(&mut self, from: usize, at: usize, view: u8, role: Role) -> bool {
        let sender = self.state.replica(from);
        if self.rules.lack(Rule::ViewsAreRemembered) {
            let brick = self.brick(at);
            if brick.role == Role::None && view > brick.view {
                // A peer's message makes this brick a member.
                brick.view = view;
                brick.role = role;
                brick.primary = sender;
            }
        }
        let any_life = self.rules.lack(Rule::ViewsNameLives);
        let brick = self.brick(at);
        let is_primary =
            brick.primary == sender || (any_life && brick.primary.brick == sender.brick);
        let acknowledged = brick.view.max(brick.stopped).max(brick.accepted);
        let acknowledged = if self.rules.lack(Rule::AcceptingStops) {
            let brick = self.brick(at);
            brick.view.max(brick.stopped)
        } else {
            acknowledged
        };
        let brick = self.brick(at);
        view >= acknowledged && view == brick.view && brick.role == role && is_primary
    }

    /// Tells the primary that no vote from here on covers the partition (rule `votes cover what was appended`).
    fn refuse(&mut self, from: usize, at: usize, view: u8) {
        let peer = Some(from as u8);
        let follow = &self.state.bricks[at].follow;
        if follow.stream == peer || follow.reported_to == peer {
            self.detach(at);
        }
        let is_silent = self.rules.lack(Rule::RefusalsGoAhead);
        let stream = self.state.stream_mut(from, at);
        stream.is_refused = true;
        if !is_silent {
            stream.up.push(Up::Refuse { view });
        }
    }

    /// The stream is gone, and what was known by it.
    pub(crate) fn detach(&mut self, at: usize) {
        let brick = self.brick(at);
        let follow = &mut brick.follow;
        follow.stream = None;
        follow.reported_to = None;
        follow.is_copying = false;
        follow.known = brick.committed;
    }

    /// This brick takes no more of the partition's records.
    pub(crate) fn leave(&mut self, at: usize) {
        let brick = &self.state.bricks[at];
        let (view, follow) = (brick.view, brick.follow);
        for from in [follow.stream, follow.reported_to].into_iter().flatten() {
            self.refuse(usize::from(from), at, view);
        }
        self.detach(at);
    }

    /// The view begins: the log is cut to where it agrees with the primary's, and gets what is pending there.
    fn follow(&mut self, from: usize, at: usize, view: u8, log: &Log, committed: u8) {
        self.detach(at);
        let brick = &self.state.bricks[at];
        let anchor = brick.committed.max(committed);
        let held = brick.disk.log.view_at(anchor);
        // Rule `a cut is a record`: nothing at or below the own commit position is cut.
        if brick.disk.partial.is_some() || held.is_none() || held != log.view_at(anchor) {
            self.brick(at).follow.begun = 0;
            self.refuse(from, at, view);
            return;
        }
        let op = anchor.max(brick.disk.log.agreement(log));
        self.cut(at, op);
        for (_, entry) in log.iter().skip(usize::from(op)) {
            self.append(at, entry);
        }
        let follow = &mut self.brick(at).follow;
        follow.stream = Some(from as u8);
        follow.begun = view;
        follow.known = committed;
        self.state.stream_mut(from, at).is_refused = false;
        self.commit_known(at);
    }

    /// A record of the stream.
    fn take(&mut self, from: usize, at: usize, op: u8, entry: Entry) {
        let brick = &self.state.bricks[at];
        if brick.follow.stream != Some(from as u8) {
            // It was refused, or never began.
            return;
        }
        let (last, view) = (brick.disk.log.last(), brick.disk.log.last_view());
        if op <= last && brick.disk.log.view_at(op) == Some(entry.view) {
            return;
        }
        // Rule `votes belong to a stream`: a record follows the one before it.
        let follows = op == last + 1 && entry.view >= view;
        if !follows && !self.rules.lack(Rule::RecordsFollow) {
            let view = brick.view;
            self.refuse(from, at, view);
            return;
        }
        self.append(at, entry);
        self.commit_known(at);
    }

    /// Commits what the primary has committed.
    fn commit_known(&mut self, at: usize) {
        let brick = &self.state.bricks[at];
        let op = brick.follow.known.min(brick.disk.log.last());
        self.commit(at, op);
    }

    /// A learner says what it holds.
    fn summary(&mut self, from: usize, at: usize, view: u8) {
        self.detach(at);
        let brick = self.brick(at);
        brick.follow.reported_to = Some(from as u8);
        let mut log = brick.disk.log;
        // Rule `log summaries begin at a baseline`: a claim ends where a catch-up that has not finished began.
        log.cut(brick.disk.partial.unwrap_or_else(|| log.last()));
        let committed = brick.committed.min(log.last());
        let stream = self.state.stream_mut(from, at);
        stream.is_refused = false;
        stream.up.push(Up::Summary {
            view,
            log,
            committed,
        });
    }

    /// The primary has the learner's claim: its stream begins with the copies, and with what is pending.
    pub(crate) fn begin_learner(&mut self, at: usize, to: usize, summary: Log, known: u8) {
        let brick = &self.state.bricks[at];
        let (view, committed, mut log) = (brick.view, brick.committed, brick.disk.log);
        let agreed = summary.agreement(&log);
        // What a learner knows to be committed is never cut, only replaced as a whole.
        let cut = if agreed < known { 0 } else { agreed };
        let mut first = committed;
        if self.rules.lack(Rule::PendingGoesFirst) {
            // The stream begins with the next record; the copies have what has committed.
            first = log.last();
            blank(&mut log, committed, first);
        }
        let mut copies = log;
        blank(&mut copies, 0, cut);
        blank(&mut log, cut, first);
        let stream = self.state.stream_mut(at, to);
        stream.sent += 1;
        let number = stream.sent;
        stream.send(Down::CopyStart {
            number,
            view,
            cut,
            first,
            log,
        });
        stream.send(Down::CopyEnd { log: copies });
        self.streams(at, to, number);
        self.state.bricks[at].members[to].copy = Copied::Sent;
        if self.rules.lack(Rule::LearnersHoldAll) {
            self.state.bricks[at].members[to].is_required = true;
            self.ask_promotion(at, to);
        }
    }

    /// The learner's log is cut, and goes on behind what the copies will bring.
    fn start_copy(&mut self, from: usize, at: usize, view: u8, cut: u8, first: u8, log: &Log) {
        let brick = self.brick(at);
        let is_asked = brick.follow.reported_to == Some(from as u8);
        if !is_asked || brick.role != Role::Learner || brick.view != view {
            return;
        }
        let mut held = brick.disk.log;
        held.cut(cut);
        for (_, entry) in log.iter().skip(usize::from(cut)) {
            held.push(entry);
        }
        brick.disk.log = held;
        brick.disk.synced = brick.disk.synced.min(cut);
        if cut < first {
            // What lies between is missing until the copies are here.
            let reported_to = brick
                .disk
                .partial
                .map_or(cut, |reported_to| reported_to.min(cut));
            brick.disk.partial = Some(reported_to);
        }
        brick.committed = first.max(brick.committed.min(cut));
        let follow = &mut brick.follow;
        follow.reported_to = None;
        follow.stream = Some(from as u8);
        follow.known = brick.committed;
        follow.is_copying = true;
        if self.rules.lack(Rule::BaselinesEndCatchUps) {
            self.brick(at).disk.partial = None;
        }
        self.touch_log(at);
        self.state.stream_mut(from, at).is_refused = false;
    }

    /// All copies are here.
    fn end_copy(&mut self, from: usize, at: usize, copies: &Log) {
        let brick = self.brick(at);
        if brick.follow.stream != Some(from as u8) || !brick.follow.is_copying {
            return;
        }
        brick.follow.is_copying = false;
        for (op, entry) in copies.iter() {
            // Copies are older than what the stream brought.
            if brick.disk.log.get(op).is_some_and(|held| held.write == 0) {
                brick.disk.log.set(op, entry);
            }
        }
        // The baseline record that says so is at the end of the log.
        if let Some(reported_to) = brick.disk.partial.take() {
            brick.disk.synced = brick.disk.synced.min(reported_to);
        }
        let view = brick.view;
        self.touch_log(at);
        self.state
            .stream_mut(from, at)
            .up
            .push(Up::CopyDone { view });
    }

    /// The map names the primary now whose stream was refused: it is asked to begin again.
    pub(crate) fn join(&mut self, at: usize) {
        let brick = &self.state.bricks[at];
        let is_member = matches!(brick.role, Role::Backup | Role::Learner);
        let (view, primary) = (brick.view, brick.primary.at());
        if !is_member || !brick.is_current() || primary == at {
            return;
        }
        let stream = self.state.stream_mut(primary, at);
        if stream.is_connected && stream.is_refused {
            stream.up.push(Up::Join { view });
        }
    }

    /// Nothing that a crash leaves in a peer's stream counts for a learner's promotion.
    pub(crate) fn hang_up(&mut self, from: usize, at: usize) {
        let is_learner = self.state.bricks[from].members[at].is_learner;
        let stream = self.state.stream_mut(from, at);
        stream.is_connected = false;
        stream.down.clear();
        if is_learner && self.state.bricks[from].members[at].phase != Phase::Unlinked {
            self.state.stream_mut(from, at).up.push(Up::Closed);
        }
    }
}

/// What the ops from `from + 1` to `to` have written is not there; their views are known.
fn blank(log: &mut Log, from: u8, to: u8) {
    for op in from + 1..=to {
        if let Some(entry) = log.get(op) {
            log.set(op, Entry { write: 0, ..entry });
        }
    }
}
