//! Commands about tables, which are Brickyard's own.

use super::{Argument, CommandGroup, CommandId, KeySpec, Spec, category, flag, key_flag};

/// Changes the tables.
const ADMIN: u32 = flag::ADMIN | flag::NOSCRIPT | flag::NO_MULTI;

/// A command of this family.
const fn command(id: CommandId, name: &'static str, arity: i8, flags: u32) -> Spec {
    Spec::new(id, name, arity, flags).of(CommandGroup::Server, 0)
}

// What TABLE CREATE and ALTER both take.
const MEDIUM: Argument = Argument::one_of(
    "medium",
    &[Argument::word("ram", "RAM"), Argument::word("disk", "DISK")],
)
.token("MEDIUM")
.optional();
const DURABILITY: Argument = Argument::one_of(
    "durability",
    &[
        Argument::word("memory", "MEMORY"),
        Argument::word("log", "LOG"),
        Argument::word("fsync", "FSYNC"),
    ],
)
.token("DURABILITY")
.optional();
const REPLICAS: Argument = Argument::string("replicas").token("REPLICAS").optional();
const MIN_IN_SYNC: Argument = Argument::integer("copies").token("MIN_IN_SYNC").optional();
const MAXMEMORY: Argument = Argument::string("bytes").token("MAXMEMORY").optional();
const EVICT: Argument = Argument::one_of(
    "evict",
    &[Argument::word("none", "NONE"), Argument::word("lru", "LRU")],
)
.token("EVICT")
.optional();
const PLACEMENT: Argument = Argument::string("rule").token("PLACEMENT").optional();
const NODES: Argument = Argument::string("nodes").token("NODES").optional();
const PARTITION_BYTES: Argument = Argument::string("bytes")
    .token("PARTITION_BYTES")
    .optional();
const LEASES: Argument = Argument::one_of(
    "leases",
    &[Argument::word("on", "ON"), Argument::word("off", "OFF")],
)
.token("LEASES")
.optional();
const HISTORY: Argument = Argument::string("bytes").token("HISTORY").optional();
// What TABLE CREATE alone takes.
const HASH: Argument = Argument::one_of(
    "hash",
    &[
        Argument::word("slot", "SLOT"),
        Argument::word("keyed", "KEYED"),
        Argument::word("key64", "KEY64"),
        Argument::word("ordered", "ORDERED"),
    ],
)
.token("HASH")
.optional();
const FROM: Argument = Argument::string("lowest").token("FROM").optional();
const TO: Argument = Argument::string("highest").token("TO").optional();
// What TABLE HOTKEYS and BIGKEYS both take.
const KEYS_COUNT: Argument = Argument::integer("count").token("COUNT").optional();

