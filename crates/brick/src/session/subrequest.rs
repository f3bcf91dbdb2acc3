//! A brick's share of a command on a whole table: the partitions of which it is the primary.
//!
//! In:  the command, and by what name whoever asks knows the subrequest. Out: its part of the reply, or why it cannot
//!      be had now.
//!
//! Invariant: the subrequests of all bricks together are the table, each partition once: a subrequest is named by its
//! partitions, and a brick that sees them otherwise does nothing.
//!
//! Not here: how subrequests make a reply (`whole`), lists of keys (`listing`).

use super::describe::share;
use super::{client, listing, ranked, scan, watch_keys};
use crate::changes::Outcome;
use crate::clients::Clients;
use crate::core::Core;
use crate::keyed::{Missing, Ran};
use crate::lease_gate;
use crate::log::KeyRef;
use crate::output::CommitDependency;
use crate::random::Random;
use crate::refusal::{error_line, too_few};
use crate::request::UNBOUNDED;
use crate::tables::{PendingClear, TableState};
use crate::version::Version;
use crate::view::note_ops;
use brickyard_command::request::ClusterCommand;
use brickyard_command::{Args, CommandId, ErrorReply, Spec};
use brickyard_routing::Member;
use brickyard_table::KeyHash;
use brickyard_types::record::Kind;
use brickyard_types::{Op, PartitionId};
use brickyard_wire::{Protocol, Reply};

/// What a brick may do with its subrequest at this moment.
#[derive(Debug)]
pub(crate) enum SubrequestAdmission {
    Serves,
    /// Not now: a view is changing, or the lease has run out.
    Waits,
    /// Whoever asks sees other partitions in it.
    Differs,
    /// Too few replicas are in sync for a write.
    TooFew(ErrorReply),
}

/// This brick's share of a command that is not about given keys.
pub(crate) fn execute_subrequest(
    core: &mut Core,
    clients: &mut Clients,
    spec: &'static Spec,
    args: Args<'_>,
    table: usize,
    protocol: Protocol,
    out: &mut Vec<u8>,
) -> CommitDependency {
    let mut reply = Reply::new(out, protocol);
    match spec.id {
        CommandId::Dbsize => reply.integer(core.table(table).map_or(0, TableState::keys) as i64),
        CommandId::Keys => listing::keys(core, table, args.at(1), &mut reply),
        CommandId::Randomkey => return listing::random_key(core, table, &mut reply),
        CommandId::Scan => scan::page(core, table, args, &mut reply),
        CommandId::Flushdb => return flush(core, &[table], &mut reply),
        CommandId::Flushall => {
            let tables = tables_of(core, spec, args, table);
            return flush(core, &tables, &mut reply);
        }
        CommandId::ClusterCountkeysinslot | CommandId::ClusterGetkeysinslot => {
            slot_subrequest(core, spec, args, table, &mut reply);
        }
        CommandId::TableDescribe => share(core.table(table), &mut reply),
        CommandId::TableHotkeys | CommandId::TableBigkeys => {
            ranked::share(core.table(table), spec, &mut reply);
        }
        CommandId::Watchkeys => return watch_keys::share(core, table, args, out),
        CommandId::ClientList | CommandId::ClientKill => {
            client::subrequest(core, clients, spec, args, &mut reply)
        }
        _ => reply.error("ERR this command has no share of a brick"),
    }
    CommitDependency::NONE
}

/// The tables that a command is about.
fn tables_of(core: &Core, spec: &Spec, args: Args<'_>, table: usize) -> Vec<usize> {
    if spec.id != CommandId::Flushall {
        return vec![table];
    }
    let names = args
        .from(1)
        .filter_map(|name| std::str::from_utf8(name).ok());
    let tables = names.filter_map(|name| core.tables.index_named(name));
    tables.collect()
}

/// Names a brick's share of a command on a whole table: the partitions of which it is the primary, going by
/// the catalog here. Never 0.
///
/// Two bricks with different catalogs would leave a partition out, or count it twice.
pub(crate) fn subrequest_name(
    core: &Core,
    spec: &Spec,
    args: Args<'_>,
    table: usize,
    brick: Member,
) -> u64 {
    let mut sum = Random::new(0).next();
    for state in shared_leaves(core, spec, args, table, brick) {
        let (partition, ..) = state;
        sum = Random::new(sum ^ u64::from(partition.0)).next();
    }
    sum | 1
}

