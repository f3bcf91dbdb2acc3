//! Commands that took long: the last few on this brick.

use crate::connection::Connection;
use crate::settings::Settings;
use brickyard_command::{Args, CommandId, Spec, table::flag};
use brickyard_types::UnixMillis;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;

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

impl SlowCommand {
    /// A command of which it is not known yet how long it takes; `None`: the slow log would not have it.
    pub(crate) fn begin(
        connection: &Connection,
        spec: Option<&Spec>,
        args: &Args<'_>,
        settings: &Settings,
        at: UnixMillis,
    ) -> Option<Self> {
        let threshold = settings.slowlog_log_slower_than.load(Relaxed);
        let is_kept_out =
            spec.is_some_and(|spec| spec.has(flag::SKIP_SLOWLOG) || spec.id == CommandId::Slowlog);
        if threshold < 0 || is_kept_out || Settings::load(&settings.slowlog_max_len) == 0 {
            return None;
        }
        Some(Self {
            id: 0,
            at,
            microseconds: 0,
            arguments: shortened(spec, args),
            client: connection.accepted.peer.clone(),
            client_name: String::from_utf8_lossy(&connection.session.names.name).into_owned(),
        })
    }
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
        let is_newest = self.entries.front().is_none_or(|it| it.id < command.id);
        assert!(is_newest, "command {} is older than the last", command.id);
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

/// What the log shows in the place of a user's name or password, as Redis's does.
const REDACTED: &[u8] = b"(redacted)";

/// What the log keeps of a command's arguments: never a password.
fn shortened(spec: Option<&Spec>, args: &Args<'_>) -> Vec<Vec<u8>> {
    let kept = if args.len() > ARGUMENTS_KEPT {
        ARGUMENTS_KEPT - 1
    } else {
        args.len()
    };
    let secrets_from = first_secret(spec, args);
    let mut shortened: Vec<Vec<u8>> = args
        .from(0)
        .take(kept)
        .enumerate()
        .map(|(at, argument)| match argument.get(..ARGUMENT_BYTES_KEPT) {
            _ if at >= secrets_from => REDACTED.to_vec(),
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
    assert!(
        shortened.len() <= ARGUMENTS_KEPT,
        "{} arguments are kept",
        shortened.len()
    );
    shortened
}

/// From which argument on a command may name a user and a password, however wrong the rest of it is.
pub(crate) fn first_secret(spec: Option<&Spec>, args: &Args<'_>) -> usize {
    match spec.map(|spec| spec.id) {
        Some(CommandId::Auth) => 1,
        Some(CommandId::Hello) => args
            .from(0)
            .position(|argument| argument.eq_ignore_ascii_case(b"auth"))
            .map_or(usize::MAX, |at| at + 1),
        // All rules: a password that is misspelt as another rule is one still.
        Some(CommandId::Acl) => 2,
        _ => usize::MAX,
    }
}
