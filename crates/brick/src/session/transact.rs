//! MULTI, EXEC, DISCARD, WATCH, UNWATCH.
//!
//! Commands are queued here. If all keys are of one slot they run where its partition is, against one view of it: what they write is
//! one record of the log. Keys of several slots, at a node port, are a distributed transaction's ([`crate::distributed`]).

use super::across::queued;
use super::next::{Command, Next, Outcome};
use crate::accepted::{ConnectionId, Port};
use crate::check::recheck;
use crate::clients::Clients;
use crate::connection::{Blocked, Connection, Session};
use crate::core::Core;
use crate::gather::{Gather, Join};
use crate::refusal::{CROSSSLOT, NO_AUTH, dropped_table, may_distribute, port_of, redirect};
use crate::request::{Request, Token, Work};
use crate::scripts::{ScriptCall, is_script, with_text};
use crate::tables::TableState;
use crate::transaction::{Queue, Step, Transaction, Watch};
use crate::version::Version;
use brickyard_command::{
    Args, CommandId, ErrorReply, OwnedArgs, Spec, is_data_command, keys, table::flag,
};
use brickyard_routing::Location;
use brickyard_wire::{ReplyDecoder, ReplyStep};

/// Bytes of commands that one transaction may queue.
const QUEUE_BYTES_MAX: usize = 256 << 20;

/// Keys that one connection may watch.
const WATCHES_MAX: usize = 4096;

/// Answers MULTI, EXEC, DISCARD, WATCH and UNWATCH.
pub(super) fn transact(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    let session = &mut clients[id].session;
    match spec.id {
        CommandId::Multi if session.multi.queue.is_some() => {
            clients.reply(id, |reply| reply.error("ERR MULTI calls can not be nested"));
        }
        CommandId::Multi => {
            session.multi.queue = Some(Queue::default());
            clients.reply(id, |reply| reply.ok());
        }
        CommandId::Discard if session.multi.queue.take().is_none() => {
            clients.reply(id, |reply| reply.error("ERR DISCARD without MULTI"));
        }
        CommandId::Discard | CommandId::Unwatch => {
            session.multi.watches.clear();
            clients.reply(id, |reply| reply.ok());
        }
        CommandId::Watch => return watch(core, clients, id, spec, args),
        _ => return exec(core, clients, id),
    }
    Ok(Next::Done)
}

