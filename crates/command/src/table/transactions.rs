//! Commands that make several commands one.

use super::{Argument, CommandGroup, CommandId, KeySpec, Spec, category, flag, key_flag};

pub(super) const COMMANDS: &[Spec] = &[
    Spec::new(
        CommandId::Discard,
        "discard",
        1,
        flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::FAST | flag::ALLOW_BUSY,
        category::TRANSACTION,
    )
    .docs(
        "Forgets the commands queued since MULTI.",
        "2.0.0",
        CommandGroup::Transactions,
        "O(N) for N queued commands",
    ),
    Spec::new(
        CommandId::Exec,
        "exec",
        1,
        flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::SKIP_SLOWLOG,
        category::TRANSACTION,
    )
    .docs(
        "Runs the commands queued since MULTI.",
        "1.2.0",
        CommandGroup::Transactions,
        "That of the queued commands",
    ),
    Spec::new(
        CommandId::Multi,
        "multi",
        1,
        flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::FAST | flag::ALLOW_BUSY,
        category::TRANSACTION,
    )
    .docs(
        "Begins to queue commands for EXEC.",
        "1.2.0",
        CommandGroup::Transactions,
        "O(1)",
    ),
    Spec::new(
        CommandId::Unwatch,
        "unwatch",
        1,
        flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::FAST | flag::ALLOW_BUSY,
        category::TRANSACTION,
    )
    .docs(
        "Forgets the keys given to WATCH.",
        "2.2.0",
        CommandGroup::Transactions,
        "O(1)",
    ),
    Spec::new(
        CommandId::Watch,
        "watch",
        -2,
        flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::FAST | flag::ALLOW_BUSY,
        category::TRANSACTION,
    )
    .keys(&[KeySpec::range(1, -1, 1, key_flag::RO)])
    .docs(
        "Lets EXEC do nothing if one of these keys changes before it.",
        "2.2.0",
        CommandGroup::Transactions,
        "O(1) a key",
    )
    .arguments(&[Argument::key("key", 0).multiple()]),
];
