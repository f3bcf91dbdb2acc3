//! Who the client is and where it works: HELLO, AUTH, SELECT, RESET.

use super::lookup::{inherited_attributes, inherited_copies_max};
use super::next::{Hello, Next, Outcome, Then};
use crate::accepted::{ConnectionId, Port};
use crate::acl_log::Denied;
use crate::clients::{Clients, Desk, database_of, enter_anonymous, enter_user};
use crate::connection::{Connection, ReplyMode};
use crate::core::Core;
use crate::effect::ControlRequest;
use crate::shared::Shared;
use crate::users::{Rights, User};
use brickyard_command::request::{AuthArgs, HelloArgs, parse_select};
use brickyard_command::{Args, CommandId, ErrorReply, Spec};
use brickyard_metadata::{Change, NewTable, database_table};
use brickyard_wire::{Protocol, Reply};

const WRONGPASS: ErrorReply =
    ErrorReply::constant("WRONGPASS invalid username-password pair or user is disabled.");

/// Answers HELLO, AUTH, SELECT and RESET.
pub(super) fn login(
    core: &mut Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    match spec.id {
        CommandId::Hello => hello(core, clients, id, args),
        CommandId::Auth => auth(core, clients, id, args),
        CommandId::Select => select(core, clients, id, args),
        _ => {
            reset(core, clients, id);
            Ok(Next::Done)
        }
    }
}

fn hello(core: &Core, clients: &mut Clients, id: ConnectionId, args: Args<'_>) -> Outcome {
    let hello = HelloArgs::parse(args)?;
    let then = Hello {
        protocol: hello.protocol,
        name: hello.name.map(<[u8]>::to_vec),
    };
    if let Some((user, password)) = hello.auth {
        return check_password(core, clients, id, user, password, Some(then));
    }
    if clients[id].session.user.is_none() && !enter_anonymous(core, &mut clients[id])? {
        return Err(ErrorReply::constant(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the \
             HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and \
             select the RESP protocol version at the same time",
        ));
    }
    let bytes = greet(&core.shared, &mut clients[id], then);
    clients.reply(id, |reply| reply.raw(&bytes));
    Ok(Next::Done)
}

fn greet(shared: &Shared, connection: &mut Connection, hello: Hello) -> Vec<u8> {
    if let Some(protocol) = hello.protocol {
        connection.session.protocol = protocol;
    }
    if let Some(name) = hello.name {
        connection.session.names.name = name;
    }
    let is_node = connection.accepted.port == Port::Node;
    let protocol = connection.session.protocol;
    let mut out = Vec::new();
    let mut reply = Reply::new(&mut out, protocol);
    reply.map(7);
    reply.bulk(b"server");
    reply.bulk(b"redis");
    reply.bulk(b"version");
    reply.bulk(shared.identity.redis_version.as_bytes());
    reply.bulk(b"proto");
    reply.integer(protocol.version());
    reply.bulk(b"id");
    reply.integer(connection.client as i64);
    reply.bulk(b"mode");
    reply.bulk(if is_node { b"standalone" } else { b"cluster" });
    reply.bulk(b"role");
    reply.bulk(b"master");
    reply.bulk(b"modules");
    reply.array(0);
    out
}

fn auth(core: &Core, clients: &mut Clients, id: ConnectionId, args: Args<'_>) -> Outcome {
    let auth = AuthArgs::parse(args)?;
    let is_open = core.users.anonymous().is_some();
    if auth.user.is_none() && is_open {
        return Err(ErrorReply::constant(
            "ERR AUTH <password> called without any password configured for the default user. \
             Are you sure your configuration is correct?",
        ));
    }
    let user = auth.user.unwrap_or(b"default");
    check_password(core, clients, id, user, auth.password, None)
}

