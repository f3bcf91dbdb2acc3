//! What is wrong with a request whatever its command does: a name that is none, the arity, rights.
//!
//! The order of the checks is Redis's, so that a request with several faults gets the same error.

use crate::connection::Connection;
use crate::users::Rights;
use brickyard_command::{Args, ErrorReply, Spec, resolve, table::flag};

/// What is wrong with a request whatever its command does.
#[inline(always)]
pub(crate) fn check(
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
    let Some(_) = connection.session.user else {
        if spec.has(flag::NO_AUTH) {
            return Ok(spec);
        }
        return Err(ErrorReply::constant("NOAUTH Authentication required."));
    };
    // All rights on a table are none on the node.
    if connection.session.rights != Rights::ALL || spec.has(flag::ADMIN) {
        check_rights(connection, spec)?;
    }
    if connection.session.multi.queue.is_some() && spec.has(flag::NO_MULTI) {
        return Err(ErrorReply::constant(
            "ERR Command not allowed inside a transaction",
        ));
    }
    Ok(spec)
}

/// Rights on the connection's table; on the node, for commands that are about it. What TABLE does to
/// other tables is checked when their names are known (`session::tables`).
fn check_rights(connection: &Connection, spec: &Spec) -> Result<(), ErrorReply> {
    let is_of_tables = spec.name.starts_with("table");
    let needs_node = spec.has(flag::ADMIN) && !is_of_tables;
    let administers = connection
        .session
        .user
        .as_ref()
        .is_some_and(|user| user.administers_node());
    let wanted = Rights {
        read: spec.has(flag::READONLY),
        write: spec.has(flag::WRITE),
        admin: false,
    };
    let is_granted = connection.session.rights.covers(wanted) && (administers || !needs_node);
    if is_granted || is_of_tables || spec.has(flag::NO_AUTH) {
        return Ok(());
    }
    let user = connection
        .session
        .user
        .as_ref()
        .map_or("default", |user| user.name.as_str());
    Err(ErrorReply::new(format!(
        "NOPERM User {user} has no permissions to run the '{}' command on this table",
        spec.name
    )))
}
