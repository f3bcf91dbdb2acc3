//! COMMAND and the HELP of containers: what the table of commands says, as replies.
//!
//! In:  the table. Out: the replies that clients route by (`COMMAND`, `COMMAND INFO`) and that
//!      `redis-cli` hints from (`COMMAND DOCS`).
//!
//! Invariants:
//! - The ten fields of `COMMAND INFO` are those of redis-server 7.0.15 for every command that it
//!   has (testdata/redis-7.0.15-commands.txt).
//! - Hidden commands are not shown anywhere.

use crate::args::Args;
use crate::error::ErrorReply;
use crate::glob;
use crate::resolve::find;
use crate::table::{
    Argument, ArgumentKind, COMMANDS, CommandId, KeySpec, Spec, category, flag, key_flag,
    lookup_full,
};
use brickyard_wire::Reply;

/// Answers COMMAND and its subcommands.
///
/// # Errors
/// Redis's errors.
///
/// # Panics
/// If `id` is neither COMMAND nor one of its subcommands.
pub fn describe(id: CommandId, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), ErrorReply> {
    match id {
        CommandId::Command => reply_all(reply),
        CommandId::CommandCount => reply.integer(COMMANDS.len() as i64),
        CommandId::CommandDocs => reply_docs(args, reply),
        CommandId::CommandGetkeys => return reply_keys(args.skip(2), false, reply),
        CommandId::CommandGetkeysandflags => return reply_keys(args.skip(2), true, reply),
        CommandId::CommandHelp => help("command", reply),
        CommandId::CommandInfo if args.len() == 2 => reply_all(reply),
        CommandId::CommandInfo => {
            let names = args.from(2);
            reply.array(names.len());
            for name in names {
                match shown(name) {
                    Some(spec) => reply_info(spec, reply),
                    None => reply.null(),
                }
            }
        }
        CommandId::CommandList => return reply_list(args, reply),
        _ => panic!("{id:?} is no subcommand of COMMAND"),
    }
    Ok(())
}

fn shown(name: &[u8]) -> Option<&'static Spec> {
    lookup_full(name).filter(|spec| !spec.is_hidden)
}

fn shown_subcommands(spec: &Spec) -> impl Iterator<Item = &'static Spec> + Clone + use<> {
    spec.subcommands.iter().filter(|spec| !spec.is_hidden)
}

fn reply_all(reply: &mut Reply<'_>) {
    reply.array(COMMANDS.len());
    for spec in &COMMANDS {
        reply_info(spec, reply);
    }
}

fn reply_info(spec: &Spec, reply: &mut Reply<'_>) {
    reply.array(10);
    reply.bulk(spec.name.as_bytes());
    reply.integer(i64::from(spec.arity));
    reply_words(spec.flags, flag::WORDS, "", reply);
    reply.integer(i64::from(spec.key_first));
    reply.integer(i64::from(spec.key_last));
    reply.integer(i64::from(spec.key_step));
    reply_words(spec.categories, category::WORDS, "@", reply);
    reply.set(spec.tips.len());
    for tip in spec.tips {
        reply.bulk(tip.as_bytes());
    }
    reply.set(spec.key_specs.len());
    for keys in spec.key_specs {
        reply_key_spec(keys, reply);
    }
    if spec.subcommands.is_empty() {
        reply.set(0);
    } else {
        reply.array(shown_subcommands(spec).count());
        shown_subcommands(spec).for_each(|spec| reply_info(spec, reply));
    }
}

/// The words of the bits that are set, as a set of statuses.
fn reply_words(bits: u32, words: &[(u32, &str)], prefix: &str, reply: &mut Reply<'_>) {
    let set = words.iter().filter(|(bit, _)| bits & bit != 0);
    reply.set(set.clone().count());
    for (_, word) in set {
        reply.simple(&format!("{prefix}{word}"));
    }
}

fn reply_key_spec(keys: &KeySpec, reply: &mut Reply<'_>) {
    reply.map(3 + usize::from(keys.notes.is_some()));
    if let Some(notes) = keys.notes {
        reply_pair("notes", notes, reply);
    }
    reply.bulk(b"flags");
    reply_words(keys.flags, key_flag::WORDS, "", reply);
    if let Some(count_at) = keys.count_at {
        reply_search("begin_search", "index", &[("index", count_at)], reply);
        let counted = [("keynumidx", 0), ("firstkey", 1), ("keystep", keys.step)];
        return reply_search("find_keys", "keynum", &counted, reply);
    }
    reply_search("begin_search", "index", &[("index", keys.first)], reply);
    let range = [("lastkey", keys.last), ("keystep", keys.step), ("limit", 0)];
    reply_search("find_keys", "range", &range, reply);
}

