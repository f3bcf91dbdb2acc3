//! Commands on the table as a whole: every brick has its subrequest.
//!
//! At the node port the subrequests of all bricks make the reply; at a brick's own port, as at a node of
//! a Redis cluster, the reply is that brick's share alone and clients add up.

use super::next::{Next, Outcome, Subrequests};
use super::scan;
use super::watch_keys::watched_bricks;
use crate::accepted::{ConnectionId, Port};
use crate::clients::Clients;
use crate::connection::Blocked;
use crate::core::Core;
use crate::gather::{Gather, Join};
use crate::refusal::dropped_table;
use crate::tables::TableState;
use crate::users::User;
use brickyard_command::request::{ScanArgs, WaitArgs, parse_flush};
use brickyard_command::{Args, CommandId, ErrorReply, OwnedArgs, Spec, table::flag};
use brickyard_routing::Member;

/// Answers a command on the whole table.
pub(super) fn whole(
    core: &mut Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    check(spec, args)?;
    let connection = &clients[id];
    let (table, protocol) = (connection.session.table, connection.session.protocol);
    if core.table(table).is_none() {
        return Err(dropped_table());
    }
    let user = connection.session.user.as_deref();
    if let Some(error) = offline_of(core, user, spec, table) {
        return Err(error);
    }
    let is_everywhere = connection.accepted.port == Port::Node;
    let subrequest = match spec.id {
        CommandId::Flushall => flushed_by(core, user),
        CommandId::Scan if is_everywhere => scan::asked(core, table, args),
        _ => args.to_owned(),
    };
    let bricks = if is_everywhere {
        sharers(core, spec, subrequest.as_args(), table)
    } else {
        vec![core.member()]
    };
    let join = match spec.id {
        CommandId::Dbsize => Join::Sum,
        CommandId::Keys => Join::Concat,
        CommandId::Flushdb | CommandId::Flushall => Join::Ok,
        CommandId::Randomkey => Join::Any(core.random.next()),
        CommandId::Scan if is_everywhere => Join::Scan,
        _ => Join::Only,
    };
    let gather = Gather::new(join, protocol, bricks.len())
        .within(core.shared.settings.output_max())
        .reading(spec.has(flag::READONLY));
    let asked = Subrequests {
        is_named: is_everywhere,
        ..Subrequests::of((spec, subrequest), table, protocol, core.deadline())
    };
    Ok(ask(clients, id, gather, asked, bricks))
}

/// Asks bricks for their subrequests, which make up `gather`. What the client wrote on its way to other bricks must be
/// there before it is counted, so it waits for that.
pub(super) fn ask(
    clients: &mut Clients,
    id: ConnectionId,
    gather: Gather,
    asked: Subrequests,
    bricks: Vec<Member>,
) -> Next {
    assert!(!bricks.is_empty(), "somebody is asked, or nobody answers");
    let token = clients.open_gather(id, gather);
    clients[id].blocked = Some(Blocked::Drain);
    Next::Subrequests(asked, bricks, token)
}

/// Why a table cannot be asked as a whole, nor all be flushed: one of them is offline.
fn offline_of(core: &Core, user: Option<&User>, spec: &Spec, table: usize) -> Option<ErrorReply> {
    if spec.id != CommandId::Flushall {
        return core.table(table)?.refusal();
    }
    let user = user?;
    let states = core.tables.iter();
    let mut writable = states.filter(|state| user.rights(&state.name).write);
    writable.find_map(TableState::refusal)
}

/// The bricks whose subrequests make up the table, or the answer.
pub(super) fn sharers(core: &Core, spec: &Spec, args: Args<'_>, table: usize) -> Vec<Member> {
    match spec.id {
        CommandId::Scan => scanned_bricks(core, table, args),
        CommandId::Flushall => primaries(core, None),
        CommandId::Watchkeys => core
            .table(table)
            .map_or_else(Vec::new, |state| watched_bricks(state, args)),
        _ => primaries(core, Some(table)),
    }
}

/// A command about what this brick holds: answered once what was prepared before has committed.
pub(super) fn ask_own_subrequest(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    let session = &clients[id].session;
    let (table, protocol) = (session.table, session.protocol);
    core.table(table).ok_or_else(dropped_table)?;
    let asked = Subrequests::of((spec, args.to_owned()), table, protocol, core.deadline());
    let gather = Gather::new(Join::Only, protocol, 1);
    Ok(ask(clients, id, gather, asked, vec![core.member()]))
}

/// `FLUSHALL` as the bricks get it: with the names of the tables that its user may write.
fn flushed_by(core: &Core, user: Option<&User>) -> OwnedArgs {
    let names = core.tables.names();
    let writable = names.filter(|name| user.is_some_and(|user| user.rights(name).write));
    std::iter::once("flushall").chain(writable).collect()
}

/// The bricks that have some of the partitions in which a page of a scan is looked for.
fn scanned_bricks(core: &Core, table: usize, args: Args<'_>) -> Vec<Member> {
    let Some(state) = core.table(table) else {
        return vec![core.member()];
    };
    let groups = &state.map.groups()[scan::leaves(&state.map, args)];
    let mut members: Vec<Member> = groups.iter().map(|group| group.primary.member).collect();
    members.sort_unstable();
    members.dedup();
    members
}

/// All bricks that are primary for something of a table, or of any.
fn primaries(core: &Core, table: Option<usize>) -> Vec<Member> {
    let states = core.tables.iter();
    let only = table.and_then(|table| core.table(table)).map(|it| it.id);
    let states = states.filter(|state| only.is_none_or(|only| only == state.id));
    let mut members: Vec<Member> = states
        .flat_map(|state| state.map.groups())
        .map(|group| group.primary.member)
        .collect();
    members.sort_unstable();
    members.dedup();
    members
}

/// `WAIT`: what was acknowledged is in every in-sync replica already, and replies come in order; so there is
/// something to wait for only where there are fewer of them than asked for.
pub(super) fn wait(core: &Core, clients: &mut Clients, id: ConnectionId, args: Args<'_>) {
    let wait = match WaitArgs::parse(args) {
        Ok(wait) => wait,
        Err(error) => return clients.reply(id, |reply| reply.error_bytes(error.as_bytes())),
    };
    let session = &clients[id].session;
    let protocol = session.protocol;
    let backups = backups(core, session.table);
    if wait.replicas <= backups {
        return clients.reply(id, |reply| reply.integer(backups));
    }
    let token = clients.open_gather(id, Gather::new(Join::Only, protocol, 1));
    let until =
        (wait.timeout_ms > 0).then(|| core.now + std::time::Duration::from_millis(wait.timeout_ms));
    let placeholder = token.placeholder;
    clients[id].blocked = Some(Blocked::Wait { until, placeholder });
}

fn check(spec: &Spec, args: Args<'_>) -> Result<(), ErrorReply> {
    match spec.id {
        CommandId::Scan => ScanArgs::parse(args).map(|_| ()),
        CommandId::Flushdb | CommandId::Flushall => parse_flush(args),
        _ => Ok(()),
    }
}

/// How many replicas beside the primary have whatever was acknowledged in the table.
pub(crate) fn backups(core: &Core, table: usize) -> i64 {
    core.table(table).map_or(0, TableState::backups_min)
}
