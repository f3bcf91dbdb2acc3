//! Commands that took long: the last few on this brick.

use brickyard_command::Args;
use brickyard_types::UnixMillis;
use std::collections::VecDeque;

/// Arguments kept of one command, and bytes kept of one argument: Redis's own bounds.
const ARGUMENTS_KEPT: usize = 32;
const ARGUMENT_BYTES_KEPT: usize = 128;

/// One slow command.
#[derive(Debug, Clone)]
pub(crate) struct SlowCommand {
    pub(crate) id: u64,
    pub(crate) at: UnixMillis,
    pub(crate) microseconds: u64,
    pub(crate) arguments: Vec<Vec<u8>>,
    pub(crate) client: String,
    pub(crate) client_name: String,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Slowlog {
    entries: VecDeque<SlowCommand>,
    id_next: u64,
}

impl Slowlog {
    pub(crate) fn push(&mut self, mut command: SlowCommand, len_max: u64) {
        command.id = self.id_next;
        self.id_next += 1;
        self.entries.push_front(command);
        self.entries
            .truncate(usize::try_from(len_max).unwrap_or(usize::MAX));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &SlowCommand> {
        self.entries.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}

/// What the log keeps of a command's arguments.
pub(crate) fn shortened(args: &Args<'_>) -> Vec<Vec<u8>> {
    let kept = if args.len() > ARGUMENTS_KEPT {
        ARGUMENTS_KEPT - 1
    } else {
        args.len()
    };
    let mut shortened: Vec<Vec<u8>> = args
        .from(0)
        .take(kept)
        .map(|argument| match argument.get(..ARGUMENT_BYTES_KEPT) {
            Some(head) if argument.len() > ARGUMENT_BYTES_KEPT => {
                let more = argument.len() - ARGUMENT_BYTES_KEPT;
                [head, format!("... ({more} more bytes)").as_bytes()].concat()
            }
            _ => argument.to_vec(),
        })
        .collect();
    if args.len() > kept {
        shortened.push(format!("... ({} more arguments)", args.len() - kept).into_bytes());
    }
    shortened
}
