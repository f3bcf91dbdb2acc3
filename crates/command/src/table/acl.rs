//! Commands about users and what they may do.

use super::{Argument, CommandGroup, CommandId, Spec, flag};

/// For administrators, whatever the state of the server.
const ADMIN: u32 = flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE;

/// May be sent whatever the state of the server.
const ANY_TIME: u32 = flag::NOSCRIPT | flag::LOADING | flag::STALE;

/// A command of this family.
const fn command(id: CommandId, name: &'static str, arity: i8, flags: u32) -> Spec {
    Spec::new(id, name, arity, flags).of(CommandGroup::Server, 0)
}

pub(super) const COMMANDS: &[Spec] = &[command(CommandId::Acl, "acl", -2, 0)
    .docs(
        "Commands about users and their rights.",
        "6.0.0",
        "Depends on the subcommand",
    )
    .subcommands(&[
        command(CommandId::AclCat, "acl|cat", -2, ANY_TIME)
            .docs(
                "Lists the categories of commands, or the commands of one.",
                "6.0.0",
                "O(1)",
            )
            .arguments(&[Argument::string("categoryname").optional()]),
        command(CommandId::AclDeluser, "acl|deluser", -3, ADMIN)
            .docs(
                "Removes users that the cluster keeps, and closes their connections.",
                "6.0.0",
                "O(1) a user",
            )
            .arguments(&[Argument::string("username").multiple()]),
        command(CommandId::AclDryrun, "acl|dryrun", -4, ADMIN)
            .docs(
                "Says whether a user may run a command, without running it.",
                "7.0.0",
                "O(1)",
            )
            .arguments(&[
                Argument::string("username"),
                Argument::string("command"),
                Argument::string("arg").optional().multiple(),
            ]),
        command(CommandId::AclGenpass, "acl|genpass", -2, ANY_TIME)
            .docs("Makes a password of random bits.", "6.0.0", "O(1)")
            .arguments(&[Argument::integer("bits").optional()]),
        command(CommandId::AclGetuser, "acl|getuser", 3, ADMIN)
            .docs("Describes a user.", "6.0.0", "O(N) for N rules of the user")
            .arguments(&[Argument::string("username")]),
        command(
            CommandId::AclHelp,
            "acl|help",
            2,
            flag::LOADING | flag::STALE,
        )
        .docs("Lists the subcommands of ACL.", "6.0.0", "O(1)"),
        command(CommandId::AclList, "acl|list", 2, ADMIN).docs(
            "Describes all users as rules.",
            "6.0.0",
            "O(N) for N users",
        ),
        command(CommandId::AclLoad, "acl|load", 2, ADMIN).docs(
            "Does nothing: the users in force are those that the cluster keeps.",
            "6.0.0",
            "O(1)",
        ),
        command(CommandId::AclLog, "acl|log", -2, ADMIN)
            .docs(
                "Lists what this brick refused for want of rights or a password, newest first.",
                "6.0.0",
                "O(N) for N entries",
            )
            .arguments(&[Argument::one_of(
                "operation",
                &[Argument::integer("count"), Argument::word("reset", "RESET")],
            )
            .optional()]),
        command(CommandId::AclSave, "acl|save", 2, ADMIN).docs(
            "Does nothing: the cluster keeps each change before it is acknowledged.",
            "6.0.0",
            "O(1)",
        ),
        command(CommandId::AclSetuser, "acl|setuser", -3, ADMIN)
            .docs(
                "Makes a user, or changes one by rules.",
                "6.0.0",
                "O(N) for N rules",
            )
            .arguments(&[
                Argument::string("username"),
                Argument::string("rule").optional().multiple(),
            ]),
        command(CommandId::AclUsers, "acl|users", 2, ADMIN).docs(
            "Lists the names of all users.",
            "6.0.0",
            "O(N) for N users",
        ),
        command(CommandId::AclWhoami, "acl|whoami", 2, ANY_TIME).docs(
            "Returns the name of the connection's user.",
            "6.0.0",
            "O(1)",
        ),
    ])];
