//! Commands about the cluster, and those that only cluster clients send.

use super::{Argument, CommandGroup, CommandId, Spec, category, flag};

pub(super) const COMMANDS: &[Spec] = &[
    Spec::new(
        CommandId::Asking,
        "asking",
        1,
        flag::FAST,
        category::CONNECTION,
    )
    .docs(
        "Lets the next command through although its slot is being moved.",
        "3.0.0",
        CommandGroup::Cluster,
        "O(1)",
    ),
    Spec::new(CommandId::Cluster, "cluster", -2, 0, 0)
        .docs(
            "Commands about the cluster.",
            "3.0.0",
            CommandGroup::Cluster,
            "Depends on the subcommand",
        )
        .subcommands(&[
            Spec::new(
                CommandId::ClusterCountkeysinslot,
                "cluster|countkeysinslot",
                3,
                flag::STALE,
                0,
            )
            .docs(
                "Returns the number of keys in a slot.",
                "3.0.0",
                CommandGroup::Cluster,
                "O(1)",
            )
            .arguments(&[Argument::integer("slot")]),
            Spec::new(
                CommandId::ClusterGetkeysinslot,
                "cluster|getkeysinslot",
                4,
                flag::STALE,
                0,
            )
            .tips(&["nondeterministic_output"])
            .docs(
                "Returns keys of a slot.",
                "3.0.0",
                CommandGroup::Cluster,
                "O(N) for N keys",
            )
            .arguments(&[Argument::integer("slot"), Argument::integer("count")]),
            Spec::new(
                CommandId::ClusterHelp,
                "cluster|help",
                2,
                flag::LOADING | flag::STALE,
                0,
            )
            .docs(
                "Lists the subcommands of CLUSTER.",
                "5.0.0",
                CommandGroup::Cluster,
                "O(1)",
            ),
            Spec::new(CommandId::ClusterInfo, "cluster|info", 2, flag::STALE, 0)
                .tips(&["nondeterministic_output"])
                .docs(
                    "Returns the cluster's state.",
                    "3.0.0",
                    CommandGroup::Cluster,
                    "O(1)",
                ),
            Spec::new(
                CommandId::ClusterKeyslot,
                "cluster|keyslot",
                3,
                flag::STALE,
                0,
            )
            .docs(
                "Returns the slot of a key.",
                "3.0.0",
                CommandGroup::Cluster,
                "O(N) for N bytes of key",
            )
            .arguments(&[Argument::string("key")]),
            Spec::new(CommandId::ClusterLinks, "cluster|links", 2, flag::STALE, 0)
                .tips(&["nondeterministic_output"])
                .docs(
                    "Describes the connections between nodes.",
                    "7.0.0",
                    CommandGroup::Cluster,
                    "O(N) for N nodes",
                ),
            Spec::new(CommandId::ClusterMyid, "cluster|myid", 2, flag::STALE, 0).docs(
                "Returns the id of this node.",
                "3.0.0",
                CommandGroup::Cluster,
                "O(1)",
            ),
            Spec::new(CommandId::ClusterNodes, "cluster|nodes", 2, flag::STALE, 0)
                .tips(&["nondeterministic_output"])
                .docs(
                    "Describes the nodes, one a line.",
                    "3.0.0",
                    CommandGroup::Cluster,
                    "O(N) for N nodes",
                ),
            Spec::new(
                CommandId::ClusterReplicas,
                "cluster|replicas",
                3,
                flag::ADMIN | flag::STALE,
                0,
            )
            .tips(&["nondeterministic_output"])
            .docs(
                "Describes a node's replicas.",
                "5.0.0",
                CommandGroup::Cluster,
                "O(N) for N replicas",
            )
            .arguments(&[Argument::string("node-id")]),
            Spec::new(
                CommandId::ClusterShards,
                "cluster|shards",
                2,
                flag::STALE,
                0,
            )
            .tips(&["nondeterministic_output"])
            .docs(
                "Describes which nodes hold which slots, by replica group.",
                "7.0.0",
                CommandGroup::Cluster,
                "O(N) for N nodes",
            ),
            Spec::new(CommandId::ClusterSlots, "cluster|slots", 2, flag::STALE, 0)
                .tips(&["nondeterministic_output"])
                .docs(
                    "Describes which nodes hold which slots, by slot range.",
                    "3.0.0",
                    CommandGroup::Cluster,
                    "O(N) for N nodes",
                )
                .deprecated("7.0.0", "`CLUSTER SHARDS`"),
            Spec::new(CommandId::ClusterWatch, "cluster|watch", 3, flag::STALE, 0)
                .docs(
                    "Tells this connection of every change of the map, by push, or not any more.",
                    "7.2.0",
                    CommandGroup::Cluster,
                    "O(1)",
                )
                .arguments(&[Argument::string("on-off")]),
            Spec::new(
                CommandId::ClusterAdmin,
                "cluster|addslots",
                -3,
                flag::ADMIN | flag::STALE | flag::NO_ASYNC_LOADING,
                0,
            )
            .hidden(),
            Spec::new(
                CommandId::ClusterAdmin,
                "cluster|addslotsrange",
                -4,
                flag::ADMIN | flag::STALE | flag::NO_ASYNC_LOADING,
                0,
            )
            .hidden(),
            Spec::new(
                CommandId::ClusterAdmin,
                "cluster|bumpepoch",
                2,
                flag::ADMIN | flag::STALE | flag::NO_ASYNC_LOADING,
                0,
            )
            .hidden(),
            Spec::new(
                CommandId::ClusterAdmin,
                "cluster|count-failure-reports",
                3,
                flag::ADMIN | flag::STALE,
                0,
            )
            .hidden(),
            Spec::new(
                CommandId::ClusterAdmin,
                "cluster|delslots",
                -3,
                flag::ADMIN | flag::STALE | flag::NO_ASYNC_LOADING,
                0,
            )
            .hidden(),
            Spec::new(
                CommandId::ClusterAdmin,
                "cluster|delslotsrange",
                -4,
                flag::ADMIN | flag::STALE | flag::NO_ASYNC_LOADING,
                0,
            )
            .hidden(),
            Spec::new(
                CommandId::ClusterAdmin,
                "cluster|failover",
                -2,
                flag::ADMIN | flag::STALE | flag::NO_ASYNC_LOADING,
                0,
            )
            .hidden(),
            Spec::new(
                CommandId::ClusterAdmin,
                "cluster|flushslots",
                2,
                flag::ADMIN | flag::STALE | flag::NO_ASYNC_LOADING,
                0,
            )
            .hidden(),
            Spec::new(
                CommandId::ClusterAdmin,
                "cluster|forget",
                3,
                flag::ADMIN | flag::STALE | flag::NO_ASYNC_LOADING,
                0,
            )
            .hidden(),
            Spec::new(
                CommandId::ClusterAdmin,
                "cluster|meet",
                -4,
                flag::ADMIN | flag::STALE | flag::NO_ASYNC_LOADING,
                0,
            )
            .hidden(),
            Spec::new(
                CommandId::ClusterAdmin,
                "cluster|replicate",
                3,
                flag::ADMIN | flag::STALE | flag::NO_ASYNC_LOADING,
                0,
            )
            .hidden(),
            Spec::new(
                CommandId::ClusterAdmin,
                "cluster|reset",
                -2,
                flag::ADMIN | flag::NOSCRIPT | flag::STALE,
                0,
            )
            .hidden(),
            Spec::new(
                CommandId::ClusterAdmin,
                "cluster|saveconfig",
                2,
                flag::ADMIN | flag::STALE | flag::NO_ASYNC_LOADING,
                0,
            )
            .hidden(),
            Spec::new(
                CommandId::ClusterAdmin,
                "cluster|set-config-epoch",
                3,
                flag::ADMIN | flag::STALE | flag::NO_ASYNC_LOADING,
                0,
            )
            .hidden(),
            Spec::new(
                CommandId::ClusterAdmin,
                "cluster|setslot",
                -4,
                flag::ADMIN | flag::STALE | flag::NO_ASYNC_LOADING,
                0,
            )
            .hidden(),
        ]),
    Spec::new(
        CommandId::Readonly,
        "readonly",
        1,
        flag::LOADING | flag::STALE | flag::FAST,
        category::CONNECTION,
    )
    .docs(
        "Permits reads from backups on this connection.",
        "3.0.0",
        CommandGroup::Cluster,
        "O(1)",
    ),
    Spec::new(
        CommandId::Readwrite,
        "readwrite",
        1,
        flag::LOADING | flag::STALE | flag::FAST,
        category::CONNECTION,
    )
    .docs(
        "Takes back READONLY.",
        "3.0.0",
        CommandGroup::Cluster,
        "O(1)",
    ),
];
