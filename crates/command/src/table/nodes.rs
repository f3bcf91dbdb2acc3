//! Commands about nodes and about where partitions are, which are Brickyard's own.

use super::{Argument, CommandGroup, CommandId, Spec, flag};

const ADMIN: u32 = flag::ADMIN | flag::NOSCRIPT | flag::NO_MULTI;
const SHOWN: u32 = ADMIN | flag::LOADING | flag::STALE;
const YES_OR_NO: &[Argument] = &[Argument::word("yes", "YES"), Argument::word("no", "NO")];

/// A command of this family.
const fn command(id: CommandId, name: &'static str, arity: i8, flags: u32) -> Spec {
    Spec::new(id, name, arity, flags).of(CommandGroup::Server, 0)
}

pub(super) const COMMANDS: &[Spec] = &[
    command(CommandId::Node, "node", -2, 0)
        .docs("Commands about the nodes of the cluster.", "0.1.0", "Depends on the subcommand")
        .subcommands(&[
            command(CommandId::NodeAlter, "node|alter", -5, ADMIN)
                .docs("Changes what a node is used for.", "0.1.0", "O(P) for P partitions")
                .arguments(&[
                    Argument::integer("node"),
                    Argument::integer("weight").token("WEIGHT").optional(),
                    Argument::string("zone").token("ZONE").optional(),
                    Argument::string("roles").token("ROLES").optional(),
                    Argument::one_of("control", YES_OR_NO)
                        .token("CONTROL")
                        .optional(),
                    Argument::one_of("storage", YES_OR_NO)
                        .token("STORAGE")
                        .optional(),
                    Argument::one_of("gateway", YES_OR_NO)
                        .token("GATEWAY")
                        .optional(),
                ]),
            command(CommandId::NodeDrain, "node|drain", -3, ADMIN)
                .docs("Lets a node hand over its primaries, then everything else that it holds.", "0.1.0", "O(P) for P partitions")
                .arguments(&[
                    Argument::integer("node"),
                    Argument::word("force", "FORCE").optional(),
                ]),
            command(CommandId::NodeHelp, "node|help", 2, flag::LOADING | flag::STALE)
            .docs("Lists the subcommands of NODE.", "0.1.0", "O(1)"),
            command(CommandId::NodeList, "node|list", 2, SHOWN).docs("Returns the nodes of the cluster and how much each holds.", "0.1.0", "O(P) for P partitions"),
            command(CommandId::NodeRemove, "node|remove", -3, ADMIN)
                .docs("Takes a node out of the cluster for ever; with FORCE also one that holds something.", "0.1.0", "O(P) for P partitions")
                .arguments(&[
                    Argument::integer("node"),
                    Argument::word("force", "FORCE").optional(),
                ]),
            command(CommandId::NodeReplace, "node|replace", 4, ADMIN)
                .docs("Lets a node take over exactly what another one holds.", "0.1.0", "O(P) for P partitions")
                .arguments(&[Argument::integer("node"), Argument::integer("successor")]),
        ]),
    command(CommandId::Rebalance, "rebalance", -2, 0)
        .docs("Commands about where partitions should be.", "0.1.0", "Depends on the subcommand")
        .subcommands(&[
            command(CommandId::RebalanceHelp, "rebalance|help", 2, flag::LOADING | flag::STALE)
            .docs("Lists the subcommands of REBALANCE.", "0.1.0", "O(1)"),
            command(CommandId::RebalancePause, "rebalance|pause", 2, ADMIN).docs("Begins no more moves; copies that are missing are made all the same.", "0.1.0", "O(1)"),
            command(CommandId::RebalancePlan, "rebalance|plan", 2, SHOWN).docs("Returns what has to move, partition by partition.", "0.1.0", "O(P + M * B) for P partitions, M moves and B bricks"),
            command(CommandId::RebalanceResume, "rebalance|resume", 2, ADMIN).docs("Begins moves again.", "0.1.0", "O(1)"),
            command(CommandId::RebalanceStatus, "rebalance|status", 2, SHOWN).docs("Returns how much has to move still.", "0.1.0", "O(P + M * B) for P partitions, M moves and B bricks"),
        ]),
];