fn reply_search(name: &str, kind: &str, fields: &[(&str, i32)], reply: &mut Reply<'_>) {
    reply.bulk(name.as_bytes());
    reply.map(2);
    reply_pair("type", kind, reply);
    reply.bulk(b"spec");
    reply.map(fields.len());
    for (field, number) in fields {
        reply.bulk(field.as_bytes());
        reply.integer(i64::from(*number));
    }
}

fn reply_pair(name: &str, text: &str, reply: &mut Reply<'_>) {
    reply.bulk(name.as_bytes());
    reply.bulk(text.as_bytes());
}

fn reply_docs(args: Args<'_>, reply: &mut Reply<'_>) {
    let specs: Vec<&Spec> = if args.len() == 2 {
        COMMANDS.iter().collect()
    } else {
        args.from(2).filter_map(shown).collect()
    };
    reply.map(specs.len());
    for spec in specs {
        reply_docs_of(spec, reply);
    }
}

fn reply_docs_of(spec: &Spec, reply: &mut Reply<'_>) {
    let docs = &spec.docs;
    let has_arguments = !docs.arguments.is_empty();
    let has_subcommands = !spec.subcommands.is_empty();
    reply.bulk(spec.name.as_bytes());
    let deprecated_fields = if docs.deprecated.is_some() { 3 } else { 0 };
    reply.map(4 + deprecated_fields + usize::from(has_arguments) + usize::from(has_subcommands));
    reply_pair("summary", docs.summary, reply);
    reply_pair("since", docs.since, reply);
    reply_pair("group", docs.group.word(), reply);
    reply_pair("complexity", docs.complexity, reply);
    if let Some((since, instead)) = docs.deprecated {
        reply.bulk(b"doc_flags");
        reply.set(1);
        reply.simple("deprecated");
        reply_pair("deprecated_since", since, reply);
        reply_pair("replaced_by", instead, reply);
    }
    if has_arguments {
        reply.bulk(b"arguments");
        reply_arguments(docs.arguments, reply);
    }
    if has_subcommands {
        reply.bulk(b"subcommands");
        reply.map(shown_subcommands(spec).count());
        shown_subcommands(spec).for_each(|spec| reply_docs_of(spec, reply));
    }
}

fn reply_arguments(arguments: &[Argument], reply: &mut Reply<'_>) {
    reply.array(arguments.len());
    for argument in arguments {
        let flags = [
            (argument.is_optional, "optional"),
            (argument.is_multiple, "multiple"),
            (argument.is_multiple_token, "multiple_token"),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set);
        let has_flags = flags.clone().next().is_some();
        let is_nested = matches!(argument.kind, ArgumentKind::OneOf | ArgumentKind::Block);
        let optional_fields = [
            argument.key_spec.is_some(),
            argument.token.is_some(),
            has_flags,
            is_nested,
        ];
        reply.map(2 + optional_fields.iter().filter(|is_there| **is_there).count());
        reply_pair("name", argument.name, reply);
        reply_pair("type", argument.kind.word(), reply);
        if let Some(key_spec) = argument.key_spec {
            reply.bulk(b"key_spec_index");
            reply.integer(i64::from(key_spec));
        }
        if let Some(token) = argument.token {
            reply_pair("token", token, reply);
        }
        if has_flags {
            reply.bulk(b"flags");
            reply.set(flags.clone().count());
            flags.for_each(|(_, word)| reply.simple(word));
        }
        if is_nested {
            reply.bulk(b"arguments");
            reply_arguments(argument.arguments, reply);
        }
    }
}

fn reply_keys(
    request: Args<'_>,
    with_flags: bool,
    reply: &mut Reply<'_>,
) -> Result<(), ErrorReply> {
    let spec = find(request).filter(|spec| !spec.is_hidden);
    let spec = spec.ok_or(ErrorReply::constant("ERR Invalid command specified"))?;
    let is_key = |it: &KeySpec| it.flags & key_flag::NOT_KEY == 0;
    if !spec.key_specs.iter().any(is_key) {
        return Err(ErrorReply::constant("ERR The command has no key arguments"));
    }
    if !spec.accepts(request.len()) {
        return Err(ErrorReply::constant(
            "ERR Invalid number of arguments specified for command",
        ));
    }
    let mut keys = Vec::new();
    for spec_keys in spec.key_specs {
        let positions = spec_keys.positions(request);
        let (begin, end) = positions.ok_or(ErrorReply::constant(
            "ERR Invalid arguments specified for command",
        ))?;
        let flags = flags_of(spec.id, spec_keys, request);
        keys.extend(
            (begin..end)
                .step_by(spec_keys.step as usize)
                .map(|position| (position, flags)),
        );
    }
    reply.array(keys.len());
    for (position, flags) in keys {
        if with_flags {
            reply.array(2);
        }
        reply.bulk(request.at(position));
        if with_flags {
            reply_words(flags, key_flag::WORDS, "", reply);
        }
    }
    Ok(())
}

