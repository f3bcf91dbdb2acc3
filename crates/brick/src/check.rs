//! What is wrong with a request whatever its command does: a name that is none, the arity, rights.
//!
//! The order of the checks is Redis's, so that a request with several faults gets the same error.

use crate::acl::Lacking;
use crate::acl_log::Denied;
use crate::clients::enter_anonymous;
use crate::connection::Connection;
use crate::core::Core;
use crate::refusal::NO_AUTH;
use crate::users::{Rights, User};
use brickyard_command::{Args, CommandId, ErrorReply, Spec, resolve, table::flag};

/// What is wrong with a request whatever its command does.
#[inline(always)]
pub(crate) fn check(
    core: &Core,
    connection: &mut Connection,
    spec: Option<&'static Spec>,
    args: &Args<'_>,
) -> Result<&'static Spec, ErrorReply> {
    connection.session.commands += 1;
    let spec = match spec {
        Some(spec) if spec.subcommands.is_empty() && spec.accepts(args.len()) => spec,
        _ => resolve(*args)?,
    };
    connection.session.last_command = spec.name;
    if connection.session.user.is_none() {
        if spec.has(flag::NO_AUTH) {
            return Ok(spec);
        }
        if !enter_anonymous(core, connection)? {
            return Err(NO_AUTH);
        }
    }
    if !connection.session.granted.is_free || needs_check(spec) {
        check_rights(connection, spec, *args)?;
    }
    if connection.only_subscribes() && !is_for_subscribers(spec) {
        return Err(only_for_subscribers(spec));
    }
    if connection.session.multi.queue.is_some() && spec.has(flag::NO_MULTI) {
        return Err(ErrorReply::constant(
            "ERR Command not allowed inside a transaction",
        ));
    }
    Ok(spec)
}

/// Whether a command is looked at although its user may do everything in its table: all rights on a table are none on the node, and
/// all keys are no channels.
const fn needs_check(spec: &Spec) -> bool {
    spec.flags & (flag::ADMIN | flag::PUBSUB) != 0
}

/// Whether a client of RESP2 that subscribes may send the command: it cannot tell other replies from messages.
const fn is_for_subscribers(spec: &Spec) -> bool {
    use CommandId as Id;
    matches!(
        spec.id,
        Id::Subscribe
            | Id::Unsubscribe
            | Id::Psubscribe
            | Id::Punsubscribe
            | Id::Ssubscribe
            | Id::Sunsubscribe
            | Id::Ping
            | Id::Quit
            | Id::Reset
    )
}

fn only_for_subscribers(spec: &Spec) -> ErrorReply {
    ErrorReply::new(format!(
        "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
        spec.name
    ))
}

/// Refuses what the user may not do, and leaves a note of it for the log.
#[inline(never)]
fn check_rights(
    connection: &mut Connection,
    spec: &'static Spec,
    args: Args<'_>,
) -> Result<(), ErrorReply> {
    let session = &connection.session;
    let Some(user) = &session.user else {
        return Err(NO_AUTH);
    };
    let Some(lacking) = lacking(user, session.granted.rights, spec, args) else {
        return Ok(());
    };
    let is_queueing = session.multi.queue.is_some();
    let (reason, object) = match &lacking {
        Lacking::Command(name) => ("command", name.as_bytes().to_vec()),
        Lacking::Key(key) => ("key", key.clone()),
        Lacking::Channel(name) => ("channel", name.clone()),
        Lacking::Table(name) => ("table", name.as_bytes().to_vec()),
    };
    let error = lacking.error(&user.name);
    connection.session.denied = Some(Denied {
        reason,
        context: if is_queueing { "multi" } else { "toplevel" },
        object,
        user: user.name.clone(),
        client: connection.accepted.peer.clone(),
    });
    Err(error)
}

/// Whether a command that was queued may still run: its user may have changed since.
pub(crate) fn recheck(
    connection: &mut Connection,
    spec: &'static Spec,
    args: Args<'_>,
) -> Result<(), ErrorReply> {
    if !connection.session.granted.is_free || needs_check(spec) {
        check_rights(connection, spec, args)?;
    }
    Ok(())
}

/// What a user lacks: the command, a key, or rights on the connection's table; on the node, for commands that are about it. What
/// TABLE does to other tables is checked when their names are known (`session::tables`).
fn lacking(user: &User, rights: Rights, spec: &'static Spec, args: Args<'_>) -> Option<Lacking> {
    let lacking = user.acl.lacking(spec, args);
    if lacking.is_some() {
        return lacking;
    }
    let is_of_tables = spec.name.starts_with("table");
    let needs_node = spec.has(flag::ADMIN) && !is_of_tables;
    let wanted = Rights {
        read: spec.has(flag::READONLY),
        write: spec.has(flag::WRITE),
        admin: false,
    };
    let is_granted = rights.covers(wanted) && (user.administers_node() || !needs_node);
    let may = is_granted || is_of_tables || spec.has(flag::NO_AUTH);
    (!may).then_some(Lacking::Table(spec.name))
}
