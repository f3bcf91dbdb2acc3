//! CLIENT: what is known of connections, and what each may set for itself.

use crate::brick::Brick;
use crate::connection::{Blocked, Connection, ConnectionId, ReplyMode};
use crate::core::Core;
use crate::effect::Port;
use crate::forward::Forward;
use crate::gather::{Gather, Join};
use crate::output::Gate;
use crate::request::{Request, Token, Work};
use brickyard_command::request::{self, ClientCommand, ClientFilter, ClientKind, KillFilter};
use brickyard_command::{Args, ErrorReply, Spec, help};
use brickyard_routing::Member;
use brickyard_types::BrickId;
use brickyard_wire::Reply;

impl Brick {
    pub(super) fn execute_client(
        &mut self,
        id: ConnectionId,
        spec: &'static Spec,
        args: &Args<'_>,
    ) {
        match ClientCommand::parse(spec.id, *args) {
            Ok(command) => self.client(id, spec, args, command),
            Err(error) => self.refuse(id, Some(spec), &error),
        }
    }

    fn client(
        &mut self,
        id: ConnectionId,
        spec: &'static Spec,
        args: &Args<'_>,
        command: ClientCommand<'_>,
    ) {
        let session = &mut self.clients[id].session;
        match command {
            ClientCommand::Help => return self.reply(id, |reply| help("client", reply)),
            ClientCommand::Id => {
                let client = self.clients[id].client as i64;
                return self.reply(id, |reply| reply.integer(client));
            }
            ClientCommand::GetName => {
                let name = session.name.clone();
                return self.reply(id, |reply| {
                    if name.is_empty() {
                        reply.null()
                    } else {
                        reply.bulk(&name)
                    }
                });
            }
            ClientCommand::Info => {
                let line = describe(&self.core, &self.clients[id]);
                return self.reply(id, |reply| reply.verbatim("txt", line.as_bytes()));
            }
            ClientCommand::Reply(mode) => return self.set_reply_mode(id, mode),
            ClientCommand::List(_) => return self.ask_all(id, spec, args, Join::Text),
            ClientCommand::Kill(filter) => {
                if let Some(error) = self.unknown_user(&filter) {
                    return self.refuse(id, Some(spec), &error);
                }
                let join = if filter.is_old_form {
                    Join::Killed
                } else {
                    Join::Sum
                };
                return self.ask_all(id, spec, args, join);
            }
            ClientCommand::SetName(name) => session.name = name.to_vec(),
            ClientCommand::SetLibraryName(name) => session.library_name = name.to_vec(),
            ClientCommand::SetLibraryVersion(version) => session.library_version = version.to_vec(),
            ClientCommand::NoEvict(no_evict) => session.no_evict = no_evict,
            ClientCommand::NoTouch(no_touch) => session.no_touch = no_touch,
        }
        self.reply(id, |reply| reply.ok());
    }

    /// A user that nobody can be: more likely misspelt than without connections.
    fn unknown_user(&self, filter: &KillFilter<'_>) -> Option<ErrorReply> {
        let name = filter.user?;
        let is_known =
            std::str::from_utf8(name).is_ok_and(|name| self.core.shared.users.find(name).is_some());
        let text = [&b"ERR No such user '"[..], name, b"'"].concat();
        (!is_known).then(|| ErrorReply::new(text))
    }

    fn set_reply_mode(&mut self, id: ConnectionId, mode: request::ReplyMode) {
        let session = &mut self.clients[id].session;
        match mode {
            request::ReplyMode::On => {
                session.reply_mode = ReplyMode::On;
                self.reply(id, |reply| reply.ok());
            }
            request::ReplyMode::Off => session.reply_mode = ReplyMode::Off,
            request::ReplyMode::Skip => {
                if session.reply_mode != ReplyMode::Off {
                    session.reply_mode = ReplyMode::SkipNext;
                }
            }
        }
    }

    /// Connections are on all bricks of the node, so all are asked.
    fn ask_all(&mut self, id: ConnectionId, spec: &'static Spec, args: &Args<'_>, join: Join) {
        let protocol = self.clients[id].session.protocol;
        let table = self.clients[id].session.table;
        let table_id = self
            .core
            .table(table)
            .map(|state| state.id)
            .unwrap_or_default();
        let bricks = self.core.bricks;
        let asker = self.clients[id].client;
        let token = self.open_gather(id, Gather::new(join, protocol, bricks as usize));
        self.clients[id].blocked = Some(Blocked::Drain);
        for brick in 0..bricks {
            let token = Token {
                part: brick,
                ..token
            };
            // The share must know who asks (SKIPME).
            let mut share = args.to_owned();
            share.push(asker.to_string().as_bytes());
            if BrickId(brick) == self.core.id {
                let mut out = Vec::new();
                self.client_share(spec, share.as_args(), &mut Reply::new(&mut out, protocol));
                self.on_part(token, out, Gate::OPEN);
            } else {
                let work = Work::Command(spec, share);
                let (origin, deadline) = (self.core.own(token), self.core.deadline());
                let request = Request::new(origin, table_id, protocol, work, deadline);
                let member = Member {
                    brick: BrickId(brick),
                    ..self.core.member()
                };
                self.core.outbox.push(member, Forward::Request(request));
            }
        }
    }

