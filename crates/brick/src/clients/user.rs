//! Who a connection acts for, and in which table.

use crate::connection::Connection;
use crate::core::Core;
use crate::users::{Rights, User};
use brickyard_command::ErrorReply;
use std::sync::Arc;

/// The place of no table.
const NOWHERE: usize = usize::MAX;

/// Lets the connection act for `user`, in the table that the user starts in.
///
/// # Errors
/// The user has no seat for it: it acts for whom it acted before.
pub(crate) fn enter_user(
    core: &Core,
    connection: &mut Connection,
    user: Arc<User>,
) -> Result<(), ErrorReply> {
    let (quotas, now) = (&core.shared.quotas, core.now);
    let seat = match connection.session.user.take() {
        // Who has a seat already keeps it.
        Some(mut seat) if seat.name == user.name => {
            seat.renew(Arc::clone(&user), quotas, now);
            seat
        }
        before => match quotas.seat(Arc::clone(&user), now) {
            Ok(seat) => seat,
            Err(refused) => {
                connection.session.user = before;
                return Err(refused);
            }
        },
    };
    // A user that is bound to no table works on where the connection is: on `default` at first.
    if let Some(name) = user.table.as_deref() {
        // Until the table is made the connection is nowhere: what is meant for it must not go elsewhere.
        connection.session.table = core.tables.index_named(name).unwrap_or(NOWHERE);
        connection.session.database = database_of(name);
    }
    connection.set_user(Some(seat), &core.shared);
    let table = core
        .table(connection.session.table)
        .map_or("", |state| state.name.as_str());
    let rights = user.rights(table);
    connection.session.grant(rights);
    assert!(
        connection.session.database < 16,
        "database {} of 16",
        connection.session.database
    );
    Ok(())
}

/// Lets a connection that acts for nobody act for who needs no password, if there is such a user; whether it does now.
///
/// # Errors
/// There is one, which has no seat for it. It is asked for again with its next command.
pub(crate) fn enter_anonymous(
    core: &Core,
    connection: &mut Connection,
) -> Result<bool, ErrorReply> {
    assert!(connection.session.user.is_none(), "it acts for somebody");
    let Some(user) = core.users.anonymous().cloned() else {
        return Ok(false);
    };
    enter_user(core, connection, user).map(|()| true)
}

/// The connection's user has other rights from now on; it stays where it is.
pub(crate) fn reenter_user(core: &Core, connection: &mut Connection, user: &Arc<User>) {
    if let Some(seat) = &mut connection.session.user {
        seat.renew(Arc::clone(user), &core.shared.quotas, core.now);
    }
    let table = core.table(connection.session.table);
    let rights = table.map_or_else(Rights::default, |it| user.rights(&it.name));
    connection.session.grant(rights);
}

/// The number by which `SELECT` knows a table; 0 for one that it does not know.
pub(crate) fn database_of(table: &str) -> u16 {
    table
        .parse()
        .ok()
        .filter(|number| (1..16).contains(number))
        .unwrap_or(0)
}
