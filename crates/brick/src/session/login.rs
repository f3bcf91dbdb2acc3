//! Who the client is and where it works: HELLO, AUTH, SELECT, RESET.

use super::Then;
use crate::brick::Brick;
use crate::clients::{database_of, enter_user};
use crate::connection::ConnectionId;
use crate::effect::{ControlRequest, Port};
use crate::users::Rights;
use brickyard_command::request::{AuthArgs, HelloArgs, parse_select};
use brickyard_command::{Args, CommandId, ErrorReply, Spec};
use brickyard_metadata::{Change, NewTable, database_table};
use brickyard_types::{Eviction, TableAttributes};
use brickyard_wire::{Protocol, Reply};
use std::sync::Arc;

/// What `HELLO` does once its password was found right.
#[derive(Debug)]
pub(crate) struct Hello {
    protocol: Option<Protocol>,
    name: Option<Vec<u8>>,
}

const WRONGPASS: ErrorReply =
    ErrorReply::constant("WRONGPASS invalid username-password pair or user is disabled.");

impl Brick {
    pub(super) fn execute_login(&mut self, id: ConnectionId, spec: &'static Spec, args: &Args<'_>) {
        let outcome = match spec.id {
            CommandId::Hello => self.hello(id, *args),
            CommandId::Auth => self.auth(id, *args),
            CommandId::Select => self.select(id, *args),
            _ => {
                self.reset(id);
                Ok(())
            }
        };
        if let Err(error) = outcome {
            self.refuse(id, Some(spec), &error);
        }
    }

    fn hello(&mut self, id: ConnectionId, args: Args<'_>) -> Result<(), ErrorReply> {
        let hello = HelloArgs::parse(args)?;
        let then = Hello {
            protocol: hello.protocol,
            name: hello.name.map(<[u8]>::to_vec),
        };
        if let Some((user, password)) = hello.auth {
            return self.check_password(id, user, password, Some(then));
        }
        if self.clients[id].session.user.is_none() {
            return Err(ErrorReply::constant(
                "NOAUTH HELLO must be called with the client already authenticated, otherwise the \
                 HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and \
                 select the RESP protocol version at the same time",
            ));
        }
        let mut bytes = Vec::new();
        self.greet(id, then, &mut bytes);
        self.reply(id, |reply| reply.raw(&bytes));
        Ok(())
    }

    fn greet(&mut self, id: ConnectionId, hello: Hello, out: &mut Vec<u8>) {
        let shared = Arc::clone(&self.core.shared);
        let connection = &mut self.clients[id];
        if let Some(protocol) = hello.protocol {
            connection.session.protocol = protocol;
        }
        if let Some(name) = hello.name {
            connection.session.name = name;
        }
        let is_node = connection.accepted.port == Port::Node;
        let protocol = connection.session.protocol;
        let client = connection.client;
        let mut reply = Reply::new(out, protocol);
        reply.map(7);
        reply.bulk(b"server");
        reply.bulk(b"redis");
        reply.bulk(b"version");
        reply.bulk(shared.redis_version.as_bytes());
        reply.bulk(b"proto");
        reply.integer(protocol.version());
        reply.bulk(b"id");
        reply.integer(client as i64);
        reply.bulk(b"mode");
        reply.bulk(if is_node { b"standalone" } else { b"cluster" });
        reply.bulk(b"role");
        reply.bulk(b"master");
        reply.bulk(b"modules");
        reply.array(0);
    }

    fn auth(&mut self, id: ConnectionId, args: Args<'_>) -> Result<(), ErrorReply> {
        let auth = AuthArgs::parse(args)?;
        let is_open = self.core.shared.users.anonymous().is_some();
        if auth.user.is_none() && is_open {
            return Err(ErrorReply::constant(
                "ERR AUTH <password> called without any password configured for the default user. \
                 Are you sure your configuration is correct?",
            ));
        }
        self.check_password(id, auth.user.unwrap_or(b"default"), auth.password, None)
    }

    fn check_password(
        &mut self,
        id: ConnectionId,
        user: &[u8],
        password: &[u8],
        hello: Option<Hello>,
    ) -> Result<(), ErrorReply> {
        let Ok(name) = std::str::from_utf8(user) else {
            return Err(WRONGPASS);
        };
        let needs_none = self
            .core
            .shared
            .users
            .find(name)
            .is_some_and(|user| user.password_hashes.is_empty());
        if needs_none {
            // Redis takes any password for a user without one.
            let bytes = self.finish_login(id, true, name, hello)?;
            self.reply(id, |reply| reply.raw(&bytes));
            return Ok(());
        }
        // Also for a user that does not exist: the answer must take as long as for one that does.
        let request = ControlRequest::Authenticate {
            user: name.to_owned(),
            password: password.to_vec(),
        };
        self.ask_control(
            id,
            request,
            Then::Enter {
                user: name.to_owned(),
                hello,
            },
        );
        Ok(())
    }

