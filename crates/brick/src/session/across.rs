//! MOVE, and COPY with `DB`: a key of the connection's table and one of another, as a node's port has it.
//!
//! In:  a command that names a table by its number. Out: a transaction over both tables; before that the other table, if nobody has chosen it yet.
//!
//! Which table a number is, and whether it is made, is as for SELECT on that connection. The user has to have the right to write there, too.
//!
//! Not here: what the commands do (`brickyard_command`), how two tables are written as one (`coordinate`).

use super::login::{make_numbered, no_rights, numbered};
use super::next::{Next, Outcome, Then};
use crate::accepted::{ConnectionId, Port};
use crate::acl_log::Denied;
use crate::clients::Clients;
use crate::connection::Connection;
use crate::core::Core;
use crate::gather::{Gather, Join};
use crate::refusal::{EARLIER_NODE_TABLES, NO_AUTH, dropped_table};
use crate::request::{Request, Token, Work};
use crate::transaction::{Across, Transaction};
use crate::users::Rights;
use brickyard_command::{
    Args, CommandId, ErrorReply, OwnedArgs, Spec, check_key_lengths, database_named,
};
use brickyard_metadata::Level;

/// The table that a command names.
enum Named {
    /// The connection's own, or none.
    Own,
    /// Another one, and whether it is made if it is not there.
    Other {
        database: u16,
        table: String,
        is_made: bool,
    },
}

/// Answers MOVE, and COPY to another table.
pub(super) fn across(
    core: &mut Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    begin(core, clients, (id, None), (spec, args))
}

/// The same, for which a place was left in the output: the other table has been made.
pub(super) fn across_in_place(
    core: &mut Core,
    clients: &mut Clients,
    token: Token,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    begin(core, clients, (token.connection, Some(token)), (spec, args))
}

fn begin(
    core: &mut Core,
    clients: &mut Clients,
    (id, place): (ConnectionId, Option<Token>),
    (spec, args): (&'static Spec, Args<'_>),
) -> Outcome {
    let connection = &mut clients[id];
    let Named::Other {
        database,
        table,
        is_made,
    } = named(core, connection, spec, args)?
    else {
        return Err(ErrorReply::SAME_OBJECTS);
    };
    check_key_lengths(spec, args)?;
    check_rights(connection, spec, &table)?;
    if !core.shared.lowest_level.has(Level::TWO_TABLES) {
        return Err(EARLIER_NODE_TABLES);
    }
    let Some(other) = core.tables.named(&table).map(|state| state.id) else {
        if !is_made || place.is_some() {
            return Err(ErrorReply::new(format!(
                "ERR there is no table '{table}'; nothing was done"
            )));
        }
        let then = Then::Across(spec, args.to_owned());
        return Ok(Next::Control(make_numbered(core, &table), then));
    };
    let session = &clients[id].session;
    let (protocol, home) = (session.protocol, session.table);
    let home = core.table(home).ok_or_else(dropped_table)?.id;
    assert_ne!(home, other, "a table is another one than itself");
    let across = Across {
        database,
        table: other,
    };
    let transaction = Transaction::of_command(spec, args.to_owned()).spanning(across);
    let token = place.unwrap_or_else(|| {
        let gather = Gather::new(Join::Only, protocol, 1).costing(transaction.bytes());
        clients.open_gather(id, gather)
    });
    let (origin, work) = (core.own(token), Work::Transaction(Box::new(transaction)));
    let request = Request::new(origin, home, protocol, work, core.deadline());
    Ok(Next::Last(Box::new(request)))
}

/// Which table a command names; at a brick's port it is refused as by a node of a Redis cluster if that is another one.
fn named(
    core: &Core,
    connection: &Connection,
    spec: &Spec,
    args: Args<'_>,
) -> Result<Named, ErrorReply> {
    let Some(database) = database_named(spec.id, args)? else {
        return Ok(Named::Own);
    };
    let is_bricks = connection.accepted.port == Port::Brick;
    if is_bricks && spec.id == CommandId::Move {
        return Err(ErrorReply::constant(
            "ERR MOVE is not allowed in cluster mode",
        ));
    }
    let (table, is_made) = numbered(connection, database);
    let own = core.table(connection.session.table);
    if own.is_some_and(|own| own.name == table) {
        return Ok(Named::Own);
    }
    if is_bricks {
        return Err(ErrorReply::constant(
            "ERR Copying to another database is not allowed in cluster mode",
        ));
    }
    Ok(Named::Other {
        database,
        table,
        is_made,
    })
}

/// A COPY within the connection's table, without the number of that; `None`: it is to another one.
pub(super) fn own_copy(
    core: &Core,
    connection: &Connection,
    spec: &Spec,
    args: Args<'_>,
) -> Result<Option<OwnedArgs>, ErrorReply> {
    if database_named(spec.id, args).is_err() {
        // It says so itself when it is executed.
        return Ok(Some(args.to_owned()));
    }
    let Named::Own = named(core, connection, spec, args)? else {
        return Ok(None);
    };
    let mut words = OwnedArgs::with_capacity(args.request_len(), args.len());
    args.from(0).take(3).for_each(|word| words.push(word));
    let mut options = args.from(3);
    while let Some(option) = options.next() {
        if option.eq_ignore_ascii_case(b"db") {
            options.next();
        } else {
            words.push(option);
        }
    }
    Ok(Some(words))
}

/// A command that is queued between MULTI and EXEC, as it is to be executed; `None`: as it came.
///
/// # Errors
/// It is about two tables.
pub(super) fn queued(
    core: &Core,
    connection: &Connection,
    spec: &Spec,
    args: Args<'_>,
) -> Result<Option<OwnedArgs>, ErrorReply> {
    if database_named(spec.id, args).is_err() {
        return Ok(None);
    }
    match named(core, connection, spec, args)? {
        Named::Own if spec.id == CommandId::Copy => own_copy(core, connection, spec, args),
        Named::Own => Ok(None),
        Named::Other { .. } => Err(ErrorReply::new(format!(
            "ERR '{}' to another database is about two tables and a transaction about one; call it outside of MULTI",
            spec.name
        ))),
    }
}

/// Whether the user may write to the other table.
fn check_rights(connection: &mut Connection, spec: &Spec, table: &str) -> Result<(), ErrorReply> {
    let user = connection.session.user.as_ref().ok_or(NO_AUTH)?;
    let rights = user.rights(table);
    if rights.write {
        return Ok(());
    }
    let error = match rights == Rights::default() {
        true => no_rights(table),
        false => ErrorReply::new(format!(
            "NOPERM User {} has no permissions to run the '{}' command on table '{table}'",
            user.name, spec.name
        )),
    };
    connection.session.denied = Some(Denied {
        reason: "table",
        context: "toplevel",
        object: table.as_bytes().to_vec(),
        user: user.name.clone(),
        client: connection.accepted.peer.clone(),
    });
    Err(error)
}

#[cfg(test)]
#[path = "across_test.rs"]
mod across_test;