/// Partitions, with table and leaf, of which a brick is the primary, going by the catalog.
fn shared_leaves(
    core: &Core,
    spec: &Spec,
    args: Args<'_>,
    table: usize,
    brick: Member,
) -> Vec<(PartitionId, usize, usize)> {
    let mut all = Vec::new();
    for table in tables_of(core, spec, args, table) {
        let Some(state) = core.table(table) else {
            continue;
        };
        let leaves = state
            .map
            .partitions()
            .leaves()
            .iter()
            .zip(state.map.groups());
        let scanned = (spec.id == CommandId::Scan).then(|| scan::leaves(&state.map, args));
        for (leaf, (place, group)) in leaves.enumerate() {
            if group.primary.member == brick && scanned.as_ref().is_none_or(|it| it.contains(&leaf))
            {
                all.push((place.partition, table, leaf));
            }
        }
    }
    all
}

/// What this brick may do with its subrequest of a command on a whole table. `subrequest` is its name in the eyes of
/// whoever asks; 0: whatever the brick has.
pub(crate) fn subrequest_admission(
    core: &Core,
    spec: &Spec,
    args: Args<'_>,
    subrequest: u64,
    table: usize,
) -> SubrequestAdmission {
    if matches!(
        spec.id,
        CommandId::ClientList
            | CommandId::ClientKill
            | CommandId::TableDescribe
            | CommandId::TableHotkeys
            | CommandId::TableBigkeys
            | CommandId::Watch
            | CommandId::Watchkeys
    ) {
        return SubrequestAdmission::Serves;
    }
    let me = core.member();
    if subrequest != 0 && subrequest != subrequest_name(core, spec, args, table, me) {
        return SubrequestAdmission::Differs;
    }
    let writes = matches!(spec.id, CommandId::Flushdb | CommandId::Flushall);
    let leaves = shared_leaves(core, spec, args, table, me);
    let too_few = |(_, table, leaf): &(PartitionId, usize, usize)| {
        let state = core.table(*table)?;
        let few = too_few(state, *leaf as u32, !writes);
        few.or_else(|| state.refusal())
    };
    if let Some(error) = leaves.iter().find_map(too_few) {
        return SubrequestAdmission::TooFew(error);
    }
    let may_act = core.replicas.is_leased && !(writes && core.is_adopting());
    let is_well = |(_, table, leaf): &(PartitionId, usize, usize)| {
        let partition = core
            .table(*table)
            .and_then(|it| it.partitions.get(*leaf)?.as_ref());
        partition.is_some_and(|it| core.has_in_hand(it, writes))
    };
    if may_act && leaves.iter().all(is_well) {
        SubrequestAdmission::Serves
    } else {
        SubrequestAdmission::Waits
    }
}

/// Whether nobody has a lease of what this brick's share of a command is about to remove (rules `a write waits for leases` and
/// `leases end before another writes`).
pub(crate) fn may_clear(core: &mut Core, spec: &Spec, args: Args<'_>, table: usize) -> bool {
    if !matches!(spec.id, CommandId::Flushdb | CommandId::Flushall) {
        return true;
    }
    let tables = tables_of(core, spec, args, table);
    // Of all of them, so that leases are given back meanwhile.
    let free = tables.iter().filter(|it| lease_gate::may_clear(core, **it));
    free.count() == tables.len()
}

/// Clears every partition of tables that this brick has.
pub(crate) fn flush(core: &mut Core, tables: &[usize], reply: &mut Reply<'_>) -> CommitDependency {
    let mut dependency = CommitDependency::NONE;
    for &table in tables {
        let leaves: Vec<usize> = core
            .table(table)
            .map_or(Vec::new(), |it| it.leaves().collect());
        if let Some(id) = core.table(table).map(|state| state.id) {
            core.holders.note_cleared(id);
            core.holders.leases.note_cleared(id);
        }
        for leaf in leaves {
            dependency = dependency.and(clear_partition(core, table, leaf));
        }
    }
    reply.ok();
    dependency
}

