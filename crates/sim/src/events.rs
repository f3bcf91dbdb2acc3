//! One thing after the other happens, until the run is over.

use crate::clock::MICROSECOND;
use crate::fault;
use crate::what::What;
use crate::world::World;

impl World {
    /// Runs to the end.
    pub(crate) fn run(&mut self) {
        while !self.stage.is_over && self.notes.violation.is_none() {
            let Some((at, what)) = self.agenda.take() else {
                self.object("nothing happens any more".to_owned());
                return;
            };
            self.now = at;
            self.happen(what);
        }
    }

    fn happen(&mut self, what: What) {
        self.notes.digest.number(self.now);
        match what {
            What::Turn(node, life, brick) => {
                // A turn that a pause held up reads what came meanwhile.
                let until = self.machines[node].paused_until;
                if self.lives(node, life) && until > self.now {
                    let turn = What::Turn(node, life, brick);
                    self.agenda.note(until + MICROSECOND, turn);
                } else if self.lives(node, life) {
                    self.turn(node, brick);
                }
            }
            What::Worked(node, life, brick, worker) => self.worked(node, life, brick, worker),
            What::SyncDue(node, life, brick) => self.sync_due(node, life, brick),
            What::Stored(node, life) => self.stored(node, life),
            What::Tick(node, life) => {
                if self.is_present(node, life, || What::Tick(node, life)) {
                    self.tick(node, life);
                }
            }
            What::Look(node, life) => {
                if self.is_present(node, life, || What::Look(node, life)) {
                    self.control(node, |_| {});
                }
            }
            What::Recover(node, life) => {
                if self.is_present(node, life, || What::Recover(node, life)) {
                    self.recover(node);
                }
            }
            What::Deliver(id, end) => self.deliver(id, end),
            What::Close(id, end) => self.hear_close(id, end),
            What::Dial(node, life, target, number) => {
                let again = target.clone();
                if self.is_present(node, life, || What::Dial(node, life, again, number)) {
                    self.dial(node, target, number);
                }
            }
            What::Hello {
                from,
                life,
                to,
                attempt,
                frame,
            } => self.hello(from, life, to, attempt, frame),
            What::Answered(node, life, attempt, answer) => {
                let again = (attempt.clone(), answer.clone());
                if self.is_present(node, life, || What::Answered(node, life, again.0, again.1)) {
                    self.answered(node, attempt, answer);
                }
            }
            What::Start(node) => self.start(node),
            What::Strike(at) => {
                if !self.stage.is_calm {
                    let fault = self.plan.faults[at];
                    fault::act(self, fault.kind, fault.dice, 0);
                }
            }
            What::Again(kind, dice, stage) => {
                if !self.stage.is_calm {
                    fault::act(self, kind, dice, stage);
                }
            }
            What::Client(at) => self.client(at),
            What::Operate => self.operate(),
            What::Affirm => self.affirm(),
            What::Calm => self.calm_down(),
            What::Stop(node) => self.stop_in_order(node),
            What::Watch => self.watch(),
        }
    }

    /// Whether a process can do something now; if it is stopped for a while, it is done after that.
    fn is_present(&mut self, node: usize, life: u64, again: impl FnOnce() -> What) -> bool {
        if !self.lives(node, life) {
            return false;
        }
        let until = self.machines[node].paused_until;
        if until > self.now {
            self.agenda.note(until, again());
            return false;
        }
        true
    }
}