/// What a request does to its keys, where that depends on its arguments.
fn flags_of(id: CommandId, keys: &KeySpec, request: Args<'_>) -> u32 {
    let read_and_written = key_flag::RW | key_flag::ACCESS | key_flag::UPDATE;
    match id {
        CommandId::Set => {
            let returns_old = request
                .from(3)
                .any(|option| option.eq_ignore_ascii_case(b"get"));
            if returns_old {
                read_and_written
            } else {
                key_flag::OW | key_flag::UPDATE
            }
        }
        CommandId::Bitfield if only_gets(request) => key_flag::RO | key_flag::ACCESS,
        CommandId::Bitfield => read_and_written,
        _ => keys.flags,
    }
}

/// Whether a BITFIELD request has no operation but GET.
fn only_gets(request: Args<'_>) -> bool {
    let mut at = 2;
    while let Some(name) = request.get(at) {
        let following = request.len() - at - 1;
        at += if name.eq_ignore_ascii_case(b"get") && following >= 2 {
            3
        } else if name.eq_ignore_ascii_case(b"overflow") && following >= 1 {
            2
        } else {
            return false;
        };
    }
    true
}

fn reply_list(args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), ErrorReply> {
    let is_shown: Box<dyn Fn(&Spec) -> bool + '_> = match args.len() {
        2 => Box::new(|_| true),
        5 if args.at(2).eq_ignore_ascii_case(b"filterby") => {
            let wanted = args.at(4);
            let is = |word: &[u8]| args.at(3).eq_ignore_ascii_case(word);
            if is(b"module") {
                Box::new(|_| false)
            } else if is(b"aclcat") {
                let bit = category::WORDS
                    .iter()
                    .find(|(_, word)| wanted.eq_ignore_ascii_case(word.as_bytes()))
                    .map_or(0, |(bit, _)| *bit);
                Box::new(move |spec| spec.categories & bit != 0)
            } else if is(b"pattern") {
                Box::new(|spec| glob::matches(wanted, spec.name.as_bytes(), true))
            } else {
                return Err(ErrorReply::SYNTAX);
            }
        }
        _ => return Err(ErrorReply::SYNTAX),
    };
    let names: Vec<&str> = COMMANDS
        .iter()
        .flat_map(|spec| std::iter::once(spec).chain(shown_subcommands(spec)))
        .filter(|spec| is_shown(spec))
        .map(|spec| spec.name)
        .collect();
    reply.array(names.len());
    for name in names {
        reply.bulk(name.as_bytes());
    }
    Ok(())
}

/// Answers the HELP of a command that has subcommands.
///
/// # Panics
/// If there is no such command.
pub fn help(container: &str, reply: &mut Reply<'_>) {
    let Some(spec) = lookup_full(container.as_bytes()) else {
        panic!("{container} is no command");
    };
    let name = spec.name.to_ascii_uppercase();
    let others = shown_subcommands(spec).filter(|spec| spec.short_name() != "help");
    reply.array(1 + 2 * others.clone().count() + 2);
    reply.simple(&format!(
        "{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    ));
    for one in others {
        let mut line = one.short_name().to_ascii_uppercase();
        for argument in one.docs.arguments {
            line.push(' ');
            push_usage(argument, &mut line);
        }
        reply.simple(&line);
        reply.simple(&format!("    {}", one.docs.summary));
    }
    reply.simple("HELP");
    reply.simple("    Prints this help.");
}

/// Writes an argument as manuals do: `[COUNT <count>]`, `<ON|OFF>`.
fn push_usage(argument: &Argument, line: &mut String) {
    if argument.is_optional {
        line.push('[');
    }
    if let Some(token) = argument.token {
        line.push_str(token);
        if argument.kind != ArgumentKind::PureToken {
            line.push(' ');
        }
    }
    match argument.kind {
        ArgumentKind::PureToken => {}
        ArgumentKind::OneOf => {
            line.push('<');
            push_joined(argument.arguments, "|", line);
            line.push('>');
        }
        ArgumentKind::Block => push_joined(argument.arguments, " ", line),
        _ => {
            line.push('<');
            line.push_str(argument.name);
            line.push('>');
        }
    }
    if argument.is_multiple {
        line.push_str(" ...");
    }
    if argument.is_optional {
        line.push(']');
    }
}

fn push_joined(arguments: &[Argument], separator: &str, line: &mut String) {
    for (at, argument) in arguments.iter().enumerate() {
        if at > 0 {
            line.push_str(separator);
        }
        push_usage(argument, line);
    }
}

#[cfg(test)]
#[path = "describe_test.rs"]
mod describe_test;
