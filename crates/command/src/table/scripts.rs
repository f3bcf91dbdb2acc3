//! Scripts in Lua, and functions.

use super::{Argument, CommandGroup, CommandId, KeySpec, Spec, category, flag, key_flag};

/// What is done to the keys of a script that may write; what Redis notes of it at the text, not at the name.
const WRITTEN: KeySpec = KeySpec::counted(2, key_flag::RW | key_flag::ACCESS | key_flag::UPDATE);
const WRITTEN_BY_TEXT: KeySpec =
    WRITTEN.notes("We cannot tell how the keys will be used so we assume the worst, RW and UPDATE");

/// And of one that may not.
const READ: KeySpec = KeySpec::counted(2, key_flag::RO | key_flag::ACCESS);
const READ_BY_TEXT: KeySpec =
    READ.notes("We cannot tell how the keys will be used so we assume the worst, RO and ACCESS");

/// A command of this family.
const fn command(id: CommandId, name: &'static str, arity: i8, flags: u32) -> Spec {
    Spec::new(id, name, arity, flags | flag::NOSCRIPT)
        .of(CommandGroup::Scripting, category::SCRIPTING)
}

/// One that runs a script, which may write.
const fn runs(id: CommandId, name: &'static str, keys: &'static [KeySpec]) -> Spec {
    let flags = flag::STALE | flag::SKIP_MONITOR;
    command(id, name, -3, flags).counted_keys(keys)
}

/// One that runs a script that only reads.
const fn reads(id: CommandId, name: &'static str, keys: &'static [KeySpec]) -> Spec {
    let flags = flag::STALE | flag::SKIP_MONITOR | flag::READONLY;
    let mut spec = command(id, name, -3, flags).counted_keys(keys);
    // As in Redis: what a script reads is checked command by command.
    spec.categories &= !category::READ;
    spec
}

const SCRIPT: Argument = Argument::string("script");
const SHA1: Argument = Argument::string("sha1");
const REST: [Argument; 3] = [
    Argument::integer("numkeys"),
    Argument::key("key", 0).optional().multiple(),
    Argument::string("arg").optional().multiple(),
];
const OF_TEXT: &[Argument] = &[SCRIPT, REST[0], REST[1], REST[2]];
const OF_SHA: &[Argument] = &[SHA1, REST[0], REST[1], REST[2]];
const OF_FUNCTION: &[Argument] = &[Argument::string("function"), REST[0], REST[1], REST[2]];

/// How memory is freed, which is the same in either case.
const MODE: Argument = Argument::one_of(
    "async",
    &[
        Argument::word("async", "ASYNC"),
        Argument::word("sync", "SYNC"),
    ],
)
.optional();

/// A client sends it to each node, where a change of one is not that of all.
const OF_ALL_SHARDS: &[&str] = &["request_policy:all_shards", "response_policy:all_succeeded"];

const COST: &str = "That of the script";