fn check_password(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    user: &[u8],
    password: &[u8],
    hello: Option<Hello>,
) -> Outcome {
    let Ok(name) = std::str::from_utf8(user) else {
        return Err(WRONGPASS);
    };
    let (name, table) = table_named(core, name);
    let user = core.users.find_on(name);
    if user.is_some_and(|user| user.needs_no_password()) {
        let names_table = table.is_some();
        // Redis takes any password for a user without one.
        let finished = finish_login(core, &mut clients[id], true, (name, table), hello);
        if finished.is_err() && names_table {
            clients.close(id);
        }
        let bytes = finished?;
        clients.reply(id, |reply| reply.raw(&bytes));
        return Ok(Next::Done);
    }
    // Also for a user that does not exist: the answer must take as long as for one that does.
    let hashes = user.map_or_else(Vec::new, |user| user.password_hashes.clone());
    let request = ControlRequest::Authenticate {
        user: name.to_owned(),
        password: password.to_vec(),
        hashes: hashes.clone(),
    };
    let then = Then::Enter {
        user: name.to_owned(),
        table,
        hashes,
        hello,
    };
    Ok(Next::Control(request, then))
}

/// The user, and the table if one is named behind it (`ann+orders`): where a client has only a URL, or a cluster client no `SELECT`.
/// A user of that very name is that user.
fn table_named<'a>(core: &Core, name: &'a str) -> (&'a str, Option<String>) {
    if core.users.find(name).is_some() {
        return (name, None);
    }
    match name.rsplit_once('+') {
        Some(("", table)) => ("default", Some(table.to_owned())),
        Some((user, table)) => (user, Some(table.to_owned())),
        None => (name, None),
    }
}

/// A password takes 30 ms to check, in which the user may have changed. Which of its passwords was the right one is not told: so all that
/// it was compared with have to be accepted still.
pub(super) fn check_still(
    core: &Core,
    user: &str,
    is_right: bool,
    hashes: &[String],
) -> Result<(), ErrorReply> {
    let user = core.users.find_on(user).filter(|_| is_right);
    let is_accepted = |user: &User| {
        let mut hashes = hashes.iter();
        user.needs_no_password() || hashes.all(|it| user.password_hashes.contains(it))
    };
    match user.is_none_or(|user| is_accepted(user)) {
        true => Ok(()),
        false => Err(ErrorReply::constant(
            "TRYAGAIN the user's passwords have changed while this one was checked; log in again",
        )),
    }
}

/// The password was checked: the reply.
pub(super) fn finish_login(
    core: &Core,
    connection: &mut Connection,
    is_right: bool,
    (user, table): (&str, Option<String>),
    hello: Option<Hello>,
) -> Result<Vec<u8>, ErrorReply> {
    let known = core.users.find_on(user).cloned();
    let Some(user) = known.filter(|_| is_right) else {
        connection.session.denied = Some(Denied {
            reason: "auth",
            context: "toplevel",
            object: if hello.is_some() {
                b"HELLO".to_vec()
            } else {
                b"AUTH".to_vec()
            },
            user: user.to_owned(),
            client: connection.accepted.peer.clone(),
        });
        return Err(WRONGPASS);
    };
    enter_user(core, connection, user)?;
    if let Some(table) = &table {
        use_table(core, connection, table, database_of(table))?;
    }
    connection.session.names.table = table;
    Ok(hello.map_or_else(
        || b"+OK\r\n".to_vec(),
        |hello| greet(&core.shared, connection, hello),
    ))
}

fn select(core: &mut Core, clients: &mut Clients, id: ConnectionId, args: Args<'_>) -> Outcome {
    let number = parse_select(args)?;
    let selected = selected(core, &clients[id], number).and_then(|(table, is_there)| {
        let database = database_of(&table);
        if is_there {
            use_table(core, &mut clients[id], &table, database)?;
            return Ok(None);
        }
        let user = clients[id].session.user.as_ref();
        if user.is_none_or(|user| user.rights(&table) == Rights::default()) {
            return Err(no_rights(&table));
        }
        let request = make_numbered(core, &table);
        let then = Then::Use { table, database };
        Ok(Some((request, then)))
    });
    match selected {
        Ok(None) => {
            clients.reply(id, |reply| reply.ok());
            Ok(Next::Done)
        }
        Ok(Some((request, then))) => Ok(Next::Control(request, then)),
        Err(error) => {
            // Some clients go on after an error and would write into the table that they left.
            clients.close(id);
            Err(error)
        }
    }
}

