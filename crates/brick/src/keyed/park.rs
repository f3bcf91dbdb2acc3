//! Setting work aside until values that it needs have been read back from the log.

use super::run::Call;
use crate::brick::Brick;
use crate::cold::Parked;
use crate::forward::{Origin, Work};
use crate::log::{KeyRef, Writer};
use crate::replica::Placing;
use crate::transaction::Step;
use crate::view::ColdWanted;
use brickyard_command::{OwnedArgs, Spec, keys};
use brickyard_table::KeyHash;
use brickyard_wire::Protocol;

impl Brick {
    pub(crate) fn key_ref(&self, table: usize, key: &[u8]) -> Option<KeyRef> {
        let state = self.core.table(table)?;
        let location = state.map.locate(key);
        let partition = state.partitions.get(location.leaf as usize)?.as_ref()?;
        Some(KeyRef {
            table: table as u32,
            partition: partition.local,
            hash: KeyHash(location.key_hash),
        })
    }

    #[inline]
    pub(super) fn must_park(&self, call: &Call<'_>) -> bool {
        !self.core.cold.is_idle()
            && keys(call.spec, call.args).any(|at| {
                let key = self.key_ref(call.table, call.args.at(at));
                key.is_some_and(|key| self.core.cold.is_waited_for(&key))
            })
    }

    /// The keys of this brick that some work touches.
    pub(super) fn keys_of(&self, work: &Work, table: usize) -> Vec<KeyRef> {
        let mut all = Vec::new();
        let mut add = |spec: &'static Spec, args: &OwnedArgs| {
            let args = args.as_args();
            all.extend(keys(spec, args).filter_map(|at| self.key_ref(table, args.at(at))));
        };
        match work {
            Work::Share(..) => {}
            Work::Command(spec, args) | Work::Request(_, spec, args) => add(spec, args),
            Work::Transaction(transaction) => {
                for step in &transaction.steps {
                    if let Step::Command(spec, args) = step {
                        add(spec, args);
                    }
                }
            }
        }
        all
    }

    /// Sets work aside until the values that it wants are there, and the commands on its keys that
    /// were parked before it are done.
    pub(crate) fn park(
        &mut self,
        work: Work,
        table: usize,
        protocol: Protocol,
        origin: Origin,
        writer: Writer,
        wanted: Vec<ColdWanted>,
    ) {
        let keys = self.keys_of(&work, table);
        let id = self.core.table(table).map(|state| state.id);
        let lane = id.and_then(|id| self.lane(&origin, id, &work));
        let placing = Placing {
            until: self.core.deadline(),
            moves: self.core.moves(),
        };
        let parked = Parked::new(work, table, protocol, origin, writer, lane, placing);
        let id = self.core.cold.park(parked.touching(keys));
        self.fetch(id, wanted);
        self.run_parked();
    }
}
