//! Commands about the connection that they arrive on.

use super::{Argument, CommandGroup, CommandId, Spec, category, flag};

/// May be sent whatever the state of server and connection.
const BEFORE_LOGIN: u32 =
    flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::FAST | flag::NO_AUTH | flag::ALLOW_BUSY;

/// For administrators, whatever the state of the server.
const ADMIN: u32 = flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE;

/// May be sent whatever the state of the server.
const ANY_TIME: u32 = flag::NOSCRIPT | flag::LOADING | flag::STALE;

/// A command of this family.
const fn command(id: CommandId, name: &'static str, arity: i8, flags: u32) -> Spec {
    Spec::new(id, name, arity, flags).of(CommandGroup::Connection, category::CONNECTION)
}

pub(super) const COMMANDS: &[Spec] = &[
    command(CommandId::Auth, "auth", -2, BEFORE_LOGIN)
        .docs("Logs in.", "1.0.0", "O(N)")
        .arguments(&[
            Argument::string("username").optional(),
            Argument::string("password"),
        ]),
    Spec::new(CommandId::Client, "client", -2, 0)
        .of(CommandGroup::Connection, 0)
        .docs(
            "Commands about client connections.",
            "2.4.0",
            "Depends on the subcommand",
        )
        .subcommands(&[
            command(CommandId::ClientCaching, "client|caching", 3, ANY_TIME)
                .docs(
                    "Says whether what the next command reads is tracked.",
                    "6.0.0",
                    "O(1)",
                )
                .arguments(&[Argument::one_of(
                    "mode",
                    &[Argument::word("yes", "YES"), Argument::word("no", "NO")],
                )]),
            command(CommandId::ClientGetname, "client|getname", 2, ANY_TIME).docs(
                "Returns the name of this connection.",
                "2.6.9",
                "O(1)",
            ),
            command(CommandId::ClientGetredir, "client|getredir", 2, ANY_TIME).docs(
                "Returns the number of the connection that is told of changed keys in place of this one.",
                "6.0.0",
                "O(1)",
            ),
            command(
                CommandId::ClientHelp,
                "client|help",
                2,
                flag::LOADING | flag::STALE,
            )
            .docs("Lists the subcommands of CLIENT.", "5.0.0", "O(1)"),
            command(CommandId::ClientId, "client|id", 2, ANY_TIME).docs(
                "Returns the number of this connection.",
                "5.0.0",
                "O(1)",
            ),
            command(CommandId::ClientInfo, "client|info", 2, ANY_TIME)
                .tips(&["nondeterministic_output"])
                .docs("Describes this connection.", "6.2.0", "O(1)"),
            command(CommandId::ClientKill, "client|kill", -3, ADMIN)
                .docs("Closes connections.", "2.4.0", "O(N) for N connections")
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
            command(CommandId::ClientList, "client|list", -2, ADMIN)
                .tips(&["nondeterministic_output"])
                .docs(
                    "Describes the open connections.",
                    "2.4.0",
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
            command(CommandId::ClientNoEvict, "client|no-evict", 3, ADMIN)
                .docs(
                    "Keeps this connection open when memory for clients runs short.",
                    "7.0.0",
                    "O(1)",
                )
                .arguments(&[Argument::one_of(
                    "enabled",
                    &[Argument::word("on", "ON"), Argument::word("off", "OFF")],
                )]),
            command(CommandId::ClientNoTouch, "client|no-touch", 3, ANY_TIME)
                .docs(
                    "Lets the commands of this connection not count as use of their keys.",
                    "7.2.0",
                    "O(1)",
                )
                .arguments(&[Argument::one_of(
                    "enabled",
                    &[Argument::word("on", "ON"), Argument::word("off", "OFF")],
                )]),
            command(CommandId::ClientPause, "client|pause", -3, ADMIN)
                .docs(
                    "Lets commands of this node's clients wait for some time.",
                    "2.9.50",
                    "O(1)",
                )
                .arguments(&[
                    Argument::integer("timeout"),
                    Argument::one_of(
                        "mode",
                        &[
                            Argument::word("write", "WRITE"),
                            Argument::word("all", "ALL"),
                        ],
                    )
                    .optional(),
                ]),
            command(CommandId::ClientReply, "client|reply", 3, ANY_TIME)
                .docs(
                    "Turns replies on this connection on or off.",
                    "3.2.0",
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
            command(CommandId::ClientSetinfo, "client|setinfo", 4, ANY_TIME)
                .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
                .docs(
                    "Tells the name or version of the client's library.",
                    "7.2.0",
                    "O(1)",
                )
                .arguments(&[Argument::one_of(
                    "attr",
                    &[
                        Argument::string("libname").token("LIB-NAME"),
                        Argument::string("libver").token("LIB-VER"),
                    ],
                )]),
            command(CommandId::ClientSetname, "client|setname", 3, ANY_TIME)
                .docs("Gives this connection a name.", "2.6.9", "O(1)")
                .arguments(&[Argument::string("connection-name")]),
            command(CommandId::ClientTracking, "client|tracking", -3, ANY_TIME)
                .docs(
                    "Tells this client when keys change that it keeps copies of.",
                    "6.0.0",
                    "O(1); some options are slower, and so is reading while it is on",
                )
                .arguments(&[
                    Argument::one_of(
                        "status",
                        &[Argument::word("on", "ON"), Argument::word("off", "OFF")],
                    ),
                    Argument::integer("client-id").token("REDIRECT").optional(),
                    Argument::string("prefix").token("PREFIX").multiple()
                        .multiple_token().optional(),
                    Argument::word("bcast", "BCAST").optional(),
                    Argument::word("optin", "OPTIN").optional(),
                    Argument::word("optout", "OPTOUT").optional(),
                    Argument::word("noloop", "NOLOOP").optional(),
                ]),
            command(CommandId::ClientTrackinginfo, "client|trackinginfo", 2, ANY_TIME).docs(
                "Returns what CLIENT TRACKING was asked for on this connection.",
                "6.2.0",
                "O(1)",
            ),
            command(CommandId::ClientUnpause, "client|unpause", 2, ADMIN).docs(
                "Lets commands go on that wait by CLIENT PAUSE.",
                "6.2.0",
                "O(N) for N connections that wait",
            ),
        ]),
    command(
        CommandId::Echo,
        "echo",
        2,
        flag::LOADING | flag::STALE | flag::FAST,
    )
    .docs("Returns its argument.", "1.0.0", "O(1)")
    .arguments(&[Argument::string("message")]),
    command(CommandId::Hello, "hello", -1, BEFORE_LOGIN)
        .docs("Chooses the protocol version and logs in.", "6.0.0", "O(1)")
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
    command(CommandId::Ping, "ping", -1, flag::FAST)
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .docs("Answers PONG, or its argument.", "1.0.0", "O(1)")
        .arguments(&[Argument::string("message").optional()]),
    command(CommandId::Quit, "quit", -1, BEFORE_LOGIN).docs(
        "Closes the connection.",
        "1.0.0",
        "O(1)",
    ),
    command(CommandId::Reset, "reset", 1, BEFORE_LOGIN).docs(
        "Takes the connection back to its initial state.",
        "6.2.0",
        "O(1)",
    ),
    command(
        CommandId::Select,
        "select",
        2,
        flag::LOADING | flag::STALE | flag::FAST,
    )
    .docs("Chooses one of the numbered tables.", "1.0.0", "O(1)")
    .arguments(&[Argument::integer("index")]),
];
