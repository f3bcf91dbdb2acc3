//! ACL: users made, shown, changed and removed; what was refused.
//!
//! In:  a subcommand of ACL. Out: its reply, or a change of the catalog; passwords go to the control thread, which hashes them.
//!
//! Not here: what the rules look like (`account_rules`), what they come to (`crate::acl`, the catalog's accounts).

use super::account_rules::parse_rules;
use super::next::{Next, Outcome, Then};
use crate::accepted::ConnectionId;
use crate::acl::Lacking;
use crate::acl_log::AclLog;
use crate::clients::Clients;
use crate::core::Core;
use crate::effect::{ControlRequest, SetRule};
use crate::users::{Rights, User};
use brickyard_command::{
    Args, CATEGORIES, CommandId, ErrorReply, Spec, command_of, help, of_category, parse_integer,
};
use brickyard_metadata::{AccountRule, Change, KeyPattern, TableGrant, UserLimits};
use brickyard_types::UnixMillis;
use brickyard_wire::Reply;

/// Bits of a password that `ACL GENPASS` makes, and most that it makes, as in Redis.
const GENPASS_BITS: i64 = 256;
const GENPASS_BITS_MAX: i64 = 4_096;

/// Entries that `ACL LOG` shows unless it is told.
const LOG_COUNT: usize = 10;

/// Answers ACL.
pub(super) fn acl(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    let now = core.unix;
    match spec.id {
        CommandId::AclHelp => clients.reply(id, |reply| help("acl", reply)),
        CommandId::AclWhoami => {
            let user = clients[id].session.user.as_ref();
            let name = user.map_or_else(|| "default".to_owned(), |user| user.name.clone());
            clients.reply(id, |reply| reply.bulk(name.as_bytes()));
        }
        CommandId::AclCat => clients.answer(id, |reply| cat(args, reply))?,
        CommandId::AclUsers => clients.reply(id, |reply| {
            let users = core.users.iter();
            reply.array(users.len());
            users.for_each(|user| reply.bulk(user.name.as_bytes()));
        }),
        CommandId::AclList => clients.reply(id, |reply| {
            let users = core.users.iter();
            reply.array(users.len());
            users.for_each(|user| reply.bulk(&described(user)));
        }),
        CommandId::AclGetuser => {
            let user = named(core, args.at(2)).cloned();
            clients.reply(id, |reply| match user {
                Some(user) => show_user(&user, reply),
                None => reply.null(),
            });
        }
        CommandId::AclDryrun => clients.answer(id, |reply| dry_run(core, args, reply))?,
        // What is acknowledged is in the catalog of a majority of the nodes, and nothing else is in force.
        CommandId::AclSave | CommandId::AclLoad => clients.reply(id, |reply| reply.ok()),
        CommandId::AclLog => {
            let log = &mut core.shared.acl_log.lock();
            clients.answer(id, |reply| show_log(log, now, args, reply))?;
        }
        CommandId::AclGenpass => {
            let bits = args.get(2).map_or(Some(GENPASS_BITS), parse_integer);
            let bits = bits.ok_or(ErrorReply::NOT_AN_INTEGER)?;
            if !(1..=GENPASS_BITS_MAX).contains(&bits) {
                return Err(ErrorReply::constant(
                    "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096",
                ));
            }
            let request = ControlRequest::GeneratePassword { bits: bits as u32 };
            return Ok(Next::Control(request, Then::Ok));
        }
        CommandId::AclSetuser => return set_user(core, args),
        CommandId::AclDeluser => return delete_users(core, args),
        _ => return Err(ErrorReply::SYNTAX),
    }
    Ok(Next::Done)
}

fn named<'a>(core: &'a Core, name: &[u8]) -> Option<&'a std::sync::Arc<User>> {
    core.users.find(std::str::from_utf8(name).ok()?)
}

/// Users are changed for the whole cluster, so not those that only this node's file has.
fn check_changeable(core: &Core, name: &[u8]) -> Result<String, ErrorReply> {
    if let Err(why) = &core.shared.keeps_users {
        return Err(ErrorReply::new(format!("ERR {why}")));
    }
    let Ok(name) = std::str::from_utf8(name) else {
        return Err(ErrorReply::constant("ERR a user's name is text in UTF-8"));
    };
    if core.users.is_in_file(name) {
        return Err(ErrorReply::new(format!(
            "ERR user '{name}' is in this node's configuration file, which ACL does not change; edit its [[user]] there, and on the other nodes, or take it out"
        )));
    }
    Ok(name.to_owned())
}

