//! CLIENT: what is known of connections, and what each may set for itself.

use super::next::{Next, Outcome};
use super::tracking::{caching, info, letters, redirect_of, tracking};
use crate::accepted::{ConnectionId, Port};
use crate::channels::Kind;
use crate::clients::Clients;
use crate::connection::{Blocked, Connection, ReplyMode};
use crate::core::Core;
use crate::forward::Forward;
use crate::gather::{Gather, Join};
use crate::pause::Pause;
use crate::refusal::error_line;
use crate::request::{Request, Token, Work};
use crate::users::Users;
use brickyard_command::request::{self, ClientCommand, ClientFilter, ClientKind, KillFilter};
use brickyard_command::{Args, ErrorReply, Spec, help};
use brickyard_routing::Member;
use brickyard_types::BrickId;
use brickyard_wire::Reply;
use std::time::Duration;

/// Answers CLIENT.
pub(super) fn client(
    core: &mut Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    let connection = &mut clients[id];
    let session = &mut connection.session;
    match ClientCommand::parse(spec.id, args)? {
        ClientCommand::Help => {
            clients.reply(id, |reply| help("client", reply));
            return Ok(Next::Done);
        }
        ClientCommand::Id => {
            let client = connection.client as i64;
            clients.reply(id, |reply| reply.integer(client));
            return Ok(Next::Done);
        }
        ClientCommand::GetName => {
            let name = session.names.name.clone();
            clients.reply(id, |reply| {
                if name.is_empty() {
                    reply.null()
                } else {
                    reply.bulk(&name)
                }
            });
            return Ok(Next::Done);
        }
        ClientCommand::Info => {
            let line = describe(core, connection);
            clients.reply(id, |reply| reply.verbatim("txt", line.as_bytes()));
            return Ok(Next::Done);
        }
        ClientCommand::Tracking(request) => return tracking(core, clients, id, &request),
        ClientCommand::TrackingInfo => {
            let told = std::mem::take(&mut session.told);
            clients.reply(id, |reply| info(told.tracking.as_deref(), reply));
            clients[id].session.told = told;
            return Ok(Next::Done);
        }
        ClientCommand::GetRedirect => {
            let number = redirect_of(session.told.tracking.as_deref());
            clients.reply(id, |reply| reply.integer(number));
            return Ok(Next::Done);
        }
        ClientCommand::Caching(is_wanted) => caching(session, is_wanted)?,
        ClientCommand::Reply(mode) => {
            session.reply_mode = match (mode, session.reply_mode) {
                (request::ReplyMode::On, _) => ReplyMode::On,
                (request::ReplyMode::Off, _) | (_, ReplyMode::Off) => ReplyMode::Off,
                (request::ReplyMode::Skip, _) => ReplyMode::SkipNext,
            };
            if mode == request::ReplyMode::On {
                clients.reply(id, |reply| reply.ok());
            }
            return Ok(Next::Done);
        }
        ClientCommand::List(_) => return Ok(ask_all(core, clients, id, spec, args, Join::Text)),
        ClientCommand::Kill(filter) => {
            if let Some(error) = unknown_user(&core.users, &filter) {
                return Err(error);
            }
            let join = if filter.is_old_form {
                Join::Killed
            } else {
                Join::Sum
            };
            return Ok(ask_all(core, clients, id, spec, args, join));
        }
        ClientCommand::SetName(name) => session.names.name = name.to_vec(),
        ClientCommand::SetLibraryName(name) => session.names.library = name.to_vec(),
        ClientCommand::SetLibraryVersion(version) => {
            session.names.library_version = version.to_vec()
        }
        ClientCommand::Pause {
            milliseconds,
            holds_all,
        } => {
            let pause = if holds_all { Pause::All } else { Pause::Writes };
            let lasts = Duration::from_millis(milliseconds);
            core.shared.oversight.pause.begin(core.now, lasts, pause);
        }
        ClientCommand::Unpause => {
            core.shared.oversight.pause.end();
            clients.release_held();
            let own = core.member();
            let bricks = (0..core.bricks()).map(BrickId);
            for brick in bricks.filter(|it| *it != own.brick) {
                let to = Member { brick, ..own };
                core.outbox.push(to, Forward::Unpaused);
            }
        }
        ClientCommand::NoEvict(no_evict) => session.no_evict = no_evict,
        ClientCommand::NoTouch(no_touch) => session.no_touch = no_touch,
    }
    clients.reply(id, |reply| reply.ok());
    Ok(Next::Done)
}

/// A user that nobody can be: more likely misspelt than without connections.
fn unknown_user(users: &Users, filter: &KillFilter<'_>) -> Option<ErrorReply> {
    let name = filter.user?;
    let is_known = std::str::from_utf8(name).is_ok_and(|name| users.find(name).is_some());
    let text = [&b"ERR No such user '"[..], name, b"'"].concat();
    (!is_known).then(|| ErrorReply::new(text))
}

