//! Commands about the cluster, and those that only cluster clients send.

use super::{Argument, CommandGroup, CommandId, Spec, category, flag};

/// Changes the cluster.
const ADMIN: u32 = flag::ADMIN | flag::STALE | flag::NO_ASYNC_LOADING;

/// A command of this family.
const fn command(id: CommandId, name: &'static str, arity: i8, flags: u32) -> Spec {
    Spec::new(id, name, arity, flags).of(CommandGroup::Cluster, 0)
}

pub(super) const COMMANDS: &[Spec] = &[
    command(CommandId::Asking, "asking", 1, flag::FAST)
        .categories(category::CONNECTION)
        .docs(
            "Lets the next command through although its slot is being moved.",
            "3.0.0",
            "O(1)",
        ),
    command(CommandId::Cluster, "cluster", -2, 0)
        .docs(
            "Commands about the cluster.",
            "3.0.0",
            "Depends on the subcommand",
        )
        .subcommands(&[
            command(
                CommandId::ClusterCountkeysinslot,
                "cluster|countkeysinslot",
                3,
                flag::STALE,
            )
            .docs("Returns the number of keys in a slot.", "3.0.0", "O(1)")
            .arguments(&[Argument::integer("slot")]),
            command(
                CommandId::ClusterGetkeysinslot,
                "cluster|getkeysinslot",
                4,
                flag::STALE,
            )
            .tips(&["nondeterministic_output"])
            .docs("Returns keys of a slot.", "3.0.0", "O(N) for N keys")
            .arguments(&[Argument::integer("slot"), Argument::integer("count")]),
            command(
                CommandId::ClusterHelp,
                "cluster|help",
                2,
                flag::LOADING | flag::STALE,
            )
            .docs("Lists the subcommands of CLUSTER.", "5.0.0", "O(1)"),
            command(CommandId::ClusterInfo, "cluster|info", 2, flag::STALE)
                .tips(&["nondeterministic_output"])
                .docs("Returns the cluster's state.", "3.0.0", "O(1)"),
            command(CommandId::ClusterKeyslot, "cluster|keyslot", 3, flag::STALE)
                .docs(
                    "Returns the slot of a key.",
                    "3.0.0",
                    "O(N) for N bytes of key",
                )
                .arguments(&[Argument::string("key")]),
            command(CommandId::ClusterLinks, "cluster|links", 2, flag::STALE)
                .tips(&["nondeterministic_output"])
                .docs(
                    "Describes the connections between nodes.",
                    "7.0.0",
                    "O(N) for N nodes",
                ),
            command(CommandId::ClusterLookup, "cluster|lookup", -2, flag::STALE)
                .tips(&["nondeterministic_output"])
                .docs(
                    "Returns the partition that has a routing hash, or one that is nearer, as the partitions of this port know it; \
                     or where a lookup may begin.",
                    "7.2.0",
                    "O(log N) for N partitions; O(N) without a hash",
                )
                .arguments(&[
                    Argument::string("hash").optional(),
                    Argument::one_of(
                        "graph",
                        &[
                            Argument::word("chord", "CHORD"),
                            Argument::word("debruijn", "DEBRUIJN"),
                        ],
                    )
                    .token("GRAPH")
                    .optional(),
                    Argument::string("partition").token("BY").optional(),
                    Argument::integer("hops").token("HOPS").optional(),
                ]),
            command(CommandId::ClusterMyid, "cluster|myid", 2, flag::STALE).docs(
                "Returns the id of this node.",
                "3.0.0",
                "O(1)",
            ),
            command(
                CommandId::ClusterMyshardid,
                "cluster|myshardid",
                2,
                flag::STALE,
            )
            .tips(&["nondeterministic_output"])
            .docs("Returns the id of this node's shard.", "7.2.0", "O(1)"),
            command(CommandId::ClusterNodes, "cluster|nodes", 2, flag::STALE)
                .tips(&["nondeterministic_output"])
                .docs(
                    "Describes the nodes, one a line.",
                    "3.0.0",
                    "O(N) for N nodes",
                ),
            command(
                CommandId::ClusterReplicas,
                "cluster|replicas",
                3,
                flag::ADMIN | flag::STALE,
            )
            .tips(&["nondeterministic_output"])
            .docs(
                "Describes a node's replicas.",
                "5.0.0",
                "O(N) for N replicas",
            )
            .arguments(&[Argument::string("node-id")]),
            command(CommandId::ClusterShards, "cluster|shards", 2, flag::STALE)
                .tips(&["nondeterministic_output"])
                .docs(
                    "Describes which nodes hold which slots, by replica group.",
                    "7.0.0",
                    "O(N) for N nodes",
                ),
            command(CommandId::ClusterSlots, "cluster|slots", 2, flag::STALE)
                .tips(&["nondeterministic_output"])
                .docs(
                    "Describes which nodes hold which slots, by slot range.",
                    "3.0.0",
                    "O(N) for N nodes",
                )
                .deprecated("7.0.0", "`CLUSTER SHARDS`"),
            command(CommandId::ClusterWatch, "cluster|watch", 3, flag::STALE)
                .docs(
                    "Tells this connection of every change of the map, by push, or not any more.",
                    "7.2.0",
                    "O(1)",
                )
                .arguments(&[Argument::string("on-off")]),
            command(CommandId::ClusterAdmin, "cluster|addslots", -3, ADMIN).hidden(),
            command(CommandId::ClusterAdmin, "cluster|addslotsrange", -4, ADMIN).hidden(),
            command(CommandId::ClusterAdmin, "cluster|bumpepoch", 2, ADMIN).hidden(),
            command(
                CommandId::ClusterAdmin,
                "cluster|count-failure-reports",
                3,
                flag::ADMIN | flag::STALE,
            )
            .hidden(),
            command(CommandId::ClusterAdmin, "cluster|delslots", -3, ADMIN).hidden(),
            command(CommandId::ClusterAdmin, "cluster|delslotsrange", -4, ADMIN).hidden(),
            command(CommandId::ClusterAdmin, "cluster|failover", -2, ADMIN).hidden(),
            command(CommandId::ClusterAdmin, "cluster|flushslots", 2, ADMIN).hidden(),
            command(CommandId::ClusterAdmin, "cluster|forget", 3, ADMIN).hidden(),
            command(CommandId::ClusterAdmin, "cluster|meet", -4, ADMIN).hidden(),
            command(CommandId::ClusterAdmin, "cluster|replicate", 3, ADMIN).hidden(),
            command(
                CommandId::ClusterAdmin,
                "cluster|reset",
                -2,
                flag::ADMIN | flag::NOSCRIPT | flag::STALE,
            )
            .hidden(),
            command(CommandId::ClusterAdmin, "cluster|saveconfig", 2, ADMIN).hidden(),
            command(
                CommandId::ClusterAdmin,
                "cluster|set-config-epoch",
                3,
                ADMIN,
            )
            .hidden(),
            command(CommandId::ClusterAdmin, "cluster|setslot", -4, ADMIN).hidden(),
        ]),
    command(
        CommandId::Readonly,
        "readonly",
        1,
        flag::LOADING | flag::STALE | flag::FAST,
    )
    .categories(category::CONNECTION)
    .docs(
        "Permits reads from backups on this connection.",
        "3.0.0",
        "O(1)",
    ),
    command(
        CommandId::Readwrite,
        "readwrite",
        1,
        flag::LOADING | flag::STALE | flag::FAST,
    )
    .categories(category::CONNECTION)
    .docs("Takes back READONLY.", "3.0.0", "O(1)"),
];