fn set_user(core: &Core, args: Args<'_>) -> Outcome {
    let name = check_changeable(core, args.at(2))?;
    let rules = parse_rules(args.from(3))?;
    let known = core.users.find(&name);
    // Who comes without a name could do everything so far: what is said of it now changes that.
    let initial = match known.is_some() && name == "default" {
        true => vec![
            AccountRule::On,
            AccountRule::NoPassword,
            AccountRule::Command("+@all".to_owned()),
            AccountRule::Keys(KeyPattern::all()),
            AccountRule::Channels(b"*".to_vec()),
            AccountRule::Tables(TableGrant::all()),
        ],
        false => Vec::new(),
    };
    let plain: Option<Vec<AccountRule>> = rules
        .iter()
        .map(|rule| match rule {
            SetRule::Rule(rule) => Some(rule.clone()),
            SetRule::AddPassword(_) | SetRule::RemovePassword(_) => None,
        })
        .collect();
    Ok(match plain {
        Some(rules) => Next::change(Change::SetAccount {
            name,
            initial,
            rules,
        }),
        None => {
            let request = ControlRequest::SetAccount {
                hashes: known.map_or_else(Vec::new, |user| user.password_hashes.clone()),
                name,
                initial,
                rules,
            };
            Next::Control(request, Then::Ok)
        }
    })
}

fn delete_users(core: &Core, args: Args<'_>) -> Outcome {
    let mut names = Vec::new();
    for name in args.from(2) {
        if name == b"default" {
            return Err(ErrorReply::constant(
                "ERR The 'default' user cannot be removed",
            ));
        }
        names.push(check_changeable(core, name)?);
    }
    names.sort_unstable();
    names.dedup();
    let known = names.iter().filter(|name| core.users.find(name).is_some());
    let then = Then::Count(known.count() as i64);
    let request = ControlRequest::Change(Change::DropAccounts { names });
    Ok(Next::Control(request, then))
}

fn cat(args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), ErrorReply> {
    let Some(category) = args.get(2) else {
        reply.array(CATEGORIES.len());
        for (name, _) in CATEGORIES {
            reply.bulk(name.as_bytes());
        }
        return Ok(());
    };
    if args.len() > 3 {
        return Err(ErrorReply::wrong_arity("acl|cat"));
    }
    let Some(commands) = of_category(category) else {
        let category = String::from_utf8_lossy(category);
        return Err(ErrorReply::new(format!(
            "ERR Unknown category '{category}'"
        )));
    };
    let shown: Vec<_> = commands.filter(|spec| !spec.is_hidden).collect();
    reply.array(shown.len());
    shown
        .iter()
        .for_each(|spec| reply.bulk(spec.name.as_bytes()));
    Ok(())
}

fn flags_of(user: &User) -> Vec<&'static str> {
    let mut flags = vec![if user.acl.is_on { "on" } else { "off" }];
    if user.needs_no_password() {
        flags.push("nopass");
    }
    flags
}

fn keys_of(user: &User) -> Vec<u8> {
    let each = user.acl.keys.iter().map(|it| {
        let head: &[u8] = match (it.read, it.write) {
            (true, false) => b"%R~",
            (false, true) => b"%W~",
            _ => b"~",
        };
        [head, &it.pattern].concat()
    });
    each.collect::<Vec<_>>().join(&b' ')
}

fn channels_of(user: &User) -> Vec<u8> {
    let each = user.acl.channels.iter().map(|it| [b"&", &it[..]].concat());
    each.collect::<Vec<_>>().join(&b' ')
}

fn tables_of(user: &User) -> String {
    let each = user.grants.iter().map(|grant| {
        let rights = [
            (grant.rights.read, "read"),
            (grant.rights.write, "write"),
            (grant.rights.admin, "admin"),
        ];
        let words = rights
            .into_iter()
            .filter_map(|(is, word)| is.then_some(word));
        format!(
            "table:{}={}",
            grant.tables,
            words.collect::<Vec<_>>().join(",")
        )
    });
    each.collect::<Vec<_>>().join(" ")
}

