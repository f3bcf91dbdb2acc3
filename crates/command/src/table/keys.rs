//! Commands on keys, whatever their values.

use super::docs::EXPIRY_CONDITION;
use super::{Argument, CommandGroup, CommandId, KeySpec, Spec, category, flag, key_flag};

/// A command of this family.
const fn command(id: CommandId, name: &'static str, arity: i8, flags: u32) -> Spec {
    Spec::new(id, name, arity, flags).of(CommandGroup::Generic, category::KEYSPACE)
}

pub(super) const COMMANDS: &[Spec] = &[
    command(CommandId::Copy, "copy", -3, flag::WRITE | flag::DENYOOM)
        .keys(&[
            KeySpec::one(1, key_flag::RO | key_flag::ACCESS),
            KeySpec::one(2, key_flag::OW | key_flag::UPDATE),
        ])
        .docs("Copies a key to another.", "6.2.0", "O(N) for N bytes")
        .arguments(&[
            Argument::key("source", 0),
            Argument::key("destination", 1),
            Argument::integer("destination-db").token("DB").optional(),
            Argument::word("replace", "REPLACE").optional(),
        ]),
    command(CommandId::Del, "del", -2, flag::WRITE)
        .keys(&[KeySpec::range(1, -1, 1, key_flag::RM | key_flag::DELETE)])
        .tips(&["request_policy:multi_shard", "response_policy:agg_sum"])
        .docs("Removes keys.", "1.0.0", "O(N) for N keys")
        .arguments(&[Argument::key("key", 0).multiple()]),
    command(CommandId::Dump, "dump", 2, flag::READONLY)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .tips(&["nondeterministic_output"])
        .docs(
            "Returns the value of a key in a form that RESTORE takes.",
            "2.6.0",
            "O(N) for N bytes",
        )
        .arguments(&[Argument::key("key", 0)]),
    command(CommandId::Exists, "exists", -2, flag::READONLY | flag::FAST)
        .keys(&[KeySpec::range(1, -1, 1, key_flag::RO)])
        .tips(&["request_policy:multi_shard", "response_policy:agg_sum"])
        .docs(
            "Counts the given keys that exist.",
            "1.0.0",
            "O(N) for N keys",
        )
        .arguments(&[Argument::key("key", 0).multiple()]),
    command(CommandId::Expire, "expire", -3, flag::WRITE | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RW | key_flag::UPDATE)])
        .docs("Lets a key expire after some seconds.", "1.0.0", "O(1)")
        .arguments(&[
            Argument::key("key", 0),
            Argument::integer("seconds"),
            EXPIRY_CONDITION,
        ]),
    command(
        CommandId::Expireat,
        "expireat",
        -3,
        flag::WRITE | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RW | key_flag::UPDATE)])
    .docs(
        "Lets a key expire at a Unix time in seconds.",
        "1.2.0",
        "O(1)",
    )
    .arguments(&[
        Argument::key("key", 0),
        Argument::unix_time("unix-time-seconds"),
        EXPIRY_CONDITION,
    ]),
    command(
        CommandId::Expiretime,
        "expiretime",
        2,
        flag::READONLY | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
    .docs(
        "Returns the Unix time in seconds at which a key expires.",
        "7.0.0",
        "O(1)",
    )
    .arguments(&[Argument::key("key", 0)]),
    command(CommandId::Keys, "keys", 2, flag::READONLY)
        .categories(category::DANGEROUS)
        .tips(&["request_policy:all_shards", "nondeterministic_output_order"])
        .docs(
            "Returns every key that matches a pattern.",
            "1.0.0",
            "O(N) for N keys in the table",
        )
        .arguments(&[Argument::pattern("pattern")]),
    command(CommandId::Move, "move", 3, flag::WRITE | flag::FAST)
        .keys(&[KeySpec::one(
            1,
            key_flag::RW | key_flag::ACCESS | key_flag::UPDATE,
        )])
        .docs("Moves a key to another database.", "1.0.0", "O(1)")
        .arguments(&[Argument::key("key", 0), Argument::integer("db")]),
    Spec::new(CommandId::Object, "object", -2, 0)
        .of(CommandGroup::Generic, 0)
        .docs(
            "Shows how a value is kept.",
            "2.2.3",
            "Depends on the subcommand",
        )
        .subcommands(&[
            command(
                CommandId::ObjectEncoding,
                "object|encoding",
                3,
                flag::READONLY,
            )
            .keys(&[KeySpec::one(2, key_flag::RO)])
            .tips(&["nondeterministic_output"])
            .docs(
                "Returns the name of the form in which a value is kept.",
                "2.2.3",
                "O(1)",
            )
            .arguments(&[Argument::key("key", 0)]),
            command(CommandId::ObjectFreq, "object|freq", 3, flag::READONLY)
                .keys(&[KeySpec::one(2, key_flag::RO)])
                .tips(&["nondeterministic_output"])
                .docs(
                    "Returns how often a key is used, where that is counted.",
                    "4.0.0",
                    "O(1)",
                )
                .arguments(&[Argument::key("key", 0)]),
            command(
                CommandId::ObjectHelp,
                "object|help",
                2,
                flag::LOADING | flag::STALE,
            )
            .docs("Lists the subcommands of OBJECT.", "6.2.0", "O(1)"),
            command(
                CommandId::ObjectIdletime,
                "object|idletime",
                3,
                flag::READONLY,
            )
            .keys(&[KeySpec::one(2, key_flag::RO)])
            .tips(&["nondeterministic_output"])
            .docs(
                "Returns how long ago a key was last used, in seconds.",
                "2.2.3",
                "O(1)",
            )
            .arguments(&[Argument::key("key", 0)]),
            command(
                CommandId::ObjectRefcount,
                "object|refcount",
                3,
                flag::READONLY,
            )
            .keys(&[KeySpec::one(2, key_flag::RO)])
            .tips(&["nondeterministic_output"])
            .docs("Returns how many references a value has.", "2.2.3", "O(1)")
            .arguments(&[Argument::key("key", 0)]),
        ]),
    command(CommandId::Persist, "persist", 2, flag::WRITE | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RW | key_flag::UPDATE)])
        .docs("Takes the expiry off a key.", "2.2.0", "O(1)")
        .arguments(&[Argument::key("key", 0)]),
    command(CommandId::Pexpire, "pexpire", -3, flag::WRITE | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RW | key_flag::UPDATE)])
        .docs(
            "Lets a key expire after some milliseconds.",
            "2.6.0",
            "O(1)",
        )
        .arguments(&[
            Argument::key("key", 0),
            Argument::integer("milliseconds"),
            EXPIRY_CONDITION,
        ]),
    command(
        CommandId::Pexpireat,
        "pexpireat",
        -3,
        flag::WRITE | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RW | key_flag::UPDATE)])
    .docs(
        "Lets a key expire at a Unix time in milliseconds.",
        "2.6.0",
        "O(1)",
    )
    .arguments(&[
        Argument::key("key", 0),
        Argument::unix_time("unix-time-milliseconds"),
        EXPIRY_CONDITION,
    ]),
    command(
        CommandId::Pexpiretime,
        "pexpiretime",
        2,
        flag::READONLY | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
    .docs(
        "Returns the Unix time in milliseconds at which a key expires.",
        "7.0.0",
        "O(1)",
    )
    .arguments(&[Argument::key("key", 0)]),
    command(CommandId::Pttl, "pttl", 2, flag::READONLY | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .tips(&["nondeterministic_output"])
        .docs(
            "Returns the milliseconds after which a key expires.",
            "2.6.0",
            "O(1)",
        )
        .arguments(&[Argument::key("key", 0)]),
    command(CommandId::Randomkey, "randomkey", 1, flag::READONLY)
        .tips(&["request_policy:all_shards", "nondeterministic_output"])
        .docs("Returns any one key.", "1.0.0", "O(1)"),
    command(CommandId::Rename, "rename", 3, flag::WRITE)
        .keys(&[
            KeySpec::one(1, key_flag::RW | key_flag::ACCESS | key_flag::DELETE),
            KeySpec::one(2, key_flag::OW | key_flag::UPDATE),
        ])
        .docs(
            "Gives a key another name, over any key that has it.",
            "1.0.0",
            "O(1)",
        )
        .arguments(&[Argument::key("key", 0), Argument::key("newkey", 1)]),
    command(CommandId::Renamenx, "renamenx", 3, flag::WRITE | flag::FAST)
        .keys(&[
            KeySpec::one(1, key_flag::RW | key_flag::ACCESS | key_flag::DELETE),
            KeySpec::one(2, key_flag::OW | key_flag::INSERT),
        ])
        .docs("Gives a key another name if that is free.", "1.0.0", "O(1)")
        .arguments(&[Argument::key("key", 0), Argument::key("newkey", 1)]),
    command(CommandId::Scan, "scan", -2, flag::READONLY)
        .tips(&["nondeterministic_output", "request_policy:special"])
        .docs(
            "Walks the keys step by step.",
            "2.8.0",
            "O(1) a call, O(N) for all N keys",
        )
        .arguments(&[
            Argument::integer("cursor"),
            Argument::pattern("pattern").token("MATCH").optional(),
            Argument::integer("count").token("COUNT").optional(),
            Argument::string("type").token("TYPE").optional(),
        ]),
    command(
        CommandId::Restore,
        "restore",
        -4,
        flag::WRITE | flag::DENYOOM,
    )
    .keys(&[KeySpec::one(1, key_flag::OW | key_flag::UPDATE)])
    .categories(category::DANGEROUS)
    .docs(
        "Makes a key of what DUMP has returned.",
        "2.6.0",
        "O(N) for N bytes",
    )
    .arguments(&[
        Argument::key("key", 0),
        Argument::integer("ttl"),
        Argument::string("serialized-value"),
        Argument::word("replace", "REPLACE").optional(),
        Argument::word("absttl", "ABSTTL").optional(),
        Argument::integer("seconds").token("IDLETIME").optional(),
        Argument::integer("frequency").token("FREQ").optional(),
    ]),
    command(CommandId::Touch, "touch", -2, flag::READONLY | flag::FAST)
        .keys(&[KeySpec::range(1, -1, 1, key_flag::RO)])
        .tips(&["request_policy:multi_shard", "response_policy:agg_sum"])
        .docs(
            "Counts the given keys that exist and marks them as used.",
            "3.2.1",
            "O(N) for N keys",
        )
        .arguments(&[Argument::key("key", 0).multiple()]),
    command(CommandId::Ttl, "ttl", 2, flag::READONLY | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .tips(&["nondeterministic_output"])
        .docs(
            "Returns the seconds after which a key expires.",
            "1.0.0",
            "O(1)",
        )
        .arguments(&[Argument::key("key", 0)]),
    command(CommandId::Type, "type", 2, flag::READONLY | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RO)])
        .docs("Returns the type of a value.", "1.0.0", "O(1)")
        .arguments(&[Argument::key("key", 0)]),
    command(CommandId::Unlink, "unlink", -2, flag::WRITE | flag::FAST)
        .keys(&[KeySpec::range(1, -1, 1, key_flag::RM | key_flag::DELETE)])
        .tips(&["request_policy:multi_shard", "response_policy:agg_sum"])
        .docs("Removes keys.", "4.0.0", "O(N) for N keys")
        .arguments(&[Argument::key("key", 0).multiple()]),
    Spec::new(CommandId::Wait, "wait", 3, flag::NOSCRIPT)
        .of(CommandGroup::Generic, category::CONNECTION)
        .tips(&["request_policy:all_shards", "response_policy:agg_min"])
        .docs(
            "Waits until replicas have the writes of this connection.",
            "3.0.0",
            "O(1)",
        )
        .arguments(&[
            Argument::integer("numreplicas"),
            Argument::integer("timeout"),
        ]),
    command(
        CommandId::Watchkeys,
        "watchkeys",
        -4,
        flag::READONLY | flag::NOSCRIPT | flag::NO_MULTI,
    )
    .tips(&["nondeterministic_output", "request_policy:special"])
    .docs(
        "Returns committed changes of keys behind a position, and the position to go on from; waits for one.",
        "0.1.0",
        "O(N) for N changes that are kept behind the position",
    )
    .arguments(&[
        Argument::one_of(
            "watched",
            &[
                Argument::word("all", "ALL"),
                Argument::string("prefix").token("PREFIX"),
                Argument::string("key").token("KEY"),
            ],
        ),
        Argument::one_of(
            "from",
            &[
                Argument::word("now", "NOW"),
                Argument::string("position"),
            ],
        )
        .token("FROM"),
        Argument::integer("count").token("COUNT").optional(),
        Argument::integer("milliseconds").token("BLOCK").optional(),
    ]),
];
