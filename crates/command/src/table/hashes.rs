//! Commands on hashes.

use super::docs::EXPIRY_CONDITION;
use super::{Argument, CommandGroup, CommandId, KeySpec, Spec, category, flag, key_flag};

/// Which fields.
const FIELDS: Argument = Argument::block(
    "fields",
    &[
        Argument::integer("numfields"),
        Argument::string("field").multiple(),
    ],
)
.token("FIELDS");

/// A command of this family.
const fn command(id: CommandId, name: &'static str, arity: i8, flags: u32) -> Spec {
    Spec::new(id, name, arity, flags).of(CommandGroup::Hash, category::HASH)
}

pub(super) const COMMANDS: &[Spec] = &[
    command(CommandId::Hdel, "hdel", -3, flag::WRITE | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RW | key_flag::DELETE)])
        .docs("Removes fields.", "2.0.0", "O(N) for N bytes of the hash")
        .arguments(&[
            Argument::key("key", 0),
            Argument::string("field").multiple(),
        ]),
    command(
        CommandId::Hexists,
        "hexists",
        3,
        flag::READONLY | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RO)])
    .docs(
        "Says whether a field exists.",
        "2.0.0",
        "O(N) for N bytes of the hash",
    )
    .arguments(&[Argument::key("key", 0), Argument::string("field")]),
    command(CommandId::Hexpire, "hexpire", -6, flag::WRITE | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RW | key_flag::UPDATE)])
        .docs(
            "Lets fields expire after some seconds.",
            "7.4.0",
            "O(N) for N bytes of the hash",
        )
        .arguments(&[
            Argument::key("key", 0),
            Argument::integer("seconds"),
            EXPIRY_CONDITION,
            FIELDS,
        ]),
    command(
        CommandId::Hexpireat,
        "hexpireat",
        -6,
        flag::WRITE | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RW | key_flag::UPDATE)])
    .docs(
        "Lets fields expire at a Unix time in seconds.",
        "7.4.0",
        "O(N) for N bytes of the hash",
    )
    .arguments(&[
        Argument::key("key", 0),
        Argument::unix_time("unix-time-seconds"),
        EXPIRY_CONDITION,
        FIELDS,
    ]),
    command(
        CommandId::Hexpiretime,
        "hexpiretime",
        -5,
        flag::READONLY | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
    .docs(
        "Returns the Unix times in seconds at which fields expire.",
        "7.4.0",
        "O(N) for N bytes of the hash",
    )
    .arguments(&[Argument::key("key", 0), FIELDS]),
    command(CommandId::Hget, "hget", 3, flag::READONLY | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .docs(
            "Returns the value of a field.",
            "2.0.0",
            "O(N) for N bytes of the hash",
        )
        .arguments(&[Argument::key("key", 0), Argument::string("field")]),
    command(CommandId::Hgetall, "hgetall", 2, flag::READONLY)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .tips(&["nondeterministic_output_order"])
        .docs(
            "Returns all fields with their values.",
            "2.0.0",
            "O(N) for N fields",
        )
        .arguments(&[Argument::key("key", 0)]),
    command(CommandId::Hgetdel, "hgetdel", -5, flag::WRITE | flag::FAST)
        .keys(&[KeySpec::one(
            1,
            key_flag::RW | key_flag::ACCESS | key_flag::DELETE,
        )])
        .docs(
            "Returns the values of fields and removes the fields.",
            "8.0.0",
            "O(N) for N bytes of the hash",
        )
        .arguments(&[Argument::key("key", 0), FIELDS]),
    command(CommandId::Hgetex, "hgetex", -5, flag::WRITE | flag::FAST)
        .keys(&[KeySpec::one(
            1,
            key_flag::RW | key_flag::ACCESS | key_flag::UPDATE,
        )])
        .docs(
            "Returns the values of fields and changes when they expire.",
            "8.0.0",
            "O(N) for N bytes of the hash",
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
            FIELDS,
        ]),
    command(
        CommandId::Hincrby,
        "hincrby",
        4,
        flag::WRITE | flag::DENYOOM | flag::FAST,
    )
    .keys(&[KeySpec::one(
        1,
        key_flag::RW | key_flag::ACCESS | key_flag::UPDATE,
    )])
    .docs(
        "Adds a number to an integer in a field.",
        "2.0.0",
        "O(N) for N bytes of the hash",
    )
    .arguments(&[
        Argument::key("key", 0),
        Argument::string("field"),
        Argument::integer("increment"),
    ]),
    command(
        CommandId::Hincrbyfloat,
        "hincrbyfloat",
        4,
        flag::WRITE | flag::DENYOOM | flag::FAST,
    )
    .keys(&[KeySpec::one(
        1,
        key_flag::RW | key_flag::ACCESS | key_flag::UPDATE,
    )])
    .docs(
        "Adds a decimal fraction to a number in a field.",
        "2.6.0",
        "O(N) for N bytes of the hash",
    )
    .arguments(&[
        Argument::key("key", 0),
        Argument::string("field"),
        Argument::double("increment"),
    ]),
    command(CommandId::Hkeys, "hkeys", 2, flag::READONLY)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .tips(&["nondeterministic_output_order"])
        .docs(
            "Returns the names of all fields.",
            "2.0.0",
            "O(N) for N fields",
        )
        .arguments(&[Argument::key("key", 0)]),
    command(CommandId::Hlen, "hlen", 2, flag::READONLY | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RO)])
        .docs(
            "Returns the number of fields.",
            "2.0.0",
            "O(1); O(N) for N fields of which some expire",
        )
        .arguments(&[Argument::key("key", 0)]),
    command(CommandId::Hmget, "hmget", -3, flag::READONLY | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .docs(
            "Returns the values of several fields.",
            "2.0.0",
            "O(N) for N bytes of the hash",
        )
        .arguments(&[
            Argument::key("key", 0),
            Argument::string("field").multiple(),
        ]),
    command(
        CommandId::Hmset,
        "hmset",
        -4,
        flag::WRITE | flag::DENYOOM | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RW | key_flag::UPDATE)])
    .docs("Sets fields.", "2.0.0", "O(N) for N bytes of the hash")
    .deprecated("4.0.0", "`HSET` with multiple field-value pairs")
    .arguments(&[
        Argument::key("key", 0),
        Argument::block(
            "field_value",
            &[Argument::string("field"), Argument::string("value")],
        )
        .multiple(),
    ]),
    command(
        CommandId::Hpersist,
        "hpersist",
        -5,
        flag::WRITE | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RW | key_flag::UPDATE)])
    .docs(
        "Takes the expiry from fields.",
        "7.4.0",
        "O(N) for N bytes of the hash",
    )
    .arguments(&[Argument::key("key", 0), FIELDS]),
    command(
        CommandId::Hpexpire,
        "hpexpire",
        -6,
        flag::WRITE | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RW | key_flag::UPDATE)])
    .docs(
        "Lets fields expire after some milliseconds.",
        "7.4.0",
        "O(N) for N bytes of the hash",
    )
    .arguments(&[
        Argument::key("key", 0),
        Argument::integer("milliseconds"),
        EXPIRY_CONDITION,
        FIELDS,
    ]),
    command(
        CommandId::Hpexpireat,
        "hpexpireat",
        -6,
        flag::WRITE | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RW | key_flag::UPDATE)])
    .docs(
        "Lets fields expire at a Unix time in milliseconds.",
        "7.4.0",
        "O(N) for N bytes of the hash",
    )
    .arguments(&[
        Argument::key("key", 0),
        Argument::unix_time("unix-time-milliseconds"),
        EXPIRY_CONDITION,
        FIELDS,
    ]),
    command(
        CommandId::Hpexpiretime,
        "hpexpiretime",
        -5,
        flag::READONLY | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
    .docs(
        "Returns the Unix times in milliseconds at which fields expire.",
        "7.4.0",
        "O(N) for N bytes of the hash",
    )
    .arguments(&[Argument::key("key", 0), FIELDS]),
    command(CommandId::Hpttl, "hpttl", -5, flag::READONLY | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .docs(
            "Returns the milliseconds until fields expire.",
            "7.4.0",
            "O(N) for N bytes of the hash",
        )
        .arguments(&[Argument::key("key", 0), FIELDS]),
    command(CommandId::Hrandfield, "hrandfield", -2, flag::READONLY)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .tips(&["nondeterministic_output"])
        .docs("Returns fields at random.", "6.2.0", "O(N) for N fields")
        .arguments(&[
            Argument::key("key", 0),
            Argument::block(
                "options",
                &[
                    Argument::integer("count"),
                    Argument::word("withvalues", "WITHVALUES").optional(),
                ],
            )
            .optional(),
        ]),
    command(CommandId::Hscan, "hscan", -3, flag::READONLY)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .tips(&["nondeterministic_output"])
        .docs(
            "Returns a page of the fields.",
            "2.8.0",
            "O(N) for N fields",
        )
        .arguments(&[
            Argument::key("key", 0),
            Argument::integer("cursor"),
            Argument::pattern("pattern").token("MATCH").optional(),
            Argument::integer("count").token("COUNT").optional(),
        ]),
    command(
        CommandId::Hset,
        "hset",
        -4,
        flag::WRITE | flag::DENYOOM | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RW | key_flag::UPDATE)])
    .docs("Sets fields.", "2.0.0", "O(N) for N bytes of the hash")
    .arguments(&[
        Argument::key("key", 0),
        Argument::block(
            "field_value",
            &[Argument::string("field"), Argument::string("value")],
        )
        .multiple(),
    ]),
    command(
        CommandId::Hsetex,
        "hsetex",
        -6,
        flag::WRITE | flag::DENYOOM | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RW | key_flag::UPDATE)])
    .docs(
        "Sets fields and when they expire.",
        "8.0.0",
        "O(N) for N bytes of the hash",
    )
    .arguments(&[
        Argument::key("key", 0),
        Argument::one_of(
            "key-condition",
            &[Argument::word("nx", "NX"), Argument::word("xx", "XX")],
        )
        .optional(),
        Argument::one_of(
            "condition",
            &[Argument::word("fnx", "FNX"), Argument::word("fxx", "FXX")],
        )
        .optional(),
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
        Argument::block(
            "fields",
            &[
                Argument::integer("numfields"),
                Argument::block(
                    "data",
                    &[Argument::string("field"), Argument::string("value")],
                )
                .multiple(),
            ],
        )
        .token("FIELDS"),
    ]),
    command(
        CommandId::Hsetnx,
        "hsetnx",
        4,
        flag::WRITE | flag::DENYOOM | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RW | key_flag::INSERT)])
    .docs(
        "Sets a field unless it exists.",
        "2.0.0",
        "O(N) for N bytes of the hash",
    )
    .arguments(&[
        Argument::key("key", 0),
        Argument::string("field"),
        Argument::string("value"),
    ]),
    command(
        CommandId::Hstrlen,
        "hstrlen",
        3,
        flag::READONLY | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RO)])
    .docs(
        "Returns the length of the value of a field.",
        "3.2.0",
        "O(N) for N bytes of the hash",
    )
    .arguments(&[Argument::key("key", 0), Argument::string("field")]),
    command(CommandId::Httl, "httl", -5, flag::READONLY | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .docs(
            "Returns the seconds until fields expire.",
            "7.4.0",
            "O(N) for N bytes of the hash",
        )
        .arguments(&[Argument::key("key", 0), FIELDS]),
    command(CommandId::Hvals, "hvals", 2, flag::READONLY)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .tips(&["nondeterministic_output_order"])
        .docs(
            "Returns the values of all fields.",
            "2.0.0",
            "O(N) for N fields",
        )
        .arguments(&[Argument::key("key", 0)]),
];
