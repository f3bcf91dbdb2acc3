//! MULTI and EXEC: commands of one partition that happen together or not at all.

use brickyard_command::{OwnedArgs, Spec};
use brickyard_types::{Op, TableId};

/// A key whose change makes the next `EXEC` do nothing.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    pub(crate) table: TableId,
    pub(crate) key: Vec<u8>,
    /// The op that wrote it when it was watched; `None`: it did not exist.
    pub(crate) op: Option<Op>,
}

/// Commands since `MULTI`.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) commands: Vec<(&'static Spec, OwnedArgs)>,
    pub(crate) bytes: usize,
    /// One of them was refused when it was queued: `EXEC` refuses them all.
    pub(crate) is_refused: bool,
}

/// One of a transaction's commands.
#[derive(Debug)]
pub(crate) enum Step {
    /// A command on the partition's keys.
    Command(&'static Spec, OwnedArgs),
    /// A command of the connection, already executed: its reply.
    Reply(Vec<u8>),
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
                Step::Reply(reply) => reply.len(),
            })
            .sum()
    }
}
