//! Commands about the connection that they arrive on.

use super::{Argument, CommandGroup, CommandId, Spec, category, flag};

pub(super) const COMMANDS: &[Spec] = &[
    Spec::new(
        CommandId::Auth,
        "auth",
        -2,
        flag::NOSCRIPT
            | flag::LOADING
            | flag::STALE
            | flag::FAST
            | flag::NO_AUTH
            | flag::ALLOW_BUSY,
        category::CONNECTION,
    )
    .docs("Logs in.", "1.0.0", CommandGroup::Connection, "O(N)")
    .arguments(&[
        Argument::string("username").optional(),
        Argument::string("password"),
    ]),
    Spec::new(CommandId::Client, "client", -2, 0, 0)
        .docs(
            "Commands about client connections.",
            "2.4.0",
            CommandGroup::Connection,
            "Depends on the subcommand",
        )
        .subcommands(&[
            Spec::new(
                CommandId::ClientGetname,
                "client|getname",
                2,
                flag::NOSCRIPT | flag::LOADING | flag::STALE,
                category::CONNECTION,
            )
            .docs(
                "Returns the name of this connection.",
                "2.6.9",
                CommandGroup::Connection,
                "O(1)",
            ),
            Spec::new(
                CommandId::ClientHelp,
                "client|help",
                2,
                flag::LOADING | flag::STALE,
                category::CONNECTION,
            )
            .docs(
                "Lists the subcommands of CLIENT.",
                "5.0.0",
                CommandGroup::Connection,
                "O(1)",
            ),
            Spec::new(
                CommandId::ClientId,
                "client|id",
                2,
                flag::NOSCRIPT | flag::LOADING | flag::STALE,
                category::CONNECTION,
            )
            .docs(
                "Returns the number of this connection.",
                "5.0.0",
                CommandGroup::Connection,
                "O(1)",
            ),
            Spec::new(
                CommandId::ClientInfo,
                "client|info",
                2,
                flag::NOSCRIPT | flag::LOADING | flag::STALE,
                category::CONNECTION,
            )
            .tips(&["nondeterministic_output"])
            .docs(
                "Describes this connection.",
                "6.2.0",
                CommandGroup::Connection,
                "O(1)",
            ),
            Spec::new(
                CommandId::ClientKill,
                "client|kill",
                -3,
                flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
                category::CONNECTION,
            )
            .docs(
                "Closes connections.",
                "2.4.0",
                CommandGroup::Connection,
                "O(N) for N connections",
            )
            .arguments(&[Argument::one_of(
                "filter",
                &[
                    Argument::string("ip:port"),
                    Argument::one_of(
                        "new-format",
                        &[
                            Argument::integer("client-id").token("ID").optional(),
                            Argument::one_of(
                                "normal_master_slave_pubsub",
                                &[
                                    Argument::word("normal", "NORMAL"),
                                    Argument::word("master", "MASTER"),
                                    Argument::word("slave", "SLAVE"),
                                    Argument::word("replica", "REPLICA"),
                                    Argument::word("pubsub", "PUBSUB"),
                                ],
                            )
                            .token("TYPE")
                            .optional(),
                            Argument::string("username").token("USER").optional(),
                            Argument::string("ip:port").token("ADDR").optional(),
                            Argument::string("ip:port").token("LADDR").optional(),
                            Argument::string("yes/no").token("SKIPME").optional(),
                        ],
                    )
                    .multiple(),
                ],
            )]),
            Spec::new(
                CommandId::ClientList,
                "client|list",
                -2,
                flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
                category::CONNECTION,
            )
            .tips(&["nondeterministic_output"])
            .docs(
                "Describes the open connections.",
                "2.4.0",
                CommandGroup::Connection,
                "O(N) for N connections",
            )
            .arguments(&[
                Argument::one_of(
                    "normal_master_replica_pubsub",
                    &[
                        Argument::word("normal", "NORMAL"),
                        Argument::word("master", "MASTER"),
                        Argument::word("replica", "REPLICA"),
                        Argument::word("pubsub", "PUBSUB"),
                    ],
                )
                .token("TYPE")
                .optional(),
                Argument::block("id", &[Argument::integer("client-id").multiple()])
                    .token("ID")
                    .optional(),
            ]),
            Spec::new(
                CommandId::ClientNoEvict,
                "client|no-evict",
                3,
                flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
                category::CONNECTION,
            )
            .docs(
                "Keeps this connection open when memory for clients runs short.",
                "7.0.0",
                CommandGroup::Connection,
                "O(1)",
            )
            .arguments(&[Argument::one_of(
                "enabled",
                &[Argument::word("on", "ON"), Argument::word("off", "OFF")],
            )]),
            Spec::new(
                CommandId::ClientNoTouch,
                "client|no-touch",
                3,
                flag::NOSCRIPT | flag::LOADING | flag::STALE,
                category::CONNECTION,
            )
            .docs(
                "Lets the commands of this connection not count as use of their keys.",
                "7.2.0",
                CommandGroup::Connection,
                "O(1)",
            )
            .arguments(&[Argument::one_of(
                "enabled",
                &[Argument::word("on", "ON"), Argument::word("off", "OFF")],
            )]),
            Spec::new(
                CommandId::ClientReply,
                "client|reply",
                3,
                flag::NOSCRIPT | flag::LOADING | flag::STALE,
                category::CONNECTION,
            )
            .docs(
                "Turns replies on this connection on or off.",
                "3.2.0",
                CommandGroup::Connection,
                "O(1)",
            )
            .arguments(&[Argument::one_of(
                "on_off_skip",
                &[
                    Argument::word("on", "ON"),
                    Argument::word("off", "OFF"),
                    Argument::word("skip", "SKIP"),
                ],
            )]),
            Spec::new(
                CommandId::ClientSetinfo,
                "client|setinfo",
                4,
                flag::NOSCRIPT | flag::LOADING | flag::STALE,
                category::CONNECTION,
            )
            .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
            .docs(
                "Tells the name or version of the client's library.",
                "7.2.0",
                CommandGroup::Connection,
                "O(1)",
            )
            .arguments(&[Argument::one_of(
                "attr",
                &[
                    Argument::string("libname").token("LIB-NAME"),
                    Argument::string("libver").token("LIB-VER"),
                ],
            )]),
            Spec::new(
                CommandId::ClientSetname,
                "client|setname",
                3,
                flag::NOSCRIPT | flag::LOADING | flag::STALE,
                category::CONNECTION,
            )
            .docs(
                "Gives this connection a name.",
                "2.6.9",
                CommandGroup::Connection,
                "O(1)",
            )
            .arguments(&[Argument::string("connection-name")]),
        ]),
    Spec::new(
        CommandId::Echo,
        "echo",
        2,
        flag::LOADING | flag::STALE | flag::FAST,
        category::CONNECTION,
    )
    .docs(
        "Returns its argument.",
        "1.0.0",
        CommandGroup::Connection,
        "O(1)",
    )
    .arguments(&[Argument::string("message")]),
    Spec::new(
        CommandId::Hello,
        "hello",
        -1,
        flag::NOSCRIPT
            | flag::LOADING
            | flag::STALE
            | flag::FAST
            | flag::NO_AUTH
            | flag::ALLOW_BUSY,
        category::CONNECTION,
    )
    .docs(
        "Chooses the protocol version and logs in.",
        "6.0.0",
        CommandGroup::Connection,
        "O(1)",
    )
    .arguments(&[Argument::block(
        "arguments",
        &[
            Argument::integer("protover"),
            Argument::block(
                "username_password",
                &[Argument::string("username"), Argument::string("password")],
            )
            .token("AUTH")
            .optional(),
            Argument::string("clientname").token("SETNAME").optional(),
        ],
    )
    .optional()]),
    Spec::new(
        CommandId::Ping,
        "ping",
        -1,
        flag::FAST,
        category::CONNECTION,
    )
    .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
    .docs(
        "Answers PONG, or its argument.",
        "1.0.0",
        CommandGroup::Connection,
        "O(1)",
    )
    .arguments(&[Argument::string("message").optional()]),
    Spec::new(
        CommandId::Quit,
        "quit",
        -1,
        flag::NOSCRIPT
            | flag::LOADING
            | flag::STALE
            | flag::FAST
            | flag::NO_AUTH
            | flag::ALLOW_BUSY,
        category::CONNECTION,
    )
    .docs(
        "Closes the connection.",
        "1.0.0",
        CommandGroup::Connection,
        "O(1)",
    ),
    Spec::new(
        CommandId::Reset,
        "reset",
        1,
        flag::NOSCRIPT
            | flag::LOADING
            | flag::STALE
            | flag::FAST
            | flag::NO_AUTH
            | flag::ALLOW_BUSY,
        category::CONNECTION,
    )
    .docs(
        "Takes the connection back to its initial state.",
        "6.2.0",
        CommandGroup::Connection,
        "O(1)",
    ),
    Spec::new(
        CommandId::Select,
        "select",
        2,
        flag::LOADING | flag::STALE | flag::FAST,
        category::CONNECTION,
    )
    .docs(
        "Chooses one of the numbered tables.",
        "1.0.0",
        CommandGroup::Connection,
        "O(1)",
    )
    .arguments(&[Argument::integer("index")]),
];