    /// This brick's share of CLIENT LIST or CLIENT KILL; the last argument is who asks.
    pub(crate) fn client_share(
        &mut self,
        spec: &'static Spec,
        args: Args<'_>,
        reply: &mut Reply<'_>,
    ) {
        let count = args.len() - 1;
        let asker = std::str::from_utf8(args.at(count))
            .ok()
            .and_then(|text| text.parse().ok());
        let asked: brickyard_command::OwnedArgs = args.from(0).take(count).collect();
        match ClientCommand::parse(spec.id, asked.as_args()) {
            Ok(ClientCommand::List(filter)) => {
                let listed = self.clients.iter().filter(|it| is_listed(&filter, it));
                let text: String = listed.map(|it| describe(&self.core, it)).collect();
                reply.verbatim("txt", text.as_bytes());
            }
            Ok(ClientCommand::Kill(filter)) => {
                let killed = self.kill(&filter, asker.unwrap_or(0));
                reply.integer(killed);
            }
            _ => reply.error("ERR this command has no share of a brick"),
        }
    }

    fn kill(&mut self, filter: &KillFilter<'_>, asker: u64) -> i64 {
        let killed: Vec<ConnectionId> = self
            .clients
            .iter()
            .filter(|connection| {
                let is_asker = connection.client == asker;
                !(is_asker && filter.skips_self) && is_meant(filter, connection)
            })
            .map(|connection| connection.id)
            .collect();
        for id in &killed {
            let connection = &self.clients[*id];
            // Who kills itself still gets its reply.
            if connection.client == asker {
                self.clients.close(*id);
            } else {
                self.clients.on_broken(*id);
            }
        }
        killed.len() as i64
    }

    /// `CLIENT KILL addr`, the old form, answers `OK` or an error instead of a count.
    pub(crate) fn old_kill_reply(count: &[u8]) -> Vec<u8> {
        match count {
            b":0\r\n" => crate::keyed::error_line(&ErrorReply::constant("ERR No such client")),
            _ => b"+OK\r\n".to_vec(),
        }
    }
}

fn is_listed(filter: &ClientFilter, connection: &Connection) -> bool {
    match filter {
        ClientFilter::All => true,
        ClientFilter::Kind(kind) => *kind == ClientKind::Normal,
        ClientFilter::Ids(ids) => ids.contains(&(connection.client as i64)),
    }
}

fn is_meant(filter: &KillFilter<'_>, connection: &Connection) -> bool {
    let user = connection
        .session
        .user
        .as_ref()
        .map_or("default", |user| user.name.as_str());
    filter
        .address
        .is_none_or(|address| address == connection.accepted.peer.as_bytes())
        && filter
            .local_address
            .is_none_or(|address| address == connection.accepted.local.as_bytes())
        && filter.id.is_none_or(|id| id == connection.client as i64)
        && filter.kind.is_none_or(|kind| kind == ClientKind::Normal)
        && filter.user.is_none_or(|name| name == user.as_bytes())
}

/// One line of CLIENT LIST.
fn describe(core: &Core, connection: &Connection) -> String {
    let session = &connection.session;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let user = session
        .user
        .as_ref()
        .map_or("default", |user| user.name.as_str());
    let mut flags = String::new();
    if session.queue.is_some() {
        flags.push('x');
    }
    if connection.accepted.port == Port::Brick && session.is_readonly {
        flags.push('r');
    }
    if session.no_evict {
        flags.push('e');
    }
    if flags.is_empty() {
        flags.push('N');
    }
    let multi = session
        .queue
        .as_ref()
        .map_or(-1, |queue| queue.commands.len() as i64);
    let age = core.unix.0.saturating_sub(connection.created.0) / 1000;
    let idle = (core.now - connection.last_active).as_secs();
    format!(
        "id={} addr={} laddr={} fd=0 name={} age={age} idle={idle} flags={flags} db={} sub=0 psub=0 \
         ssub=0 multi={multi} qbuf={} qbuf-free={} argv-mem=0 multi-mem={} rbs=0 rbp=0 obl=0 oll=0 \
         omem={} tot-mem={} events=r cmd={} user={user} redir=-1 resp={} lib-name={} lib-ver={} \
         table={} tot-net-in={} tot-net-out={} tot-cmds={}\n",
        connection.client,
        connection.accepted.peer,
        connection.accepted.local,
        text(&session.name),
        session.database,
        connection.pending_input(),
        connection.input.capacity() - connection.input.len(),
        session.queue.as_ref().map_or(0, |queue| queue.bytes),
        connection.output.len(),
        connection.input.capacity() + connection.output.len(),
        session.last_command,
        session.protocol.version(),
        text(&session.library_name),
        text(&session.library_version),
        core.table(session.table)
            .map_or("-", |state| state.name.as_str()),
        connection.bytes_in,
        connection.bytes_out,
        session.commands,
    )
}

#[cfg(test)]
#[path = "client_test.rs"]
mod client_test;