/// Takes a command into the transaction that is being queued.
pub(crate) fn enqueue(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Result<(), ErrorReply> {
    if is_whole_table(spec.id) {
        return Err(ErrorReply::new(format!(
            "ERR '{}' is about the whole table and a transaction about one slot; call it outside of MULTI",
            spec.name
        )));
    }
    if spec.has(flag::PUBSUB | flag::NOSCRIPT) {
        return Err(ErrorReply::new(format!(
            "ERR '{}' changes what the connection subscribes to, and a transaction changes keys; call it outside of MULTI",
            spec.name
        )));
    }
    let connection = &mut clients[id];
    let own = match spec.id {
        CommandId::Move | CommandId::Copy => queued(core, connection, spec, args)?,
        _ => None,
    };
    let args = own.as_ref().map_or(args, OwnedArgs::as_args);
    check_slots(core, connection, spec, args)?;
    let (spec, owned) = match is_script(spec.id) {
        true => with_text(core.known_scripts(), spec, args)?,
        false => (spec, args.to_owned()),
    };
    let queue = connection.session.multi.queue.as_mut();
    let queue = queue.expect("commands are queued between MULTI and EXEC");
    queue.bytes += owned.memory_bytes();
    if queue.bytes > QUEUE_BYTES_MAX {
        return Err(ErrorReply::constant(
            "ERR the transaction has queued more than 256 MiB; split it into smaller ones",
        ));
    }
    queue.commands.push((spec, owned));
    clients.reply(id, |reply| reply.simple("QUEUED"));
    Ok(())
}

/// At a brick's port, as at a node of a Redis cluster, a command with keys of several slots or of
/// another brick is refused when it is queued.
fn check_slots(
    core: &Core,
    connection: &Connection,
    spec: &'static Spec,
    args: Args<'_>,
) -> Result<(), ErrorReply> {
    let table = connection.session.table;
    let port = connection.accepted.port;
    let port = core.table(table).map_or(port, |it| port_of(it, port));
    if port == Port::Node {
        return Ok(());
    }
    let mut locations = keys(spec, args).filter_map(|at| core.locate(table, args.at(at)));
    let Some(first) = locations.next() else {
        return Ok(());
    };
    if locations.any(|it| it.slot != first.slot || it.leaf != first.leaf) {
        return Err(CROSSSLOT);
    }
    let state = core.table(table);
    let moved = state.and_then(|it| redirect(core, Port::Brick, it, first));
    moved.map_or(Ok(()), Err)
}

/// Whether the command is queued between MULTI and EXEC.
pub(crate) const fn is_queueable(id: CommandId) -> bool {
    !matches!(
        id,
        CommandId::Exec
            | CommandId::Discard
            | CommandId::Multi
            | CommandId::Watch
            | CommandId::Quit
            | CommandId::Reset
    )
}

/// Commands that are about more than one partition or change what a connection is.
const fn is_whole_table(id: CommandId) -> bool {
    matches!(
        id,
        CommandId::Dbsize
            | CommandId::Keys
            | CommandId::Scan
            | CommandId::Randomkey
            | CommandId::Flushall
            | CommandId::Flushdb
            | CommandId::Select
            | CommandId::AclSetuser
            | CommandId::AclDeluser
            | CommandId::AclGenpass
            | CommandId::FunctionDelete
            | CommandId::FunctionFlush
            | CommandId::FunctionLoad
            | CommandId::FunctionRestore
            | CommandId::TableUse
            | CommandId::TableCreate
            | CommandId::TableAlter
            | CommandId::TableBigkeys
            | CommandId::TableDescribe
            | CommandId::TableHotkeys
            | CommandId::TableDigest
            | CommandId::TableDrop
            | CommandId::TableExport
            | CommandId::Auth
            | CommandId::Hello
            | CommandId::Shutdown
            | CommandId::Save
            | CommandId::Bgsave
            | CommandId::Wait
            | CommandId::ClientKill
            | CommandId::ClientList
            | CommandId::ClientReply
            | CommandId::ClientTracking
            | CommandId::Monitor
            | CommandId::ClusterCountkeysinslot
            | CommandId::ClusterGetkeysinslot
    )
}

fn watch(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    let connection = &mut clients[id];
    let session = &mut connection.session;
    if session.multi.queue.is_some() {
        clients.reply(id, |reply| {
            reply.error("ERR WATCH inside MULTI is not allowed")
        });
        return Ok(Next::Done);
    }
    let (table, protocol) = (session.table, session.protocol);
    let state = core.table(table).ok_or_else(dropped_table)?;
    let port = port_of(state, connection.accepted.port);
    let one = one_slot(state, args.from(1));
    let Some(location) = one.or_else(|| first_of(state, port, args.from(1))) else {
        return Err(CROSSSLOT);
    };
    if let Some(moved) = redirect(core, port, state, location) {
        return Err(moved);
    }
    if session.multi.watches.len() + args.len() > WATCHES_MAX {
        return Err(ErrorReply::constant(
            "ERR this connection watches 4096 keys, the most there can be; UNWATCH, or EXEC first",
        ));
    }
    // Which op each key has is asked where the keys are; the answer is kept here.
    session.multi.watches.extend(args.from(1).map(|key| Watch {
        table: state.id,
        key: key.to_vec(),
        version: Version::Unknown,
    }));
    connection.blocked = Some(Blocked::Drain);
    // Keys of several slots are asked for one by one, in their order.
    let shares: Vec<OwnedArgs> = match one {
        Some(_) => vec![args.to_owned()],
        None => {
            let keys = args.from(1);
            keys.map(|key| [args.at(0), key].iter().collect()).collect()
        }
    };
    let token = clients.open_gather(id, Gather::new(Join::Watch, protocol, shares.len()));
    let shares = shares.into_iter().enumerate().map(|(part, share)| {
        let token = Token {
            part: part as u32,
            ..token
        };
        let (origin, work) = (core.own(token), Work::Command(spec, share));
        Request::new(origin, state.id, protocol, work, core.deadline())
    });
    Ok(Next::Begin(shares.collect()))
}

/// Where the first of several keys is, at a port that takes keys of several slots.
fn first_of<'a>(
    state: &TableState,
    port: Port,
    mut keys: impl Iterator<Item = &'a [u8]>,
) -> Option<Location> {
    let first = keys.next().filter(|_| port == Port::Node)?;
    Some(state.map.locate(first))
}

/// The versions of watched keys, as `WATCH`'s share rendered them: one line a key.
pub(super) fn on_watched(session: &mut Session, lines: &[u8]) -> Vec<u8> {
    if lines.first() == Some(&b'-') {
        return lines.to_vec();
    }
    let versions = String::from_utf8_lossy(lines).into_owned();
    let versions: Vec<Version> = versions.lines().map(Version::parse).collect();
    let first = session.multi.watches.len().saturating_sub(versions.len());
    for (watch, version) in session.multi.watches[first..].iter_mut().zip(versions) {
        watch.version = version;
    }
    b"+OK\r\n".to_vec()
}

