//! One thing after the other happens, until the run is over.

use crate::clock::{MILLISECOND, SECOND};
use crate::fault;
use crate::operator::orders::Order;
use crate::process::STOP_TIMEOUT;
use crate::what::What;
use crate::world::World;

impl World {
    /// Runs to the end.
    pub(crate) fn run(&mut self) {
        while self.step() {}
    }

    /// The next thing happens; `false`: the run is over.
    pub(crate) fn step(&mut self) -> bool {
        let ground = &self.cluster.ground;
        if ground.stage.is_over || ground.notes.violation().is_some() {
            return false;
        }
        let Some(what) = self.cluster.ground.take_next() else {
            self.object("nothing happens any more".to_owned());
            return false;
        };
        self.happen(what);
        true
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Deliver(id, end) => self.deliver(id, end),
            What::Close(id, end) => self.hear_close(id, end),
            What::Fault(at) => {
                let fault = self.plan.faults[at];
                self.strike(fault.kind, fault.dice, 0);
            }
            What::Again(kind, dice, stage) => self.strike(kind, dice, stage),
            What::Client(at) => self.client(at),
            What::Operate => {
                let are_tables_made = self.clients.are_tables_made();
                self.operator.operate(&mut self.cluster, are_tables_made);
            }
            What::Affirm => self.operator.affirm(&mut self.cluster),
            What::Calm => self.calm_down(),
            What::Watch => self.watch(),
            of_a_node => self.cluster.happen(of_a_node),
        }
    }

    fn strike(&mut self, kind: &'static str, dice: u64, stage: u32) {
        if !self.cluster.ground.stage.is_calm {
            fault::act(self, kind, dice, stage);
        }
    }

    /// Everything is mended, and stays so.
    pub(crate) fn calm_down(&mut self) {
        self.cluster.ground.stage.is_calm = true;
        self.cluster.ground.stage.calm_at = self.now();
        self.tell(|| "all is well again".to_owned());
        self.cluster.ground.shape.sync = self.cluster.ground.shape.control_sync;
        for from in 0..self.cluster.machines.len() {
            for to in 0..self.cluster.machines.len() {
                self.cluster.heal(from, to);
            }
        }
        for node in 0..self.cluster.machines.len() {
            self.cluster.heal_control(node);
            let machine = &mut self.cluster.machines[node];
            machine.is_off = false;
            machine.disks.heal();
            machine.is_busy = false;
            machine.dies_after = None;
            if machine.is_up() {
                // Who was told to stop has its time for that, as if there had been no end of faults.
                self.after(STOP_TIMEOUT, What::Stop(node));
            } else {
                self.cluster.restart_soon(node, SECOND / 2);
            }
        }
        self.order(Order::ResumeMoves);
        for table in 0..self.cluster.ground.shape.tables.len() {
            if self.operator.is_out_of_service(&self.cluster, table) {
                self.order(Order::BringOnline(table));
            }
        }
        for table in self.operator.laid_out() {
            self.order(Order::Confine(table, 0));
            self.order(Order::Bound(table, None));
        }
        self.after(100 * MILLISECOND, What::Watch);
    }
}
