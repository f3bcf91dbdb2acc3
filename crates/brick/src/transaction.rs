//! MULTI and EXEC: commands of one partition that happen together or not at all.

use crate::version::Version;
use brickyard_command::{OwnedArgs, Spec};
use brickyard_types::TableId;

/// A key whose change makes the next `EXEC` do nothing.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    pub(crate) table: TableId,
    pub(crate) key: Vec<u8>,
    /// What it was when it was watched.
    pub(crate) version: Version,
}

/// Commands since `MULTI`.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) commands: Vec<(&'static Spec, OwnedArgs)>,
    pub(crate) bytes: usize,
    /// One of them was refused when it was queued: `EXEC` refuses them all.
    pub(crate) is_refused: bool,
}

/// A connection's transaction, from `MULTI` or `WATCH` on.
#[derive(Debug, Default)]
pub(crate) struct Multi {
    /// Commands since `MULTI`.
    pub(crate) queue: Option<Queue>,
    pub(crate) watches: Vec<Watch>,
    /// Of the transaction under way, place by place: what is executed here once the rest was.
    pub(crate) after_exec: Vec<Option<(&'static Spec, OwnedArgs)>>,
}

impl Multi {
    /// Forgets what was queued and watched.
    pub(crate) fn discard(&mut self) {
        self.queue = None;
        self.watches.clear();
    }

    /// Op numbers will be used again: a watched key's number no longer says what it was.
    pub(crate) fn forget_versions(&mut self) {
        for watch in &mut self.watches {
            watch.version = Version::Unknown;
        }
    }
}

/// One of a transaction's commands.
#[derive(Debug)]
pub(crate) enum Step {
    /// A command on the partition's keys.
    Command(&'static Spec, OwnedArgs),
    /// A command of the connection, which its brick executes once the others are: it has a place in the
    /// array of replies, and no bytes there yet.
    Later,
}

/// A transaction as the brick of its partition gets it.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    pub(crate) steps: Vec<Step>,
    pub(crate) watches: Vec<Watch>,
}

impl Transaction {
    /// Bytes that it holds, about.
    pub(crate) fn bytes(&self) -> usize {
        self.steps
            .iter()
            .map(|step| match step {
                Step::Command(_, args) => args.memory_bytes(),
                Step::Later => 0,
            })
            .sum()
    }
}