/// Limits as the rules that make them; none of what is not limited.
fn limits_of(user: &User) -> String {
    let UserLimits {
        connections,
        operations,
        bytes,
    } = user.limits;
    let limits = [
        ("connections", connections),
        ("ops", operations),
        ("bytes", bytes),
    ];
    let set = limits.into_iter().filter(|(_, most)| *most > 0);
    set.map(|(what, most)| format!("limit:{what}={most}"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A user as the rules that make it, like a line of Redis's `ACL LIST`; tables are told of where not all are granted, limits where there are any.
fn described(user: &User) -> Vec<u8> {
    let mut out = format!("user {} {}", user.name, flags_of(user).join(" ")).into_bytes();
    let mut word = |bytes: &[u8]| {
        if !bytes.is_empty() {
            out.push(b' ');
            out.extend_from_slice(bytes);
        }
    };
    for hash in &user.password_hashes {
        word(format!("#{hash}").as_bytes());
    }
    word(&keys_of(user));
    let channels = channels_of(user);
    word(if channels.is_empty() {
        b"resetchannels"
    } else {
        &channels
    });
    let has_all = user.grants.len() == 1
        && user.grants[0].tables == "*"
        && user.grants[0].rights == Rights::ALL;
    if !has_all {
        word(b"resettables");
        word(tables_of(user).as_bytes());
    }
    word(limits_of(user).as_bytes());
    word(user.acl.command_rules.as_bytes());
    out
}

fn show_user(user: &User, reply: &mut Reply<'_>) {
    let limits = limits_of(user);
    reply.map(if limits.is_empty() { 7 } else { 8 });
    reply.bulk(b"flags");
    let flags = flags_of(user);
    reply.array(flags.len());
    flags.iter().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"passwords");
    reply.array(user.password_hashes.len());
    user.password_hashes
        .iter()
        .for_each(|hash| reply.bulk(hash.as_bytes()));
    reply.bulk(b"commands");
    reply.bulk(user.acl.command_rules.as_bytes());
    reply.bulk(b"keys");
    reply.bulk(&keys_of(user));
    reply.bulk(b"channels");
    reply.bulk(&channels_of(user));
    reply.bulk(b"selectors");
    reply.array(0);
    reply.bulk(b"tables");
    reply.bulk(tables_of(user).as_bytes());
    // Behind the rest, and only of who has some: clients that know Redis alone find what they look for.
    if !limits.is_empty() {
        reply.bulk(b"limits");
        reply.bulk(limits.as_bytes());
    }
}

fn dry_run(core: &Core, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), ErrorReply> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let Some(user) = named(core, args.at(2)) else {
        let name = text(args.at(2));
        return Err(ErrorReply::new(format!("ERR User '{name}' not found")));
    };
    let request = args.skip(3);
    let Some(spec) = command_of(request) else {
        let name = text(args.at(3));
        return Err(ErrorReply::new(format!("ERR Command '{name}' not found")));
    };
    if !spec.accepts(request.len()) {
        return Err(ErrorReply::wrong_arity(spec.name));
    }
    let name = &user.name;
    match user.acl.lacking(spec, request) {
        None => reply.ok(),
        Some(Lacking::Key(key)) => {
            let why = format!(
                "User {name} has no permissions to access the '{}' key",
                text(&key)
            );
            reply.bulk(why.as_bytes());
        }
        Some(Lacking::Channel(channel)) => {
            let why = format!(
                "User {name} has no permissions to access the '{}' channel",
                text(&channel)
            );
            reply.bulk(why.as_bytes());
        }
        Some(Lacking::Command(command) | Lacking::Table(command)) => {
            let why = format!("User {name} has no permissions to run the '{command}' command");
            reply.bulk(why.as_bytes());
        }
    }
    Ok(())
}

fn show_log(
    log: &mut AclLog,
    now: UnixMillis,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), ErrorReply> {
    let count = match args.get(2) {
        Some(word) if word.eq_ignore_ascii_case(b"reset") => {
            log.clear();
            reply.ok();
            return Ok(());
        }
        Some(word) => {
            let count = parse_integer(word).ok_or(ErrorReply::NOT_AN_INTEGER)?;
            usize::try_from(count).unwrap_or(0)
        }
        None => LOG_COUNT,
    };
    let count = count.min(log.iter().len());
    reply.array(count);
    for entry in log.iter().take(count) {
        let denied = &entry.denied;
        reply.map(10);
        let number = |reply: &mut Reply<'_>, field: &str, value: u64| {
            reply.bulk(field.as_bytes());
            reply.integer(value as i64);
        };
        let text = |reply: &mut Reply<'_>, field: &str, value: &[u8]| {
            reply.bulk(field.as_bytes());
            reply.bulk(value);
        };
        let age = now.0.saturating_sub(entry.created.0);
        number(reply, "count", entry.count);
        text(reply, "reason", denied.reason.as_bytes());
        text(reply, "context", denied.context.as_bytes());
        text(reply, "object", &denied.object);
        text(reply, "username", denied.user.as_bytes());
        text(
            reply,
            "age-seconds",
            format!("{}.{:03}", age / 1000, age % 1000).as_bytes(),
        );
        text(
            reply,
            "client-info",
            format!("addr={}", denied.client).as_bytes(),
        );
        number(reply, "entry-id", entry.id);
        number(reply, "timestamp-created", entry.created.0);
        number(reply, "timestamp-last-updated", entry.updated.0);
    }
    Ok(())
}

#[cfg(test)]
#[path = "acl_test.rs"]
mod acl_test;
