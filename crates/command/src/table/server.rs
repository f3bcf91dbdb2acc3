//! Commands about the server.

use super::{Argument, CommandGroup, CommandId, KeySpec, Spec, category, flag, key_flag};

pub(super) const COMMANDS: &[Spec] = &[
    Spec::new(
        CommandId::Bgsave,
        "bgsave",
        -1,
        flag::ADMIN | flag::NOSCRIPT | flag::NO_ASYNC_LOADING,
        0,
    )
    .docs(
        "Begins a checkpoint.",
        "1.0.0",
        CommandGroup::Server,
        "O(1)",
    )
    .arguments(&[Argument::word("schedule", "SCHEDULE").optional()]),
    Spec::new(
        CommandId::Command,
        "command",
        -1,
        flag::LOADING | flag::STALE,
        category::CONNECTION,
    )
    .tips(&["nondeterministic_output_order"])
    .docs(
        "Describes every command.",
        "2.8.13",
        CommandGroup::Server,
        "O(N) for N commands",
    )
    .subcommands(&[
        Spec::new(
            CommandId::CommandCount,
            "command|count",
            2,
            flag::LOADING | flag::STALE,
            category::CONNECTION,
        )
        .docs(
            "Returns the number of commands.",
            "2.8.13",
            CommandGroup::Server,
            "O(1)",
        ),
        Spec::new(
            CommandId::CommandDocs,
            "command|docs",
            -2,
            flag::LOADING | flag::STALE,
            category::CONNECTION,
        )
        .tips(&["nondeterministic_output_order"])
        .docs(
            "Returns the manual of commands.",
            "7.0.0",
            CommandGroup::Server,
            "O(N) for N commands",
        )
        .arguments(&[Argument::string("command-name").optional().multiple()]),
        Spec::new(
            CommandId::CommandGetkeys,
            "command|getkeys",
            -4,
            flag::LOADING | flag::STALE,
            category::CONNECTION,
        )
        .docs(
            "Returns the keys in a request.",
            "2.8.13",
            CommandGroup::Server,
            "O(N) for N arguments",
        ),
        Spec::new(
            CommandId::CommandGetkeysandflags,
            "command|getkeysandflags",
            -4,
            flag::LOADING | flag::STALE,
            category::CONNECTION,
        )
        .docs(
            "Returns the keys in a request and what is done to them.",
            "7.0.0",
            CommandGroup::Server,
            "O(N) for N arguments",
        ),
        Spec::new(
            CommandId::CommandHelp,
            "command|help",
            2,
            flag::LOADING | flag::STALE,
            category::CONNECTION,
        )
        .docs(
            "Lists the subcommands of COMMAND.",
            "5.0.0",
            CommandGroup::Server,
            "O(1)",
        ),
        Spec::new(
            CommandId::CommandInfo,
            "command|info",
            -2,
            flag::LOADING | flag::STALE,
            category::CONNECTION,
        )
        .tips(&["nondeterministic_output_order"])
        .docs(
            "Describes the given commands, or every one.",
            "2.8.13",
            CommandGroup::Server,
            "O(N) for N commands",
        )
        .arguments(&[Argument::string("command-name").optional().multiple()]),
        Spec::new(
            CommandId::CommandList,
            "command|list",
            -2,
            flag::LOADING | flag::STALE,
            category::CONNECTION,
        )
        .tips(&["nondeterministic_output_order"])
        .docs(
            "Returns the names of commands.",
            "7.0.0",
            CommandGroup::Server,
            "O(N) for N commands",
        )
        .arguments(&[Argument::one_of(
            "filterby",
            &[
                Argument::string("module-name").token("MODULE"),
                Argument::string("category").token("ACLCAT"),
                Argument::pattern("pattern").token("PATTERN"),
            ],
        )
        .token("FILTERBY")
        .optional()]),
    ]),
    Spec::new(CommandId::Config, "config", -2, 0, 0)
        .docs(
            "Commands about the configuration.",
            "2.0.0",
            CommandGroup::Server,
            "Depends on the subcommand",
        )
        .subcommands(&[
            Spec::new(
                CommandId::ConfigGet,
                "config|get",
                -3,
                flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
                0,
            )
            .docs(
                "Returns the settings whose names match patterns.",
                "2.0.0",
                CommandGroup::Server,
                "O(N) for N settings",
            )
            .arguments(&[Argument::block(
                "parameter",
                &[Argument::string("parameter")],
            )
            .multiple()]),
            Spec::new(
                CommandId::ConfigHelp,
                "config|help",
                2,
                flag::LOADING | flag::STALE,
                0,
            )
            .docs(
                "Lists the subcommands of CONFIG.",
                "5.0.0",
                CommandGroup::Server,
                "O(1)",
            ),
            Spec::new(
                CommandId::ConfigResetstat,
                "config|resetstat",
                2,
                flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
                0,
            )
            .docs(
                "Sets the counters of INFO to zero.",
                "2.0.0",
                CommandGroup::Server,
                "O(1)",
            ),
            Spec::new(
                CommandId::ConfigRewrite,
                "config|rewrite",
                2,
                flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
                0,
            )
            .docs(
                "Writes the settings in force to the configuration file.",
                "2.8.0",
                CommandGroup::Server,
                "O(1)",
            ),
            Spec::new(
                CommandId::ConfigSet,
                "config|set",
                -4,
                flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
                0,
            )
            .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
            .docs(
                "Changes settings.",
                "2.0.0",
                CommandGroup::Server,
                "O(N) for N settings",
            )
            .arguments(&[Argument::block(
                "parameter_value",
                &[Argument::string("parameter"), Argument::string("value")],
            )
            .multiple()]),
        ]),
    Spec::new(
        CommandId::Dbsize,
        "dbsize",
        1,
        flag::READONLY | flag::FAST,
        category::KEYSPACE,
    )
    .tips(&["request_policy:all_shards", "response_policy:agg_sum"])
    .docs(
        "Returns the number of keys.",
        "1.0.0",
        CommandGroup::Server,
        "O(1)",
    ),
    Spec::new(
        CommandId::Flushall,
        "flushall",
        -1,
        flag::WRITE,
        category::KEYSPACE | category::DANGEROUS,
    )
    .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
    .docs(
        "Removes every key of every table that the user may write.",
        "1.0.0",
        CommandGroup::Server,
        "O(N) for N keys",
    )
    .arguments(&[Argument::one_of(
        "async",
        &[
            Argument::word("async", "ASYNC"),
            Argument::word("sync", "SYNC"),
        ],
    )
    .optional()]),
    Spec::new(
        CommandId::Flushdb,
        "flushdb",
        -1,
        flag::WRITE,
        category::KEYSPACE | category::DANGEROUS,
    )
    .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
    .docs(
        "Removes every key of the table.",
        "1.0.0",
        CommandGroup::Server,
        "O(N) for N keys",
    )
    .arguments(&[Argument::one_of(
        "async",
        &[
            Argument::word("async", "ASYNC"),
            Argument::word("sync", "SYNC"),
        ],
    )
    .optional()]),
    Spec::new(
        CommandId::Info,
        "info",
        -1,
        flag::LOADING | flag::STALE,
        category::DANGEROUS,
    )
    .tips(&[
        "nondeterministic_output",
        "request_policy:all_shards",
        "response_policy:special",
    ])
    .docs(
        "Returns facts and counters of the server.",
        "1.0.0",
        CommandGroup::Server,
        "O(1)",
    )
    .arguments(&[Argument::string("section").optional().multiple()]),
    Spec::new(
        CommandId::Lastsave,
        "lastsave",
        1,
        flag::LOADING | flag::STALE | flag::FAST,
        category::ADMIN | category::DANGEROUS,
    )
    .tips(&["nondeterministic_output"])
    .docs(
        "Returns the time of the last checkpoint.",
        "1.0.0",
        CommandGroup::Server,
        "O(1)",
    ),
    Spec::new(CommandId::Latency, "latency", -2, 0, 0)
        .docs(
            "Commands about how long commands take.",
            "2.8.13",
            CommandGroup::Server,
            "Depends on the subcommand",
        )
        .subcommands(&[
            Spec::new(
                CommandId::LatencyHelp,
                "latency|help",
                2,
                flag::LOADING | flag::STALE,
                0,
            )
            .docs(
                "Lists the subcommands of LATENCY.",
                "2.8.13",
                CommandGroup::Server,
                "O(1)",
            ),
            Spec::new(
                CommandId::LatencyHistogram,
                "latency|histogram",
                -2,
                flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
                0,
            )
            .tips(&[
                "nondeterministic_output",
                "request_policy:all_nodes",
                "response_policy:special",
            ])
            .docs(
                "Returns how long commands took, as histograms.",
                "7.0.0",
                CommandGroup::Server,
                "O(N) for N commands",
            )
            .arguments(&[Argument::string("command").optional().multiple()]),
            Spec::new(
                CommandId::LatencyLatest,
                "latency|latest",
                2,
                flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
                0,
            )
            .tips(&[
                "nondeterministic_output",
                "request_policy:all_nodes",
                "response_policy:special",
            ])
            .docs(
                "Returns the latest spikes.",
                "2.8.13",
                CommandGroup::Server,
                "O(1)",
            ),
            Spec::new(
                CommandId::LatencyReset,
                "latency|reset",
                -2,
                flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
                0,
            )
            .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
            .docs(
                "Forgets the recorded spikes.",
                "2.8.13",
                CommandGroup::Server,
                "O(1)",
            )
            .arguments(&[Argument::string("event").optional().multiple()]),
        ]),
    Spec::new(CommandId::Memory, "memory", -2, 0, 0)
        .docs(
            "Commands about memory.",
            "4.0.0",
            CommandGroup::Server,
            "Depends on the subcommand",
        )
        .subcommands(&[
            Spec::new(
                CommandId::MemoryHelp,
                "memory|help",
                2,
                flag::LOADING | flag::STALE,
                0,
            )
            .docs(
                "Lists the subcommands of MEMORY.",
                "4.0.0",
                CommandGroup::Server,
                "O(1)",
            ),
            Spec::new(
                CommandId::MemoryUsage,
                "memory|usage",
                -3,
                flag::READONLY,
                0,
            )
            .keys(&[KeySpec::one(2, key_flag::RO)])
            .docs(
                "Returns the bytes of memory that a key takes.",
                "4.0.0",
                CommandGroup::Server,
                "O(N)",
            )
            .arguments(&[
                Argument::key("key", 0),
                Argument::integer("count").token("SAMPLES").optional(),
            ]),
        ]),
    Spec::new(
        CommandId::Save,
        "save",
        1,
        flag::ADMIN | flag::NOSCRIPT | flag::NO_ASYNC_LOADING | flag::NO_MULTI,
        0,
    )
    .docs("Makes a checkpoint.", "1.0.0", CommandGroup::Server, "O(1)"),
    Spec::new(
        CommandId::Shutdown,
        "shutdown",
        -1,
        flag::ADMIN
            | flag::NOSCRIPT
            | flag::LOADING
            | flag::STALE
            | flag::NO_MULTI
            | flag::ALLOW_BUSY,
        0,
    )
    .docs("Stops the server.", "1.0.0", CommandGroup::Server, "O(1)")
    .arguments(&[
        Argument::one_of(
            "nosave_save",
            &[
                Argument::word("nosave", "NOSAVE"),
                Argument::word("save", "SAVE"),
            ],
        )
        .optional(),
        Argument::word("now", "NOW").optional(),
        Argument::word("force", "FORCE").optional(),
        Argument::word("abort", "ABORT").optional(),
    ]),
    Spec::new(CommandId::Slowlog, "slowlog", -2, 0, 0)
        .docs(
            "Commands about requests that took long.",
            "2.2.12",
            CommandGroup::Server,
            "Depends on the subcommand",
        )
        .subcommands(&[
            Spec::new(
                CommandId::SlowlogGet,
                "slowlog|get",
                -2,
                flag::ADMIN | flag::LOADING | flag::STALE,
                0,
            )
            .tips(&["request_policy:all_nodes", "nondeterministic_output"])
            .docs(
                "Returns the latest slow requests.",
                "2.2.12",
                CommandGroup::Server,
                "O(N) for N entries",
            )
            .arguments(&[Argument::integer("count").optional()]),
            Spec::new(
                CommandId::SlowlogHelp,
                "slowlog|help",
                2,
                flag::LOADING | flag::STALE,
                0,
            )
            .docs(
                "Lists the subcommands of SLOWLOG.",
                "6.2.0",
                CommandGroup::Server,
                "O(1)",
            ),
            Spec::new(
                CommandId::SlowlogLen,
                "slowlog|len",
                2,
                flag::ADMIN | flag::LOADING | flag::STALE,
                0,
            )
            .tips(&[
                "request_policy:all_nodes",
                "response_policy:agg_sum",
                "nondeterministic_output",
            ])
            .docs(
                "Returns the number of slow requests that are kept.",
                "2.2.12",
                CommandGroup::Server,
                "O(1)",
            ),
            Spec::new(
                CommandId::SlowlogReset,
                "slowlog|reset",
                2,
                flag::ADMIN | flag::LOADING | flag::STALE,
                0,
            )
            .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
            .docs(
                "Forgets the slow requests.",
                "2.2.12",
                CommandGroup::Server,
                "O(N) for N entries",
            ),
        ]),
    Spec::new(
        CommandId::Time,
        "time",
        1,
        flag::LOADING | flag::STALE | flag::FAST,
        0,
    )
    .tips(&["nondeterministic_output"])
    .docs(
        "Returns the server's time.",
        "2.6.0",
        CommandGroup::Server,
        "O(1)",
    ),
];
