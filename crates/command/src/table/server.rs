//! Commands about the server.

use super::{Argument, CommandGroup, CommandId, KeySpec, Spec, category, flag, key_flag};

/// For administrators, whatever the state of the server.
const ADMIN: u32 = flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE;

/// May be sent whatever the state of the server.
const ANY_TIME: u32 = flag::LOADING | flag::STALE;

/// Each node answers for itself, and clients show all answers.
const OF_ALL_NODES: &[&str] = &[
    "nondeterministic_output",
    "request_policy:all_nodes",
    "response_policy:special",
];

/// The same of nodes that are masters.
const OF_ALL_SHARDS: &[&str] = &[
    "nondeterministic_output",
    "request_policy:all_shards",
    "response_policy:special",
];

/// A command of this family.
const fn command(id: CommandId, name: &'static str, arity: i8, flags: u32) -> Spec {
    Spec::new(id, name, arity, flags).of(CommandGroup::Server, 0)
}

pub(super) const COMMANDS: &[Spec] = &[
    command(
        CommandId::Bgsave,
        "bgsave",
        -1,
        flag::ADMIN | flag::NOSCRIPT | flag::NO_ASYNC_LOADING,
    )
    .docs("Begins a checkpoint.", "1.0.0", "O(1)")
    .arguments(&[Argument::word("schedule", "SCHEDULE").optional()]),
    command(CommandId::Command, "command", -1, ANY_TIME)
        .categories(category::CONNECTION)
        .tips(&["nondeterministic_output_order"])
        .docs("Describes every command.", "2.8.13", "O(N) for N commands")
        .subcommands(&[
            command(CommandId::CommandCount, "command|count", 2, ANY_TIME)
                .categories(category::CONNECTION)
                .docs("Returns the number of commands.", "2.8.13", "O(1)"),
            command(CommandId::CommandDocs, "command|docs", -2, ANY_TIME)
                .categories(category::CONNECTION)
                .tips(&["nondeterministic_output_order"])
                .docs(
                    "Returns the manual of commands.",
                    "7.0.0",
                    "O(N) for N commands",
                )
                .arguments(&[Argument::string("command-name").optional().multiple()]),
            command(CommandId::CommandGetkeys, "command|getkeys", -4, ANY_TIME)
                .categories(category::CONNECTION)
                .docs(
                    "Returns the keys in a request.",
                    "2.8.13",
                    "O(N) for N arguments",
                ),
            command(
                CommandId::CommandGetkeysandflags,
                "command|getkeysandflags",
                -4,
                ANY_TIME,
            )
            .categories(category::CONNECTION)
            .docs(
                "Returns the keys in a request and what is done to them.",
                "7.0.0",
                "O(N) for N arguments",
            ),
            command(CommandId::CommandHelp, "command|help", 2, ANY_TIME)
                .categories(category::CONNECTION)
                .docs("Lists the subcommands of COMMAND.", "5.0.0", "O(1)"),
            command(CommandId::CommandInfo, "command|info", -2, ANY_TIME)
                .categories(category::CONNECTION)
                .tips(&["nondeterministic_output_order"])
                .docs(
                    "Describes the given commands, or every one.",
                    "2.8.13",
                    "O(N) for N commands",
                )
                .arguments(&[Argument::string("command-name").optional().multiple()]),
            command(CommandId::CommandList, "command|list", -2, ANY_TIME)
                .categories(category::CONNECTION)
                .tips(&["nondeterministic_output_order"])
                .docs(
                    "Returns the names of commands.",
                    "7.0.0",
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
    command(CommandId::Config, "config", -2, 0)
        .docs(
            "Commands about the configuration.",
            "2.0.0",
            "Depends on the subcommand",
        )
        .subcommands(&[
            command(CommandId::ConfigGet, "config|get", -3, ADMIN)
                .docs(
                    "Returns the settings whose names match patterns.",
                    "2.0.0",
                    "O(N) for N settings",
                )
                .arguments(&[
                    Argument::block("parameter", &[Argument::string("parameter")]).multiple(),
                ]),
            command(CommandId::ConfigHelp, "config|help", 2, ANY_TIME).docs(
                "Lists the subcommands of CONFIG.",
                "5.0.0",
                "O(1)",
            ),
            command(CommandId::ConfigResetstat, "config|resetstat", 2, ADMIN).docs(
                "Sets the counters of INFO to zero.",
                "2.0.0",
                "O(1)",
            ),
            command(CommandId::ConfigRewrite, "config|rewrite", 2, ADMIN).docs(
                "Writes the settings in force to the configuration file.",
                "2.8.0",
                "O(1)",
            ),
            command(CommandId::ConfigSet, "config|set", -4, ADMIN)
                .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
                .docs("Changes settings.", "2.0.0", "O(N) for N settings")
                .arguments(&[Argument::block(
                    "parameter_value",
                    &[Argument::string("parameter"), Argument::string("value")],
                )
                .multiple()]),
        ]),
    command(CommandId::Dbsize, "dbsize", 1, flag::READONLY | flag::FAST)
        .categories(category::KEYSPACE)
        .tips(&["request_policy:all_shards", "response_policy:agg_sum"])
        .docs("Returns the number of keys.", "1.0.0", "O(1)"),
    command(CommandId::Flushall, "flushall", -1, flag::WRITE)
        .categories(category::KEYSPACE | category::DANGEROUS)
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .docs(
            "Removes every key of every table that the user may write.",
            "1.0.0",
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
    command(CommandId::Flushdb, "flushdb", -1, flag::WRITE)
        .categories(category::KEYSPACE | category::DANGEROUS)
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .docs(
            "Removes every key of the table.",
            "1.0.0",
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
    command(CommandId::Info, "info", -1, ANY_TIME)
        .categories(category::DANGEROUS)
        .tips(&[
            "nondeterministic_output",
            "request_policy:all_shards",
            "response_policy:special",
        ])
        .docs("Returns facts and counters of the server.", "1.0.0", "O(1)")
        .arguments(&[Argument::string("section").optional().multiple()]),
    command(
        CommandId::Lastsave,
        "lastsave",
        1,
        flag::LOADING | flag::STALE | flag::FAST,
    )
    .categories(category::ADMIN | category::DANGEROUS)
    .tips(&["nondeterministic_output"])
    .docs("Returns the time of the last checkpoint.", "1.0.0", "O(1)"),
    command(CommandId::Latency, "latency", -2, 0)
        .docs(
            "Commands about how long commands take.",
            "2.8.13",
            "Depends on the subcommand",
        )
        .subcommands(&[
            command(CommandId::LatencyDoctor, "latency|doctor", 2, ADMIN)
                .tips(OF_ALL_NODES)
                .docs(
                    "Says where to look for how long commands took.",
                    "2.8.13",
                    "O(1)",
                ),
            command(CommandId::LatencyGraph, "latency|graph", 3, ADMIN)
                .tips(OF_ALL_NODES)
                .docs("Draws the spikes of an event.", "2.8.13", "O(1)")
                .arguments(&[Argument::string("event")]),
            command(CommandId::LatencyHelp, "latency|help", 2, ANY_TIME).docs(
                "Lists the subcommands of LATENCY.",
                "2.8.13",
                "O(1)",
            ),
            command(CommandId::LatencyHistogram, "latency|histogram", -2, ADMIN)
                .tips(OF_ALL_NODES)
                .docs(
                    "Returns how long commands took, as histograms.",
                    "7.0.0",
                    "O(N) for N commands",
                )
                .arguments(&[Argument::string("command").optional().multiple()]),
            command(CommandId::LatencyHistory, "latency|history", 3, ADMIN)
                .tips(OF_ALL_NODES)
                .docs("Returns the spikes of an event.", "2.8.13", "O(1)")
                .arguments(&[Argument::string("event")]),
            command(CommandId::LatencyLatest, "latency|latest", 2, ADMIN)
                .tips(OF_ALL_NODES)
                .docs("Returns the latest spikes.", "2.8.13", "O(1)"),
            command(CommandId::LatencyReset, "latency|reset", -2, ADMIN)
                .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
                .docs("Forgets the recorded spikes.", "2.8.13", "O(1)")
                .arguments(&[Argument::string("event").optional().multiple()]),
        ]),
    command(CommandId::Memory, "memory", -2, 0)
        .docs(
            "Commands about memory.",
            "4.0.0",
            "Depends on the subcommand",
        )
        .subcommands(&[
            command(CommandId::MemoryDoctor, "memory|doctor", 2, 0)
                .tips(OF_ALL_SHARDS)
                .docs(
                    "Says whether memory is short, and of whom.",
                    "4.0.0",
                    "O(1)",
                ),
            command(CommandId::MemoryHelp, "memory|help", 2, ANY_TIME).docs(
                "Lists the subcommands of MEMORY.",
                "4.0.0",
                "O(1)",
            ),
            command(CommandId::MemoryMallocStats, "memory|malloc-stats", 2, 0)
                .tips(OF_ALL_SHARDS)
                .docs(
                    "Returns figures of the allocator, which has none here.",
                    "4.0.0",
                    "O(1)",
                ),
            command(CommandId::MemoryPurge, "memory|purge", 2, 0)
                .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
                .docs(
                    "Does nothing: unused memory is given back by itself.",
                    "4.0.0",
                    "O(1)",
                ),
            command(CommandId::MemoryStats, "memory|stats", 2, 0)
                .tips(OF_ALL_SHARDS)
                .docs("Returns who takes how much memory.", "4.0.0", "O(1)"),
            command(CommandId::MemoryUsage, "memory|usage", -3, flag::READONLY)
                .keys(&[KeySpec::one(2, key_flag::RO)])
                .docs(
                    "Returns the bytes of memory that a key takes.",
                    "4.0.0",
                    "O(N)",
                )
                .arguments(&[
                    Argument::key("key", 0),
                    Argument::integer("count").token("SAMPLES").optional(),
                ]),
        ]),
    command(CommandId::Monitor, "monitor", 1, ADMIN).docs(
        "Shows this connection what all clients of the node ask for.",
        "1.0.0",
        "O(1)",
    ),
    command(
        CommandId::Role,
        "role",
        1,
        flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::FAST,
    )
    .categories(category::ADMIN | category::DANGEROUS)
    .docs("Says that this is a master.", "2.8.12", "O(1)"),
    command(
        CommandId::Save,
        "save",
        1,
        flag::ADMIN | flag::NOSCRIPT | flag::NO_ASYNC_LOADING | flag::NO_MULTI,
    )
    .docs("Makes a checkpoint.", "1.0.0", "O(1)"),
    command(
        CommandId::Shutdown,
        "shutdown",
        -1,
        flag::ADMIN
            | flag::NOSCRIPT
            | flag::LOADING
            | flag::STALE
            | flag::NO_MULTI
            | flag::ALLOW_BUSY,
    )
    .docs("Stops the server.", "1.0.0", "O(1)")
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
    command(CommandId::Slowlog, "slowlog", -2, 0)
        .docs(
            "Commands about requests that took long.",
            "2.2.12",
            "Depends on the subcommand",
        )
        .subcommands(&[
            command(
                CommandId::SlowlogGet,
                "slowlog|get",
                -2,
                flag::ADMIN | flag::LOADING | flag::STALE,
            )
            .tips(&["request_policy:all_nodes", "nondeterministic_output"])
            .docs(
                "Returns the latest slow requests.",
                "2.2.12",
                "O(N) for N entries",
            )
            .arguments(&[Argument::integer("count").optional()]),
            command(CommandId::SlowlogHelp, "slowlog|help", 2, ANY_TIME).docs(
                "Lists the subcommands of SLOWLOG.",
                "6.2.0",
                "O(1)",
            ),
            command(
                CommandId::SlowlogLen,
                "slowlog|len",
                2,
                flag::ADMIN | flag::LOADING | flag::STALE,
            )
            .tips(&[
                "request_policy:all_nodes",
                "response_policy:agg_sum",
                "nondeterministic_output",
            ])
            .docs(
                "Returns the number of slow requests that are kept.",
                "2.2.12",
                "O(1)",
            ),
            command(
                CommandId::SlowlogReset,
                "slowlog|reset",
                2,
                flag::ADMIN | flag::LOADING | flag::STALE,
            )
            .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
            .docs("Forgets the slow requests.", "2.2.12", "O(N) for N entries"),
        ]),
    command(
        CommandId::Time,
        "time",
        1,
        flag::LOADING | flag::STALE | flag::FAST,
    )
    .tips(&["nondeterministic_output"])
    .docs("Returns the server's time.", "2.6.0", "O(1)"),
];
