//! Commands on values as bytes.

use super::{Argument, CommandGroup, CommandId, KeySpec, Spec, category, flag, key_flag};

/// Writes what may be longer than what was there.
const GROWS: u32 = flag::WRITE | flag::DENYOOM | flag::FAST;

/// A key whose value is read and written anew.
const CHANGED: &[KeySpec] = &[KeySpec::one(
    1,
    key_flag::RW | key_flag::ACCESS | key_flag::UPDATE,
)];

/// A command of this family.
const fn command(id: CommandId, name: &'static str, arity: i8, flags: u32) -> Spec {
    Spec::new(id, name, arity, flags).of(CommandGroup::String, category::STRING)
}

pub(super) const COMMANDS: &[Spec] = &[
    command(CommandId::Append, "append", 3, GROWS)
        .keys(&[KeySpec::one(1, key_flag::RW | key_flag::INSERT)])
        .docs(
            "Adds bytes to the end of a value; creates the key if there is none.",
            "2.0.0",
            "O(1)",
        )
        .arguments(&[Argument::key("key", 0), Argument::string("value")]),
    command(CommandId::Decr, "decr", 2, GROWS)
        .keys(CHANGED)
        .docs("Subtracts one from an integer.", "1.0.0", "O(1)")
        .arguments(&[Argument::key("key", 0)]),
    command(CommandId::Decrby, "decrby", 3, GROWS)
        .keys(CHANGED)
        .docs("Subtracts a number from an integer.", "1.0.0", "O(1)")
        .arguments(&[Argument::key("key", 0), Argument::integer("decrement")]),
    command(CommandId::Delifeq, "delifeq", 3, flag::WRITE | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RM | key_flag::DELETE)])
        .docs(
            "Removes a key if its value is the one given.",
            "9.0.0",
            "O(1)",
        )
        .arguments(&[Argument::key("key", 0), Argument::string("value")]),
    command(CommandId::Get, "get", 2, flag::READONLY | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .docs("Returns the value of a key.", "1.0.0", "O(1)")
        .arguments(&[Argument::key("key", 0)]),
    command(CommandId::Getdel, "getdel", 2, flag::WRITE | flag::FAST)
        .keys(&[KeySpec::one(
            1,
            key_flag::RW | key_flag::ACCESS | key_flag::DELETE,
        )])
        .docs(
            "Returns the value of a key and removes the key.",
            "6.2.0",
            "O(1)",
        )
        .arguments(&[Argument::key("key", 0)]),
    command(CommandId::Getex, "getex", -2, flag::WRITE | flag::FAST)
        .keys(&[
            KeySpec::one(1, key_flag::RW | key_flag::ACCESS | key_flag::UPDATE)
                .notes("RW and UPDATE because it changes the TTL"),
        ])
        .docs(
            "Returns the value of a key and changes when it expires.",
            "6.2.0",
            "O(1)",
        )
        .arguments(&[
            Argument::key("key", 0),
            Argument::one_of(
                "expiration",
                &[
                    Argument::integer("seconds").token("EX"),
                    Argument::integer("milliseconds").token("PX"),
                    Argument::unix_time("unix-time-seconds").token("EXAT"),
                    Argument::unix_time("unix-time-milliseconds").token("PXAT"),
                    Argument::word("persist", "PERSIST"),
                ],
            )
            .optional(),
        ]),
    command(CommandId::Getrange, "getrange", 4, flag::READONLY)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .docs(
            "Returns a part of a value.",
            "2.4.0",
            "O(N) for N bytes returned",
        )
        .arguments(&[
            Argument::key("key", 0),
            Argument::integer("start"),
            Argument::integer("end"),
        ]),
    command(CommandId::Getset, "getset", 3, GROWS)
        .keys(CHANGED)
        .docs("Sets a key and returns what it held.", "1.0.0", "O(1)")
        .deprecated("6.2.0", "`SET` with the `GET` argument")
        .arguments(&[Argument::key("key", 0), Argument::string("value")]),
    command(CommandId::Incr, "incr", 2, GROWS)
        .keys(CHANGED)
        .docs("Adds one to an integer.", "1.0.0", "O(1)")
        .arguments(&[Argument::key("key", 0)]),
    command(CommandId::Incrby, "incrby", 3, GROWS)
        .keys(CHANGED)
        .docs("Adds a number to an integer.", "1.0.0", "O(1)")
        .arguments(&[Argument::key("key", 0), Argument::integer("increment")]),
    command(CommandId::Incrbyfloat, "incrbyfloat", 3, GROWS)
        .keys(CHANGED)
        .docs("Adds a decimal fraction to a number.", "2.6.0", "O(1)")
        .arguments(&[Argument::key("key", 0), Argument::double("increment")]),
    command(CommandId::Lcs, "lcs", -3, flag::READONLY)
        .keys(&[KeySpec::range(1, 1, 1, key_flag::RO | key_flag::ACCESS)])
        .docs(
            "Finds the longest sequence of bytes that two values have in common.",
            "7.0.0",
            "O(N*M) for values of N and M bytes",
        )
        .arguments(&[
            Argument::key("key1", 0),
            Argument::key("key2", 0),
            Argument::word("len", "LEN").optional(),
            Argument::word("idx", "IDX").optional(),
            Argument::integer("len").token("MINMATCHLEN").optional(),
            Argument::word("withmatchlen", "WITHMATCHLEN").optional(),
        ]),
    command(CommandId::Mget, "mget", -2, flag::READONLY | flag::FAST)
        .keys(&[KeySpec::range(1, -1, 1, key_flag::RO | key_flag::ACCESS)])
        .tips(&["request_policy:multi_shard"])
        .docs(
            "Returns the values of several keys.",
            "1.0.0",
            "O(N) for N keys",
        )
        .arguments(&[Argument::key("key", 0).multiple()]),
    command(CommandId::Mset, "mset", -3, flag::WRITE | flag::DENYOOM)
        .keys(&[KeySpec::range(1, -1, 2, key_flag::OW | key_flag::UPDATE)])
        .tips(&[
            "request_policy:multi_shard",
            "response_policy:all_succeeded",
        ])
        .docs("Sets several keys.", "1.0.1", "O(N) for N keys")
        .arguments(&[Argument::block(
            "key_value",
            &[Argument::key("key", 0), Argument::string("value")],
        )
        .multiple()]),
    command(CommandId::Msetnx, "msetnx", -3, flag::WRITE | flag::DENYOOM)
        .keys(&[KeySpec::range(1, -1, 2, key_flag::OW | key_flag::INSERT)])
        .tips(&["request_policy:multi_shard", "response_policy:agg_min"])
        .docs(
            "Sets several keys if none of them exists.",
            "1.0.1",
            "O(N) for N keys",
        )
        .arguments(&[Argument::block(
            "key_value",
            &[Argument::key("key", 0), Argument::string("value")],
        )
        .multiple()]),
    command(CommandId::Psetex, "psetex", 4, flag::WRITE | flag::DENYOOM)
        .keys(&[KeySpec::one(1, key_flag::OW | key_flag::UPDATE)])
        .docs(
            "Sets a key that expires after some milliseconds.",
            "2.6.0",
            "O(1)",
        )
        .arguments(&[
            Argument::key("key", 0),
            Argument::integer("milliseconds"),
            Argument::string("value"),
        ]),
    command(CommandId::Set, "set", -3, flag::WRITE | flag::DENYOOM)
        .keys(&[KeySpec::one(
            1,
            key_flag::RW | key_flag::ACCESS | key_flag::UPDATE | key_flag::VARIABLE_FLAGS,
        )
        .notes("RW and ACCESS due to the optional `GET` argument")])
        .docs(
            "Sets a key, on a condition and with an expiry if asked.",
            "1.0.0",
            "O(1)",
        )
        .arguments(&[
            Argument::key("key", 0),
            Argument::string("value"),
            Argument::one_of(
                "condition",
                &[
                    Argument::word("nx", "NX"),
                    Argument::word("xx", "XX"),
                    Argument::string("comparison-value").token("IFEQ"),
                ],
            )
            .optional(),
            Argument::word("get", "GET").optional(),
            Argument::one_of(
                "expiration",
                &[
                    Argument::integer("seconds").token("EX"),
                    Argument::integer("milliseconds").token("PX"),
                    Argument::unix_time("unix-time-seconds").token("EXAT"),
                    Argument::unix_time("unix-time-milliseconds").token("PXAT"),
                    Argument::word("keepttl", "KEEPTTL"),
                ],
            )
            .optional(),
        ]),
    command(CommandId::Setex, "setex", 4, flag::WRITE | flag::DENYOOM)
        .keys(&[KeySpec::one(1, key_flag::OW | key_flag::UPDATE)])
        .docs(
            "Sets a key that expires after some seconds.",
            "2.0.0",
            "O(1)",
        )
        .arguments(&[
            Argument::key("key", 0),
            Argument::integer("seconds"),
            Argument::string("value"),
        ]),
    command(CommandId::Setnx, "setnx", 3, GROWS)
        .keys(&[KeySpec::one(1, key_flag::OW | key_flag::INSERT)])
        .docs("Sets a key if it does not exist.", "1.0.0", "O(1)")
        .arguments(&[Argument::key("key", 0), Argument::string("value")]),
    command(
        CommandId::Setrange,
        "setrange",
        4,
        flag::WRITE | flag::DENYOOM,
    )
    .keys(&[KeySpec::one(1, key_flag::RW | key_flag::UPDATE)])
    .docs(
        "Overwrites a part of a value.",
        "2.2.0",
        "O(N) for N bytes written",
    )
    .arguments(&[
        Argument::key("key", 0),
        Argument::integer("offset"),
        Argument::string("value"),
    ]),
    command(CommandId::Strlen, "strlen", 2, flag::READONLY | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RO)])
        .docs("Returns the length of a value.", "2.2.0", "O(1)")
        .arguments(&[Argument::key("key", 0)]),
    command(CommandId::Substr, "substr", 4, flag::READONLY)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .docs(
            "Returns a part of a value.",
            "1.0.0",
            "O(N) for N bytes returned",
        )
        .deprecated("2.0.0", "`GETRANGE`")
        .arguments(&[
            Argument::key("key", 0),
            Argument::integer("start"),
            Argument::integer("end"),
        ]),
];