fn clear_partition(core: &mut Core, table: usize, leaf: usize) -> CommitDependency {
    let Some(state) = core.tables.get_mut(table) else {
        return CommitDependency::NONE;
    };
    let Some(Some(partition)) = state.partitions.get(leaf) else {
        return CommitDependency::NONE;
    };
    let votes = state.votes(partition);
    let Some(Some(partition)) = state.partitions.get_mut(leaf) else {
        return CommitDependency::NONE;
    };
    let is_untouched = partition.op.0 == 0;
    if is_untouched {
        return CommitDependency::NONE;
    }
    partition.op = partition.op.next();
    let (op, local, id) = (partition.op, partition.local, partition.id);
    note_clear(core, table, leaf);
    let Some(votes) = votes else {
        if let Some(state) = core.tables.get_mut(table) {
            if state.keeps_changes() {
                note_ops(&core.replicas, state, (leaf, id), op);
                let key = KeyRef {
                    table: table as u32,
                    partition: local,
                    hash: KeyHash(0),
                };
                state.note_change(leaf, key, &Outcome::cleared(op));
            }
            state.table.clear(local, op);
        }
        core.note_applied((table, leaf), op);
        core.tables.note_removed();
        return CommitDependency::NONE;
    };
    let Some(header) = core.header(table, leaf, Kind::Clear, op) else {
        return CommitDependency::NONE;
    };
    let key = KeyRef {
        table: table as u32,
        partition: local,
        hash: KeyHash(0),
    };
    let record = core.log.prepare_clear(key, &header, votes);
    let at = (&mut core.tables, &mut core.log);
    core.replicas.hold(at, (table, leaf), votes, (op, record));
    let dependency = core.log.dependency(votes);
    if let Some(state) = core.tables.get_mut(table)
        && let Some(Some(partition)) = state.partitions.get_mut(leaf)
    {
        partition.clear = Some(PendingClear { op, dependency });
    }
    dependency
}

/// What watched keys are, one a line. A key that is in a transaction is waited for: its version would change with the end of that.
pub(crate) fn versions(core: &mut Core, table: usize, args: Args<'_>, out: &mut Vec<u8>) -> Ran {
    use crate::log::Writer;
    use crate::view::{RequestContext, View, watch_absent};
    let Some(first) = args.get(1) else {
        return Ok(CommitDependency::NONE);
    };
    let Some(location) = core.locate(table, first) else {
        return Ok(CommitDependency::NONE);
    };
    let context = RequestContext {
        writer: Writer::MANY,
        reads_only: false,
        sees_prepared: false,
        writes_many: false,
        sees_intents: false,
        values_max: UNBOUNDED,
    };
    let mut view = View::new(core, table, context, (first, location), &[]);
    let versions: Result<Vec<Option<Op>>, ErrorReply> =
        args.from(1).map(|key| view.version(key)).collect();
    // What is found expired is removed by this: only then are those that do not exist noted.
    let finished = view.abandon();
    if let Some(redirect) = finished.redirect {
        return Err(Missing::Redirect(redirect));
    }
    let dependency = finished.dependency;
    match versions {
        Ok(versions) => {
            for (key, op) in args.from(1).zip(versions) {
                let version = match op {
                    Some(op) => Version::Written(op),
                    None => watch_absent(core, table, key),
                };
                out.extend_from_slice(version.line().as_bytes());
            }
        }
        Err(error) => *out = error_line(&error),
    }
    Ok(dependency)
}

/// `CLUSTER COUNTKEYSINSLOT` and `CLUSTER GETKEYSINSLOT`.
fn slot_subrequest(core: &Core, spec: &Spec, args: Args<'_>, table: usize, reply: &mut Reply<'_>) {
    match ClusterCommand::parse(spec.id, args) {
        Ok(ClusterCommand::CountKeysInSlot(slot)) => {
            reply.integer(listing::keys_in_slot(core, table, slot, 0).1 as i64);
        }
        Ok(ClusterCommand::GetKeysInSlot(slot, max)) => {
            let (keys, _) = listing::keys_in_slot(core, table, slot, max);
            reply.array(keys.len());
            for key in &keys {
                reply.bulk(key);
            }
        }
        _ => reply.error("ERR this command has no share of a brick"),
    }
}

/// Every key of a partition is about to be removed.
fn note_clear(core: &mut Core, table: usize, leaf: usize) {
    let Core {
        tables,
        log,
        negative_versions,
        ..
    } = core;
    let Some(state) = tables.get(table) else {
        return;
    };
    let Some(Some(partition)) = state.partitions.get(leaf) else {
        return;
    };
    negative_versions.note_clear(table as u32, partition.local, |key, name| {
        log.pending(*key, partition.id, name).is_some()
            || state.table.contains(key.partition, key.hash, name)
    });
}

#[cfg(test)]
#[path = "subrequest_test.rs"]
mod subrequest_test;
