//! Who a connection acts for, and in which table.

use crate::connection::Connection;
use crate::core::Core;
use crate::users::{Rights, User};
use std::sync::Arc;

/// The place of no table.
const NOWHERE: usize = usize::MAX;

/// Lets the connection act for `user`, in the table that the user starts in.
pub(crate) fn enter_user(core: &Core, connection: &mut Connection, user: Arc<User>) {
    // A user that is bound to no table works on where the connection is: on `default` at first.
    if let Some(name) = user.table.as_deref() {
        // Until the table is made the connection is nowhere: what is meant for it must not go elsewhere.
        connection.session.table = core.tables.index_named(name).unwrap_or(NOWHERE);
        connection.session.database = database_of(name);
    }
    connection.set_user(Some(user), &core.shared);
    let table = core
        .table(connection.session.table)
        .map_or("", |state| state.name.as_str());
    let user = connection.session.user.as_ref();
    let rights = user.map_or_else(Rights::default, |user| user.rights(table));
    connection.session.grant(rights);
    assert!(
        connection.session.database < 16,
        "database {} of 16",
        connection.session.database
    );
}

/// The connection's user has other rights from now on; it stays where it is.
pub(crate) fn reenter_user(core: &Core, connection: &mut Connection, user: &Arc<User>) {
    connection.set_user(Some(Arc::clone(user)), &core.shared);
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