pub(super) const COMMANDS: &[Spec] = &[
    Spec::new(CommandId::Request, "request", -2, flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::NO_MULTI).of(CommandGroup::Generic, 0)
    .docs("Executes a command that writes, once however often it is sent with this id; or returns the clock that ids \
         follow.", "0.1.0", "That of the command")
    .arguments(&[
        Argument::integer("client"),
        Argument::integer("sequence"),
        Argument::one_of(
            "attempt",
            &[
                Argument::word("first", "FIRST"),
                Argument::word("again", "AGAIN"),
            ],
        ),
        Argument::string("command"),
        Argument::string("argument").optional(),
    ]),
    command(CommandId::Table, "table", -2, 0)
    .docs("Commands about tables.", "0.1.0", "Depends on the subcommand")
    .subcommands(&[
        command(CommandId::TableAlter, "table|alter", -5, ADMIN)
        .docs("Changes the attributes of a table.", "0.1.0", "O(1)")
        .arguments(&[
            Argument::string("name"),
            MEDIUM,
            DURABILITY,
            REPLICAS,
            MIN_IN_SYNC,
            MAXMEMORY,
            EVICT,
            PLACEMENT,
            NODES,
            PARTITION_BYTES,
            HISTORY,
            LEASES,
        ]),
        command(CommandId::TableBigkeys, "table|bigkeys", -3, ADMIN)
        .docs("Returns the keys of a table with the largest values, as far as bricks have walked over it.", "0.1.0", "O(N log N) for N keys returned")
        .arguments(&[Argument::string("name"), KEYS_COUNT]),
        command(CommandId::TableCreate, "table|create", -3, ADMIN)
        .docs("Makes a table.", "0.1.0", "O(P) for P partitions")
        .arguments(&[
            Argument::string("name"),
            MEDIUM,
            DURABILITY,
            REPLICAS,
            MIN_IN_SYNC,
            Argument::string("partitions")
                .token("PARTITIONS")
                .optional(),
            MAXMEMORY,
            EVICT,
            PLACEMENT,
            NODES,
            PARTITION_BYTES,
            HISTORY,
            LEASES,
            HASH,
            FROM,
            TO,
        ]),
        command(CommandId::TableDescribe, "table|describe", 3, flag::LOADING | flag::STALE)
        .docs("Returns a table's attributes and size.", "0.1.0", "O(P) for P partitions")
        .arguments(&[Argument::string("name")]),
        command(CommandId::TableDigest, "table|digest", -3, ADMIN)
        .docs("Returns what a brick's replicas of a table's partitions hold, as a number each, from a cursor on.", "0.1.0", "O(1) for each call, O(N) for N keys of the brick from 0 to 0")
        .arguments(&[
            Argument::string("name"),
            Argument::string("cursor").optional(),
        ]),
        command(CommandId::TableDrop, "table|drop", 5, ADMIN)
        .docs("Removes a table and its keys; asks for the name twice.", "0.1.0", "O(N) for N keys")
        .arguments(&[
            Argument::string("name"),
            Argument::string("name").token("CONFIRM"),
        ]),
        command(CommandId::TableExport, "table|export", -3, ADMIN)
        .docs("Returns a partition as it was when the first piece was asked for, a piece at a time, while writes go on; or which a brick leads.", "0.1.0", "O(1) for each piece, O(N) for the N keys of the partition")
        .arguments(&[
            Argument::string("name"),
            Argument::integer("partition").optional(),
            Argument::one_of(
                "piece",
                &[
                    Argument::word("next", "NEXT"),
                    Argument::integer("op").token("AFTER"),
                ],
            )
            .optional(),
        ]),
        command(CommandId::TableHelp, "table|help", 2, flag::LOADING | flag::STALE)
        .docs("Lists the subcommands of TABLE.", "0.1.0", "O(1)"),
        command(CommandId::TableHotkeys, "table|hotkeys", -3, ADMIN)
        .docs("Returns the keys of a table that are asked for most, by a sample.", "0.1.0", "O(N log N) for N keys returned")
        .arguments(&[Argument::string("name"), KEYS_COUNT]),
        command(CommandId::TableList, "table|list", 2, flag::LOADING | flag::STALE)
        .tips(&["nondeterministic_output_order"])
        .docs("Returns the names of the tables.", "0.1.0", "O(N) for N tables"),
        command(CommandId::TableMerge, "table|merge", 4, ADMIN)
        .docs("Begins to make one partition of a partition and its sibling; what they hold stays where it is.", "0.1.0", "O(N) for the N keys of both partitions")
        .arguments(&[Argument::string("name"), Argument::integer("partition")]),
        command(CommandId::TableOffline, "table|offline", -3, ADMIN)
        .docs("Frees the memory of a table and keeps its keys, which nobody can read or write until it is online again.", "0.1.0", "O(N) for N partitions; memory is given back by and by")
        .arguments(&[
            Argument::string("name"),
            Argument::word("force", "FORCE").optional(),
        ]),
        command(CommandId::TableOnline, "table|online", 3, ADMIN)
        .docs("Begins to bring a table back into memory from the logs; nothing is copied between nodes.", "0.1.0", "O(N) for the N records that the logs have where the table has any")
        .arguments(&[Argument::string("name")]),
        command(CommandId::TableRecover, "table|recover", -3, ADMIN)
        .docs("Tells what would be lost if partitions that nobody serves went on from what is left, and lets them once \
             that is confirmed.", "0.1.0", "O(N) for N partitions")
        .arguments(&[
            Argument::string("name"),
            Argument::integer("partition").optional(),
            Argument::string("name").token("CONFIRM").optional(),
        ]),
        command(CommandId::TableSplit, "table|split", 4, ADMIN)
        .docs("Begins to make two partitions of one; what it holds stays where it is.", "0.1.0", "O(N) for the N keys of the partition")
        .arguments(&[Argument::string("name"), Argument::integer("partition")]),
        Spec::new(CommandId::TableUse, "table|use", 3, flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::FAST | flag::NO_MULTI).of(CommandGroup::Connection, category::CONNECTION)
        .docs("Lets this connection work on a table.", "0.1.0", "O(1)")
        .arguments(&[Argument::string("name")]),
    ]),
    command(CommandId::Lease, "lease", -2, 0)
    .docs("Commands of clients that keep what they read under leases.", "0.1.0", "Depends on the subcommand")
    .subcommands(&[
        Spec::new(CommandId::LeaseGet, "lease|get", 3, flag::READONLY | flag::FAST)
        .of(CommandGroup::String, category::STRING)
        .keys(&[KeySpec::one(2, key_flag::RO | key_flag::ACCESS)])
        .tips(&["nondeterministic_output"])
        .docs("Returns the value of a key, and for how many milliseconds the client may keep it unless it is told otherwise before.", "0.1.0", "O(1)")
        .arguments(&[Argument::key("key", 0)]),
        command(CommandId::LeaseHelp, "lease|help", 2, flag::LOADING | flag::STALE)
        .docs("Lists the subcommands of LEASE.", "0.1.0", "O(1)"),
        Spec::new(CommandId::LeaseReturn, "lease|return", 3, flag::LOADING | flag::STALE | flag::FAST)
        // Who may get one may give it back.
        .of(CommandGroup::Connection, category::CONNECTION | category::READ)
        .docs("Gives back all leases that were recalled on this connection, up to a number.", "0.1.0", "O(N) for N leases given back")
        .arguments(&[Argument::integer("number")]),
    ]),
];