pub(super) const COMMANDS: &[Spec] = &[
    runs(CommandId::Eval, "eval", &[WRITTEN_BY_TEXT])
        .docs("Runs a script in Lua.", "2.6.0", COST)
        .arguments(OF_TEXT),
    reads(CommandId::EvalRo, "eval_ro", &[READ_BY_TEXT])
        .docs("Runs a script in Lua that only reads.", "7.0.0", COST)
        .arguments(OF_TEXT),
    runs(CommandId::Evalsha, "evalsha", &[WRITTEN])
        .docs(
            "Runs a script that is known here by its SHA-1.",
            "2.6.0",
            COST,
        )
        .arguments(OF_SHA),
    reads(CommandId::EvalshaRo, "evalsha_ro", &[READ])
        .docs(
            "Runs a script that only reads, known here by its SHA-1.",
            "7.0.0",
            COST,
        )
        .arguments(OF_SHA),
    runs(CommandId::Fcall, "fcall", &[WRITTEN_BY_TEXT])
        .docs("Calls a function.", "7.0.0", "That of the function")
        .arguments(OF_FUNCTION),
    reads(CommandId::FcallRo, "fcall_ro", &[READ_BY_TEXT])
        .docs(
            "Calls a function that only reads.",
            "7.0.0",
            "That of the function",
        )
        .arguments(OF_FUNCTION),
    Spec::new(CommandId::Function, "function", -2, 0)
        .of(CommandGroup::Scripting, 0)
        .docs(
            "Commands about libraries of functions.",
            "7.0.0",
            "Depends on the subcommand",
        )
        .subcommands(&[
            command(CommandId::FunctionDelete, "function|delete", 3, flag::WRITE)
                .tips(OF_ALL_SHARDS)
                .docs("Deletes a library with its functions.", "7.0.0", "O(1)")
                .arguments(&[Argument::string("library-name")]),
            command(CommandId::FunctionDump, "function|dump", 2, 0).docs(
                "Returns all libraries as FUNCTION RESTORE takes them.",
                "7.0.0",
                "O(N) for texts of N bytes",
            ),
            command(CommandId::FunctionFlush, "function|flush", -2, flag::WRITE)
                .tips(OF_ALL_SHARDS)
                .docs("Deletes all libraries.", "7.0.0", "O(N) for N functions")
                .arguments(&[MODE]),
            Spec::new(
                CommandId::FunctionHelp,
                "function|help",
                2,
                flag::LOADING | flag::STALE,
            )
            .of(CommandGroup::Scripting, category::SCRIPTING)
            .docs("Lists the subcommands of FUNCTION.", "7.0.0", "O(1)"),
            command(
                CommandId::FunctionKill,
                "function|kill",
                2,
                flag::ALLOW_BUSY,
            )
            .tips(&["request_policy:all_shards", "response_policy:one_succeeded"])
            .docs(
                "Ends the functions that run on this node; nothing of them is executed.",
                "7.0.0",
                "O(1)",
            ),
            command(CommandId::FunctionList, "function|list", -2, 0)
                .tips(&["nondeterministic_output_order"])
                .docs(
                    "Lists libraries with their functions.",
                    "7.0.0",
                    "O(N) for N functions",
                )
                .arguments(&[
                    Argument::string("library-name-pattern")
                        .token("LIBRARYNAME")
                        .optional(),
                    Argument::word("withcode", "WITHCODE").optional(),
                ]),
            command(
                CommandId::FunctionLoad,
                "function|load",
                -3,
                flag::WRITE | flag::DENYOOM,
            )
            .tips(OF_ALL_SHARDS)
            .docs(
                "Makes a library known to the whole cluster, and returns its name.",
                "7.0.0",
                "O(N) for a text of N bytes",
            )
            .arguments(&[
                Argument::word("replace", "REPLACE").optional(),
                Argument::string("function-code"),
            ]),
            command(
                CommandId::FunctionRestore,
                "function|restore",
                -3,
                flag::WRITE | flag::DENYOOM,
            )
            .tips(OF_ALL_SHARDS)
            .docs(
                "Makes the libraries of a payload known to the whole cluster.",
                "7.0.0",
                "O(N) for texts of N bytes",
            )
            .arguments(&[
                Argument::string("serialized-value"),
                Argument::one_of(
                    "policy",
                    &[
                        Argument::word("flush", "FLUSH"),
                        Argument::word("append", "APPEND"),
                        Argument::word("replace", "REPLACE"),
                    ],
                )
                .optional(),
            ]),
            command(
                CommandId::FunctionStats,
                "function|stats",
                2,
                flag::ALLOW_BUSY,
            )
            .tips(&[
                "nondeterministic_output",
                "request_policy:all_shards",
                "response_policy:special",
            ])
            .docs(
                "Counts libraries and functions.",
                "7.0.0",
                "O(N) for N functions",
            ),
        ]),
    Spec::new(CommandId::Script, "script", -2, 0)
        .of(CommandGroup::Scripting, 0)
        .docs(
            "Commands about the scripts that a node knows.",
            "2.6.0",
            "Depends on the subcommand",
        )
        .subcommands(&[
            command(CommandId::ScriptExists, "script|exists", -3, 0)
                .tips(&[
                    "request_policy:all_shards",
                    "response_policy:agg_logical_and",
                ])
                .docs(
                    "Tells which of these SHA-1s are those of known scripts.",
                    "2.6.0",
                    "O(N) for N names",
                )
                .arguments(&[SHA1.multiple()]),
            command(CommandId::ScriptFlush, "script|flush", -2, 0)
                .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
                .docs("Forgets all scripts.", "2.6.0", "O(N) for N scripts")
                .arguments(&[MODE]),
            Spec::new(
                CommandId::ScriptHelp,
                "script|help",
                2,
                flag::LOADING | flag::STALE,
            )
            .of(CommandGroup::Scripting, category::SCRIPTING)
            .docs("Lists the subcommands of SCRIPT.", "5.0.0", "O(1)"),
            command(CommandId::ScriptKill, "script|kill", 2, flag::ALLOW_BUSY)
                .tips(&["request_policy:all_shards", "response_policy:one_succeeded"])
                .docs(
                    "Ends the scripts that run on this node; nothing of them is executed.",
                    "2.6.0",
                    "O(1)",
                ),
            command(CommandId::ScriptLoad, "script|load", 3, flag::STALE)
                .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
                .docs(
                    "Makes a script known here and returns its SHA-1.",
                    "2.6.0",
                    "O(N) for a text of N bytes",
                )
                .arguments(&[SCRIPT]),
        ]),
];
