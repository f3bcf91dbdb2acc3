//! A state on its way to the next one; what happens in it is in the files named after what happens.

use crate::action::Action;
use crate::log::{Entry, Log};
use crate::map::{Map, Plane, Role};
use crate::plane::Leader;
use crate::scope::{Durability, Scope};
use crate::state::{BRICKS, Brick, Disk, Down, Lease, Past, Phase, State, Stream, Up};
use crate::{Rule, Rules};

pub(crate) struct World<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) rules: Rules,
    pub(crate) state: State,
}

impl World<'_> {
    /// Where a run begins: everybody knows the first view, and its streams are connected.
    pub(crate) fn first(scope: &Scope, rules: Rules) -> State {
        let group = scope.first();
        let brick = Brick {
            is_up: true,
            life: 1,
            disk: Disk {
                is_tail_sure: true,
                ..Disk::default()
            },
            lease: Lease {
                names: Some(0),
                is_late: false,
            },
            ..Brick::default()
        };
        let map = Map {
            group,
            change: None,
        };
        let state = State {
            bricks: std::array::from_fn(|_| brick.clone()),
            streams: std::array::from_fn(|_| Stream::default()),
            plane: Plane {
                maps: vec![map],
                lives: [1; BRICKS],
                ..Plane::default()
            },
            past: Past::default(),
            left: scope.left,
        };
        let mut world = World {
            scope,
            rules,
            state,
        };
        for at in 0..BRICKS {
            world.adopt_map(at, map);
        }
        // The view has begun at its backups: what is of interest comes later. A learner has not been asked yet.
        for from in 0..BRICKS {
            for to in 0..BRICKS {
                if let Some(Down::Begin { .. }) = world.state.stream(from, to).down.first() {
                    world.deliver(from, to);
                    world.sync(to);
                    world.answer(from, to);
                }
            }
        }
        world.forget_the_first_record();
        world.state
    }

    /// The first view needs no record that names what it follows, and logs are shorter without.
    fn forget_the_first_record(&mut self) {
        self.state.past = Past::default();
        for brick in &mut self.state.bricks {
            brick.disk.log.cut(0);
            (brick.committed, brick.disk.synced, brick.follow.known) = (0, 0, 0);
            for member in &mut brick.members {
                member.base = 0;
            }
        }
        for stream in &mut self.state.streams {
            stream
                .down
                .retain(|frame| matches!(frame, Down::Ask { .. }));
        }
    }

    /// Does it; false if nothing came of it.
    pub(crate) fn step(&mut self, action: Action) -> bool {
        let at = usize::from;
        match action {
            Action::Write(brick) => self.write(at(brick)),
            Action::Deliver(from, to) => self.deliver(at(from), at(to)),
            Action::Answer(from, to) => self.answer(at(from), at(to)),
            Action::Sync(brick) => self.sync(at(brick)),
            Action::Adopt(brick) => self.adopt(at(brick)),
            Action::Propose(bits, primary) => return self.leader().propose(None, bits, primary),
            Action::ProposeLate(version, bits, primary) => {
                return self.leader().propose(Some(version), bits, primary);
            }
            Action::Settle => return self.leader().settle_change(),
            Action::Learn(brick) => self.leader().learn(at(brick)),
            Action::Promote => return self.leader().promote(),
            Action::BeginAgain => return self.leader().begin_again(),
            Action::Kill(brick) => self.kill(at(brick)),
            Action::PowerCut(brick) => self.cut_power(at(brick)),
            Action::Restart(brick) => self.restart(at(brick)),
            Action::Lapse(brick) => self.lapse(at(brick)),
            Action::Grant(brick) => return self.grant(at(brick)),
            Action::Wake(brick) => self.state.bricks[at(brick)].lease.is_late = false,
            Action::Reconnect(from, to) => return self.reconnect(at(from), at(to)),
            Action::ChangeLeader => {
                self.state.left.leaders -= 1;
                self.state.plane.fears_nobody = true;
            }
        }
        true
    }

    /// What can make no difference any more is forgotten, so that states that differ in it alone are one.
    pub(crate) fn tidy(&mut self) {
        if self.rules.lack(Rule::ProposalsNameTheirBase) {
            return;
        }
        let newest = self.state.plane.version();
        let bricks = self.state.bricks.iter().filter(|brick| brick.is_up);
        let known = bricks.map(|brick| brick.adopted).min().unwrap_or(newest);
        for map in &mut self.state.plane.maps[..usize::from(known.min(newest))] {
            *map = Map::default();
        }
    }

    fn leader(&mut self) -> Leader<'_> {
        let State {
            bricks,
            plane,
            past,
            left,
            ..
        } = &mut self.state;
        Leader {
            scope: self.scope,
            rules: self.rules,
            bricks,
            plane,
            past,
            left,
        }
    }

    pub(crate) fn brick(&mut self, at: usize) -> &mut Brick {
        &mut self.state.bricks[at]
    }

    /// Adds an entry to a brick's log.
    pub(crate) fn append(&mut self, at: usize, entry: Entry) {
        self.brick(at).disk.log.push(entry);
        self.touch_log(at);
    }

    /// Where no power can be cut nothing has to be synced.
    pub(crate) fn touch_log(&mut self, at: usize) {
        let is_synced = !self.scope.has_power_cuts();
        let brick = self.brick(at);
        brick.disk.synced = if is_synced {
            brick.disk.log.last()
        } else {
            brick.disk.synced.min(brick.disk.log.last())
        };
    }

    /// The log ends at `op`.
    pub(crate) fn cut(&mut self, at: usize, op: u8) {
        let brick = self.brick(at);
        if op < brick.committed {
            brick.committed = op;
            self.state.past.has_gone_back = true;
        }
        self.brick(at).disk.log.cut(op);
        self.touch_log(at);
    }

    /// The brick's commit position is `op` now.
    pub(crate) fn commit(&mut self, at: usize, op: u8) {
        let brick = &self.state.bricks[at];
        let (from, log, view) = (brick.committed, brick.disk.log, brick.view);
        let is_primary = brick.role == Role::Primary;
        let mut holders = 1 << at;
        for (other, member) in brick.members.iter().enumerate() {
            if member.life > 0 && !member.is_learner {
                holders |= 1 << other;
            }
        }
        for op in from + 1..=op {
            let Some(entry) = log.get(op) else {
                self.state.past.has_forked = true;
                return;
            };
            self.state.bricks[at].committed = op;
            let past = &mut self.state.past;
            if is_primary {
                let committer = &mut past.committers[usize::from(view)];
                past.has_two_primaries |= ![0, at as u8 + 1].contains(committer);
                *committer = at as u8 + 1;
            }
            match past.outcome.get(op) {
                Some(known) => {
                    let is_same = (known.view, known.write) == (entry.view, entry.write);
                    past.has_forked |= !is_same;
                }
                None if past.outcome.last() + 1 == op => {
                    past.outcome.push(entry);
                    past.holders[usize::from(op) - 1] = holders;
                }
                None => past.has_forked = true,
            }
        }
    }

    /// Receives the vote that a frame asks for.
    pub(crate) fn vote(&mut self, from: usize, to: usize, number: u8) {
        let is_fsync = self.scope.durability == Durability::Fsync;
        let is_synced = {
            let brick = &self.state.bricks[to];
            brick.disk.synced == brick.disk.log.last()
        };
        let stream = self.state.stream_mut(from, to);
        if is_fsync && !is_synced {
            stream.unvoted = number;
        } else {
            stream.unvoted = 0;
            stream.up.push(Up::Vote { number });
        }
    }

    /// The log is synced.
    fn sync(&mut self, at: usize) {
        let brick = self.brick(at);
        brick.disk.synced = brick.disk.log.last();
        for from in 0..BRICKS {
            let stream = self.state.stream_mut(from, at);
            let number = std::mem::take(&mut stream.unvoted);
            if number > 0 {
                stream.up.push(Up::Vote { number });
            }
        }
        self.say_accepted(at);
        self.settle(at);
    }

    /// A connection is gone: nothing is under way any more, and a new one has everything before it.
    pub(crate) fn disconnect(&mut self, from: usize, to: usize) {
        let follow = &mut self.state.bricks[to].follow;
        let peer = Some(from as u8);
        if follow.stream == peer || follow.reported_to == peer {
            self.detach(to);
        }
        // Rule `votes belong to a stream`: late votes are of a stream that is gone.
        let is_kept = self.rules.lack(Rule::StreamsAreNamed);
        let stream = self.state.stream_mut(from, to);
        let up = if is_kept {
            std::mem::take(&mut stream.up)
        } else {
            Vec::new()
        };
        *stream = Stream {
            up,
            ..Stream::default()
        };
    }

    /// The stream breaks, and is back.
    fn reconnect(&mut self, from: usize, to: usize) -> bool {
        let life = self.state.bricks[from].members[to].life;
        let is_useful = self.state.bricks[from].leads() && life > 0;
        if !is_useful || !self.is_there(from, to) {
            return false;
        }
        self.state.left.reconnects -= 1;
        if self.rules.lack(Rule::RecordsFollow) {
            // What was under way is lost, and the stream goes on as if nothing were missing.
            let stream = self.state.stream_mut(from, to);
            stream.down.clear();
            stream.up.clear();
            return true;
        }
        self.disconnect(from, to);
        self.fall_out(from, to, Phase::Unlinked);
        self.connect(from, to);
        true
    }

    /// Whether the member is in the life that is one.
    pub(crate) fn is_there(&self, from: usize, to: usize) -> bool {
        let life = self.state.bricks[from].members[to].life;
        let peer = &self.state.bricks[to];
        // Rule `members name an incarnation`.
        let is_it = peer.life == life || self.rules.lack(Rule::ViewsNameLives);
        life > 0 && peer.is_up && is_it
    }

    /// The primary has a connection to a member, which begins.
    pub(crate) fn connect(&mut self, from: usize, to: usize) {
        if !self.is_there(from, to) {
            return;
        }
        let stream = self.state.stream_mut(from, to);
        if !stream.is_connected {
            *stream = Stream {
                is_connected: true,
                up: std::mem::take(&mut stream.up),
                ..Stream::default()
            };
            if !self.rules.lack(Rule::StreamsAreNamed) {
                self.state.stream_mut(from, to).up.clear();
            }
        }
        self.begin(from, to);
    }

    /// Everything above `op` of what was acknowledged is gone from all who held it, through no fault of the
    /// protocol's.
    pub(crate) fn forgive(&mut self) {
        let outcome = self.state.past.outcome;
        let is_held = |op: u8, entry: Entry| {
            let holders = self.state.past.holders[usize::from(op) - 1];
            let same = |log: &Log| {
                let held = log.get(op).map(|it| (it.view, it.write));
                held == Some((entry.view, entry.write))
            };
            let mut bricks = self.state.bricks.iter().enumerate();
            bricks.any(|(at, brick)| holders & 1 << at != 0 && same(&brick.disk.log))
        };
        if let Some((op, _)) = outcome.iter().find(|(op, entry)| !is_held(*op, *entry)) {
            self.state.past.forget(op - 1);
        }
    }
}