    pub(super) fn finish_login(
        &mut self,
        id: ConnectionId,
        is_right: bool,
        user: &str,
        hello: Option<Hello>,
    ) -> Result<Vec<u8>, ErrorReply> {
        let user = self
            .core
            .shared
            .users
            .find(user)
            .cloned()
            .filter(|_| is_right)
            .ok_or(WRONGPASS)?;
        enter_user(&self.core, &mut self.clients[id], user);
        let Some(hello) = hello else {
            return Ok(b"+OK\r\n".to_vec());
        };
        let mut bytes = Vec::new();
        self.greet(id, hello, &mut bytes);
        Ok(bytes)
    }

    fn select(&mut self, id: ConnectionId, args: Args<'_>) -> Result<(), ErrorReply> {
        let number = parse_select(args)?;
        let is_brick_port = self.clients[id].accepted.port == Port::Brick;
        let table = u32::try_from(number).ok().and_then(database_table);
        let table = match table {
            _ if is_brick_port && number != 0 => Err(ErrorReply::constant(
                "ERR SELECT is not allowed in cluster mode",
            )),
            None => Err(ErrorReply::constant("ERR DB index is out of range")),
            Some(table) => Ok(table),
        };
        // Some clients go on after an error and would write into the table that they left.
        let table = table.inspect_err(|_| self.clients.close(id))?;
        let connection = &self.clients[id];
        let user = connection.session.user.as_ref();
        // Clients send SELECT 0 by habit: of a user that is bound to a table it means that one.
        let home = user.and_then(|user| user.table.clone());
        let home = home.filter(|_| number == 0);
        let is_home = home.is_some();
        let table = home.unwrap_or(table);
        let database = database_of(&table);
        if is_home || self.core.table_by_name.contains_key(&table) {
            return match self.use_table(id, &table, database) {
                Ok(()) => {
                    self.reply(id, |reply| reply.ok());
                    Ok(())
                }
                Err(error) => {
                    self.clients.close(id);
                    Err(error)
                }
            };
        }
        let is_granted = connection
            .session
            .user
            .as_ref()
            .is_some_and(|user| user.rights(&table) != Rights::default());
        if !is_granted {
            self.clients.close(id);
            return Err(ErrorReply::new(format!(
                "NOPERM this user has no rights on table '{table}'"
            )));
        }
        let seed = self.core.random.next();
        let mut new = NewTable::named(table.clone(), seed, self.core.unix);
        new.attributes = self.inherited_attributes();
        new.if_absent = true;
        let then = Then::Use { table, database };
        self.ask_control(id, ControlRequest::Change(Change::CreateTable(new)), then);
        Ok(())
    }

    /// Lets the connection work on a table, if its user may.
    pub(super) fn use_table(
        &mut self,
        id: ConnectionId,
        table: &str,
        database: u16,
    ) -> Result<(), ErrorReply> {
        let Some(&index) = self.core.table_by_name.get(table) else {
            return Err(ErrorReply::new(format!(
                "ERR there is no table '{table}'; TABLE LIST shows those there are, TABLE CREATE makes one"
            )));
        };
        let connection = &mut self.clients[id];
        let rights = connection
            .session
            .user
            .as_ref()
            .map_or_else(Rights::default, |user| user.rights(table));
        if rights == Rights::default() {
            return Err(ErrorReply::new(format!(
                "NOPERM this user has no rights on table '{table}'"
            )));
        }
        connection.session.table = index;
        connection.session.database = database;
        connection.session.rights = rights;
        Ok(())
    }

    fn reset(&mut self, id: ConnectionId) {
        let anonymous = self.core.shared.users.anonymous().cloned();
        let default = self.core.table_by_name.get("default").copied().unwrap_or(0);
        let connection = &mut self.clients[id];
        let session = &mut connection.session;
        session.queue = None;
        session.watches.clear();
        session.protocol = Protocol::Resp2;
        session.name.clear();
        session.is_readonly = false;
        session.no_evict = false;
        session.no_touch = false;
        session.reply_mode = crate::connection::ReplyMode::On;
        session.table = default;
        session.database = 0;
        session.rights = Rights::default();
        connection.set_user(None, &self.core.shared);
        self.clients.watch_map(id, false);
        if let Some(user) = anonymous {
            enter_user(&self.core, &mut self.clients[id], user);
        }
        self.reply(id, |reply| reply.simple("RESET"));
    }

    /// The attributes of a table that is made without being asked for any: the default table's, but no bound.
    pub(super) fn inherited_attributes(&self) -> TableAttributes {
        TableAttributes {
            maxmemory: None,
            evict: Eviction::None,
            ..self.default_table()
        }
    }

    /// The attributes of the table `default`.
    pub(super) fn default_table(&self) -> TableAttributes {
        let index = self.core.table_by_name.get("default");
        let state = index.and_then(|index| self.core.table(*index));
        state
            .map(|state| state.attributes.clone())
            .unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "login_test.rs"]
mod login_test;
