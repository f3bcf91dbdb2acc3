//! A node's machine, and the process on it.

use crate::check::memory::Seen;
use crate::clock::{Clocks, Nanos, SECOND};
use crate::disks::Disks;
use crate::host::SimHost;
use crate::log_work::LogWork;
use crate::loop_io::Outside;
use crate::random::Random;
use crate::shape::Shape;
use brickyard_brick::{Brick, Inspection};
use brickyard_metadata::{Catalog, NodeKey};
use brickyard_node::storage::Directory;
use brickyard_node::{BrickLoop, ClusterMember, ControlLoop};
use brickyard_store::{BootNote, DirectoryId, MemDisk};
use brickyard_types::Instant;
use std::sync::Arc;
use std::time::Duration;

/// Half of the server's `stop_timeout`: by then a node that was told to stop does, whatever it still has.
pub(crate) const STOP_TIMEOUT: Nanos = 5 * SECOND;

/// What is there whether a process runs or not.
pub(crate) struct Machine {
    pub(crate) disks: Disks,
    pub(crate) key: NodeKey,
    pub(crate) directory: Directory<MemDisk>,
    /// Which boot of the machine this is.
    pub(crate) boot: u64,
    pub(crate) clocks: Clocks,
    pub(crate) process: Option<Process>,
    /// Numbers its processes.
    pub(crate) life: u64,
    /// It is not started again until somebody does.
    pub(crate) is_off: bool,
    /// An operator has told its node to be removed.
    pub(crate) is_unwanted: bool,
    /// Its node was removed, and ended.
    pub(crate) is_retired: bool,
    pub(crate) paused_until: Nanos,
    /// Its loops take all the time of their cores.
    pub(crate) is_busy: bool,
    /// The process is killed after so many more effects.
    pub(crate) dies_after: Option<u32>,
}

pub(crate) struct Process {
    pub(crate) life: u64,
    pub(crate) control: ControlLoop<SimHost>,
    pub(crate) boot: BootNote,
    pub(crate) bricks: Vec<BrickSide>,
    /// The catalog that the bricks were told last; for those who look.
    pub(crate) catalog: Option<Arc<Catalog>>,
    pub(crate) seed: u64,
}

/// A brick's loop and what is around it.
pub(crate) struct BrickSide {
    pub(crate) brick_loop: BrickLoop,
    pub(crate) log: LogWork,
    pub(crate) outside: Outside,
    /// When its next turn is.
    pub(crate) turn_at: Option<Nanos>,
    /// Its turns on the agenda, the next one last; they may come to nothing.
    pub(crate) turns_noted: Vec<Nanos>,
    pub(crate) turned_at: Instant,
    /// It was stopped in the middle of a turn that had begun then.
    pub(crate) began: Option<Instant>,
    /// How much of a core's time it has taken.
    pub(crate) taken: Duration,
    /// Syncs are looked at then.
    pub(crate) sync_at: Option<Nanos>,
    /// What checkers saw of its partitions when they looked last.
    pub(crate) seen: Vec<Seen>,
}

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// At once, in the middle of whatever it does.
    Kill,
    /// With its machine.
    Power,
    /// In order: what it has is written and synced.
    Stop,
}

impl BrickSide {
    pub(crate) fn brick(&self) -> &Brick {
        self.brick_loop.brick()
    }

    pub(crate) fn inspect(&self) -> Inspection<'_> {
        Inspection::of(self.brick())
    }
}

impl Machine {
    pub(crate) fn new(at: usize, shape: &Shape, chance: &mut Random) -> Self {
        let disks = Disks::new(at, shape.bricks, chance);
        let mut id = [0; 20];
        id[..8].copy_from_slice(&chance.next().to_le_bytes());
        id[19] = at as u8;
        let mut directory = [0; 16];
        directory[..8].copy_from_slice(&chance.next().to_le_bytes());
        Self {
            key: NodeKey(id),
            directory: Directory {
                disk: disks.own().clone(),
                id: DirectoryId(directory),
                node: NodeKey(id),
            },
            disks,
            boot: 1,
            clocks: Clocks::draw(0, chance),
            process: None,
            life: 0,
            is_off: false,
            is_retired: false,
            is_unwanted: false,
            paused_until: 0,
            is_busy: false,
            dies_after: None,
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.process.is_some()
    }
}

impl Process {
    pub(crate) fn member(&self) -> Option<&ClusterMember> {
        self.control.member()
    }
}