/// The name of the table that has that number, and whether it need not be made.
fn selected(
    core: &Core,
    connection: &Connection,
    number: i32,
) -> Result<(String, bool), ErrorReply> {
    if connection.accepted.port == Port::Brick && number != 0 {
        return Err(ErrorReply::constant(
            "ERR SELECT is not allowed in cluster mode",
        ));
    }
    let number = u16::try_from(number).ok();
    let number = number.filter(|number| database_table((*number).into()).is_some());
    let number = number.ok_or(ErrorReply::constant("ERR DB index is out of range"))?;
    let (table, is_made) = numbered(connection, number);
    let is_there = !is_made || core.tables.index_named(&table).is_some();
    Ok((table, is_there))
}

/// The name of the table that has that number, and whether it is made when it is first chosen.
pub(super) fn numbered(connection: &Connection, number: u16) -> (String, bool) {
    let user = connection.session.user.as_ref();
    // Clients send SELECT 0 by habit: of one that has named a table, or whose user is bound to one, it means that one.
    let named = connection.session.names.table.clone();
    let home = named.or_else(|| user.and_then(|user| user.table.clone()));
    match home.filter(|_| number == 0) {
        Some(home) => (home, false),
        None => (database_table(number.into()).unwrap_or_default(), true),
    }
}

/// Asks for a table of that name, which has a number, unless somebody has made it.
pub(super) fn make_numbered(core: &mut Core, table: &str) -> ControlRequest {
    let seed = core.random.next();
    let mut new = NewTable::named(table.to_owned(), seed, core.unix);
    new.attributes = inherited_attributes(core);
    new.layout.copies_max = inherited_copies_max(core);
    new.if_absent = true;
    ControlRequest::Change(Change::CreateTable(new))
}

/// The error of who may do nothing there.
pub(super) fn no_rights(table: &str) -> ErrorReply {
    ErrorReply::new(format!("NOPERM this user has no rights on table '{table}'"))
}

/// Lets the connection work on a table, if its user may.
pub(super) fn use_table(
    core: &Core,
    connection: &mut Connection,
    table: &str,
    database: u16,
) -> Result<(), ErrorReply> {
    let Some(index) = core.tables.index_named(table) else {
        return Err(ErrorReply::new(format!(
            "ERR there is no table '{table}'; TABLE LIST shows those there are, TABLE CREATE makes one"
        )));
    };
    let session = &mut connection.session;
    let rights = session
        .user
        .as_ref()
        .map_or_else(Rights::default, |user| user.rights(table));
    if rights == Rights::default() {
        return Err(no_rights(table));
    }
    assert!(core.table(index).is_some(), "table {index} has a name");
    session.table = index;
    session.database = database;
    session.grant(rights);
    Ok(())
}

fn reset(core: &Core, clients: &mut Clients, id: ConnectionId) {
    clients.watch_map(id, false);
    clients.monitor(core, id, false);
    clients.unsubscribe_all(Desk::of(core), id);
    // Other bricks go on telling of what it listened to until they hear what others do.
    clients.untrack(id);
    let connection = &mut clients[id];
    let session = &mut connection.session;
    session.multi.discard();
    session.protocol = Protocol::Resp2;
    session.names.name.clear();
    session.names.table = None;
    session.is_readonly = false;
    session.no_evict = false;
    session.no_touch = false;
    session.reply_mode = ReplyMode::On;
    session.table = core.tables.index_named("default").unwrap_or(0);
    session.database = 0;
    session.grant(Rights::default());
    connection.set_user(None, &core.shared);
    // Who finds no seat is told so with its next command.
    let _entered = enter_anonymous(core, connection);
    clients.reply(id, |reply| reply.simple("RESET"));
}

#[cfg(test)]
#[path = "login_test.rs"]
mod login_test;
