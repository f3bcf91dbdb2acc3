//! Commands on values as bits.

use super::{Argument, CommandGroup, CommandId, KeySpec, Spec, category, flag, key_flag};

/// A command of this family.
const fn command(id: CommandId, name: &'static str, arity: i8, flags: u32) -> Spec {
    Spec::new(id, name, arity, flags).of(CommandGroup::Bitmap, category::BITMAP)
}

pub(super) const COMMANDS: &[Spec] = &[
    command(CommandId::Bitcount, "bitcount", -2, flag::READONLY)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .docs("Counts the bits that are 1.", "2.6.0", "O(N) for N bytes")
        .arguments(&[
            Argument::key("key", 0),
            Argument::block(
                "index",
                &[
                    Argument::integer("start"),
                    Argument::integer("end"),
                    Argument::one_of(
                        "index_unit",
                        &[Argument::word("byte", "BYTE"), Argument::word("bit", "BIT")],
                    )
                    .optional(),
                ],
            )
            .optional(),
        ]),
    command(
        CommandId::Bitfield,
        "bitfield",
        -2,
        flag::WRITE | flag::DENYOOM,
    )
    .keys(&[KeySpec::one(
        1,
        key_flag::RW | key_flag::ACCESS | key_flag::UPDATE | key_flag::VARIABLE_FLAGS,
    )
    .notes("This command allows both access and modification of the key")])
    .docs(
        "Reads and writes integers of any width inside a value.",
        "3.2.0",
        "O(1) an operation",
    )
    .arguments(&[
        Argument::key("key", 0),
        Argument::one_of(
            "operation",
            &[
                Argument::block(
                    "encoding_offset",
                    &[Argument::string("encoding"), Argument::integer("offset")],
                )
                .token("GET"),
                Argument::block(
                    "write",
                    &[
                        Argument::one_of(
                            "wrap_sat_fail",
                            &[
                                Argument::word("wrap", "WRAP"),
                                Argument::word("sat", "SAT"),
                                Argument::word("fail", "FAIL"),
                            ],
                        )
                        .token("OVERFLOW")
                        .optional(),
                        Argument::one_of(
                            "write_operation",
                            &[
                                Argument::block(
                                    "encoding_offset_value",
                                    &[
                                        Argument::string("encoding"),
                                        Argument::integer("offset"),
                                        Argument::integer("value"),
                                    ],
                                )
                                .token("SET"),
                                Argument::block(
                                    "encoding_offset_increment",
                                    &[
                                        Argument::string("encoding"),
                                        Argument::integer("offset"),
                                        Argument::integer("increment"),
                                    ],
                                )
                                .token("INCRBY"),
                            ],
                        ),
                    ],
                ),
            ],
        )
        .optional()
        .multiple(),
    ]),
    command(
        CommandId::BitfieldRo,
        "bitfield_ro",
        -2,
        flag::READONLY | flag::FAST,
    )
    .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
    .docs(
        "Reads integers of any width inside a value.",
        "6.0.0",
        "O(1) an operation",
    )
    .arguments(&[
        Argument::key("key", 0),
        Argument::block(
            "encoding_offset",
            &[Argument::string("encoding"), Argument::integer("offset")],
        )
        .token("GET")
        .optional()
        .multiple()
        .multiple_token(),
    ]),
    command(CommandId::Bitop, "bitop", -4, flag::WRITE | flag::DENYOOM)
        .keys(&[
            KeySpec::one(2, key_flag::OW | key_flag::UPDATE),
            KeySpec::range(3, -1, 1, key_flag::RO | key_flag::ACCESS),
        ])
        .docs(
            "Combines values bit by bit and stores the result.",
            "2.6.0",
            "O(N) for N bytes",
        )
        .arguments(&[
            Argument::string("operation"),
            Argument::key("destkey", 0),
            Argument::key("key", 1).multiple(),
        ]),
    command(CommandId::Bitpos, "bitpos", -3, flag::READONLY)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .docs(
            "Finds the first bit that is 0 or 1.",
            "2.8.7",
            "O(N) for N bytes",
        )
        .arguments(&[
            Argument::key("key", 0),
            Argument::integer("bit"),
            Argument::block(
                "index",
                &[
                    Argument::integer("start"),
                    Argument::block(
                        "end_index",
                        &[
                            Argument::integer("end"),
                            Argument::one_of(
                                "index_unit",
                                &[Argument::word("byte", "BYTE"), Argument::word("bit", "BIT")],
                            )
                            .optional(),
                        ],
                    )
                    .optional(),
                ],
            )
            .optional(),
        ]),
    command(CommandId::Getbit, "getbit", 3, flag::READONLY | flag::FAST)
        .keys(&[KeySpec::one(1, key_flag::RO | key_flag::ACCESS)])
        .docs("Returns one bit of a value.", "2.2.0", "O(1)")
        .arguments(&[Argument::key("key", 0), Argument::integer("offset")]),
    command(CommandId::Setbit, "setbit", 4, flag::WRITE | flag::DENYOOM)
        .keys(&[KeySpec::one(
            1,
            key_flag::RW | key_flag::ACCESS | key_flag::UPDATE,
        )])
        .docs(
            "Sets one bit of a value and returns what it was.",
            "2.2.0",
            "O(1)",
        )
        .arguments(&[
            Argument::key("key", 0),
            Argument::integer("offset"),
            Argument::integer("value"),
        ]),
];
