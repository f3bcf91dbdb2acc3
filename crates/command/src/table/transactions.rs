//! Commands that make several commands one.

use super::{Argument, CommandGroup, CommandId, KeySpec, Spec, category, flag, key_flag};

/// May be sent whatever the state of the server.
const ANY_TIME: u32 = flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::FAST | flag::ALLOW_BUSY;

/// A command of this family.
const fn command(id: CommandId, name: &'static str, arity: i8, flags: u32) -> Spec {
    Spec::new(id, name, arity, flags).of(CommandGroup::Transactions, category::TRANSACTION)
}

pub(super) const COMMANDS: &[Spec] = &[
    command(CommandId::Discard, "discard", 1, ANY_TIME).docs(
        "Forgets the commands queued since MULTI.",
        "2.0.0",
        "O(N) for N queued commands",
    ),
    command(
        CommandId::Exec,
        "exec",
        1,
        flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::SKIP_SLOWLOG,
    )
    .docs(
        "Runs the commands queued since MULTI.",
        "1.2.0",
        "That of the queued commands",
    ),
    command(CommandId::Multi, "multi", 1, ANY_TIME).docs(
        "Begins to queue commands for EXEC.",
        "1.2.0",
        "O(1)",
    ),
    command(CommandId::Unwatch, "unwatch", 1, ANY_TIME).docs(
        "Forgets the keys given to WATCH.",
        "2.2.0",
        "O(1)",
    ),
    command(CommandId::Watch, "watch", -2, ANY_TIME)
        .keys(&[KeySpec::range(1, -1, 1, key_flag::RO)])
        .docs(
            "Lets EXEC do nothing if one of these keys changes before it.",
            "2.2.0",
            "O(1) a key",
        )
        .arguments(&[Argument::key("key", 0).multiple()]),
];