/// Connections are on all bricks of the node, so all are asked.
fn ask_all(
    core: &mut Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
    join: Join,
) -> Next {
    let connection = &clients[id];
    let (protocol, table) = (connection.session.protocol, connection.session.table);
    let table = core.table(table).map(|state| state.id).unwrap_or_default();
    // The subrequest must know who asks (SKIPME).
    let mut asked = args.to_owned();
    asked.push(connection.client.to_string().as_bytes());
    let token = clients.open_gather(id, Gather::new(join, protocol, core.bricks() as usize));
    clients[id].blocked = Some(Blocked::Drain);
    let own = core.member();
    for brick in (0..core.bricks())
        .map(BrickId)
        .filter(|it| *it != own.brick)
    {
        let part = brick.0;
        let origin = core.own(Token { part, ..token });
        let work = Work::Command(spec, asked.clone());
        let request = Request::new(origin, table, protocol, work, core.deadline());
        let member = Member { brick, ..own };
        core.outbox.push(member, Forward::Request(request));
    }
    let mut bytes = Vec::new();
    let mut reply = Reply::new(&mut bytes, protocol);
    subrequest(core, clients, spec, asked.as_args(), &mut reply);
    let part = own.brick.0;
    Next::Part(Token { part, ..token }, bytes)
}

/// This brick's share of CLIENT LIST or CLIENT KILL; the last argument is who asks.
pub(super) fn subrequest(
    core: &Core,
    clients: &mut Clients,
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
            let listed = clients.iter().filter(|it| is_listed(&filter, it));
            let text: String = listed.map(|it| describe(core, it)).collect();
            reply.verbatim("txt", text.as_bytes());
        }
        Ok(ClientCommand::Kill(filter)) => {
            let killed = kill(clients, &filter, asker.unwrap_or(0));
            reply.integer(killed);
        }
        _ => reply.error("ERR this command has no share of a brick"),
    }
}

fn kill(clients: &mut Clients, filter: &KillFilter<'_>, asker: u64) -> i64 {
    let is_killed = |it: &&Connection| {
        let is_asker = it.client == asker;
        !(is_asker && filter.skips_self) && is_meant(filter, it)
    };
    let killed: Vec<(ConnectionId, u64)> = clients
        .iter()
        .filter(is_killed)
        .map(|it| (it.id, it.client))
        .collect();
    for (id, client) in &killed {
        // Who kills itself still gets its reply.
        if *client == asker {
            clients.close(*id);
        } else {
            clients.on_broken(*id);
        }
    }
    killed.len() as i64
}

/// `CLIENT KILL addr`, the old form, answers `OK` or an error instead of a count.
pub(super) fn old_kill_reply(count: &[u8]) -> Vec<u8> {
    match count {
        b":0\r\n" => error_line(&ErrorReply::constant("ERR No such client")),
        _ => b"+OK\r\n".to_vec(),
    }
}

fn is_listed(filter: &ClientFilter, connection: &Connection) -> bool {
    match filter {
        ClientFilter::All => true,
        ClientFilter::Kind(kind) => *kind == kind_of(connection),
        ClientFilter::Ids(ids) => ids.contains(&(connection.client as i64)),
    }
}

/// Who subscribes to channels is a subscriber.
fn kind_of(connection: &Connection) -> ClientKind {
    match connection.session.told.subscriptions {
        Some(_) => ClientKind::Pubsub,
        None => ClientKind::Normal,
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
        && filter.kind.is_none_or(|kind| kind == kind_of(connection))
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
    if session.multi.queue.is_some() {
        flags.push('x');
    }
    flags.push_str(&letters(session.told.tracking.as_deref()));
    if connection.accepted.port == Port::Brick && session.is_readonly {
        flags.push('r');
    }
    if session.no_evict {
        flags.push('e');
    }
    let subscriptions = session.told.subscriptions.as_ref();
    let [channels, patterns, sharded] =
        Kind::ALL.map(|kind| subscriptions.map_or(0, |it| it.names(kind).len()));
    if subscriptions.is_some() {
        flags.push('P');
    }
    if flags.is_empty() {
        flags.push('N');
    }
    let multi = session
        .multi
        .queue
        .as_ref()
        .map_or(-1, |queue| queue.commands.len() as i64);
    let age = core.unix.0.saturating_sub(connection.created.0) / 1000;
    let idle = (core.now - connection.last_active).as_secs();
    format!(
        "id={} addr={} laddr={} fd=0 name={} age={age} idle={idle} flags={flags} db={} sub={channels} psub={patterns} \
         ssub={sharded} multi={multi} qbuf={} qbuf-free={} argv-mem=0 multi-mem={} rbs=0 rbp=0 obl=0 oll=0 \
         omem={} tot-mem={} events=r cmd={} user={user} redir={} resp={} lib-name={} lib-ver={} \
         table={} tot-net-in={} tot-net-out={} tot-cmds={}\n",
        connection.client,
        connection.accepted.peer,
        connection.accepted.local,
        text(&session.names.name),
        session.database,
        connection.input.pending(),
        connection.input.memory_bytes() - connection.input.bytes().len(),
        session.multi.queue.as_ref().map_or(0, |queue| queue.bytes),
        connection.output.len(),
        connection.input.memory_bytes() + connection.output.len(),
        session.last_command,
        redirect_of(session.told.tracking.as_deref()),
        session.protocol.version(),
        text(&session.names.library),
        text(&session.names.library_version),
        core.table(session.table)
            .map_or("-", |state| state.name.as_str()),
        connection.input.received(),
        connection.bytes_out,
        session.commands,
    )
}

#[cfg(test)]
#[path = "client_test.rs"]
mod client_test;