/// The one slot and partition of all these keys; `None` if they are in several.
pub(super) fn one_slot<'a>(
    state: &TableState,
    keys: impl Iterator<Item = &'a [u8]>,
) -> Option<Location> {
    let mut locations = keys.map(|key| state.map.locate(key));
    let first = locations.next()?;
    locations
        .all(|it| it.slot == first.slot && it.leaf == first.leaf)
        .then_some(first)
}

fn exec(core: &Core, clients: &mut Clients, id: ConnectionId) -> Outcome {
    let connection = &mut clients[id];
    let session = &mut connection.session;
    let Some(queue) = session.multi.queue.take() else {
        clients.reply(id, |reply| reply.error("ERR EXEC without MULTI"));
        return Ok(Next::Done);
    };
    let watches = std::mem::take(&mut session.multi.watches);
    let (table, protocol) = (session.table, session.protocol);
    if queue.is_refused {
        return Err(ErrorReply::constant(
            "EXECABORT Transaction discarded because of previous errors.",
        ));
    }
    for (spec, args) in &queue.commands {
        recheck(connection, spec, args.as_args())?;
    }
    let session = &mut connection.session;
    let state = core.table(table).ok_or_else(dropped_table)?;
    if watches.iter().any(|watch| watch.table != state.id) {
        // The connection went to another table in between.
        clients.reply(id, |reply| reply.null_array());
        return Ok(Next::Done);
    }
    let queued = queue.commands.iter().flat_map(|(spec, args)| {
        let args = args.as_args();
        keys(spec, args).map(move |at| args.at(at))
    });
    let mut all = queued.chain(watches.iter().map(|watch| watch.key.as_slice()));
    let has_scripts = queue.commands.iter().any(|(spec, _)| is_script(spec.id));
    let (first, route) = match all.next() {
        Some(first) => (first, None),
        // Scripts that name no key run at some brick, and against one of its partitions.
        None if has_scripts => (&[][..], Some(Vec::new())),
        None => {
            drop(all);
            return Ok(Next::Commands(queue.commands));
        }
    };
    let port = port_of(state, connection.accepted.port);
    let one = one_slot(state, std::iter::once(first).chain(all));
    match one {
        Some(location) => redirect(core, port, state, location).map_or(Ok(()), Err)?,
        None => may_distribute(core, port)?,
    }
    let user = session.user.as_deref().ok_or(NO_AUTH)?;
    let rights = session.granted.rights;
    let known = core.known_scripts();
    let script = |spec, args: &OwnedArgs| ScriptCall::of(known, spec, args.as_args(), user, rights);
    let (steps, later) = split(queue.commands, script)?;
    assert_eq!(steps.len(), later.len(), "each command has one place");
    let transaction = Transaction {
        steps,
        watches,
        is_bare: false,
        route,
        anchor: None,
        across: None,
    };
    let transaction = match one {
        Some(_) => transaction,
        None => transaction.anchored(),
    };
    let has_later = later.iter().any(Option::is_some);
    let join = if has_later { Join::Exec } else { Join::Only };
    if has_later {
        session.multi.after_exec = later;
        connection.blocked = Some(Blocked::Drain);
    }
    let gather = Gather::new(join, protocol, 1).costing(transaction.bytes());
    let token = clients.open_gather(id, gather);
    let (origin, work) = (core.own(token), Work::Transaction(Box::new(transaction)));
    let request = Request::new(origin, state.id, protocol, work, core.deadline());
    Ok(match one {
        Some(_) => Next::Begin(vec![request]),
        None => Next::Last(Box::new(request)),
    })
}

/// What the brick of the keys executes, and beside it, place by place, what this one does afterwards.
fn split(
    commands: Vec<Command>,
    script: impl Fn(&'static Spec, &OwnedArgs) -> Result<ScriptCall, ErrorReply>,
) -> Result<(Vec<Step>, Vec<Option<Command>>), ErrorReply> {
    let place = |(spec, args): Command| {
        Ok(if is_script(spec.id) {
            let call = script(spec, &args)?;
            (Step::Script(Box::new(call)), None)
        } else if is_data_command(spec.id) {
            (Step::Command(spec, args), None)
        } else {
            (Step::Later, Some((spec, args)))
        })
    };
    let places: Result<Vec<_>, _> = commands.into_iter().map(place).collect();
    Ok(places?.into_iter().unzip())
}

/// The header of an array that may lack some of its elements, and those that are there.
pub(super) fn elements(array: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let end = array.windows(2).position(|pair| pair == b"\r\n")? + 2;
    let (header, mut rest) = array.split_at(end);
    let mut replies = Vec::new();
    let mut decoder = ReplyDecoder::default();
    while !rest.is_empty() {
        let Ok(ReplyStep::Reply { consumed, .. }) = decoder.skim(rest) else {
            return None;
        };
        let (reply, behind) = rest.split_at(consumed);
        replies.push(reply);
        rest = behind;
    }
    Some((header, replies))
}
