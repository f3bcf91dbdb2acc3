//! The operation by which a distributed transaction commits: one record of its anchor's partition.
//!
//! In:  what the transaction read and writes there, and which keys of other partitions have its intents. Out: what its reply waits for;
//!      or why it cannot be.
//!
//! Invariant (rule `a coordinator commits in the view in which it began`): between the beginning and this the brick was the primary all
//! the time, so it alone was asked what had become of the transaction.

use crate::core::Core;
use crate::distributed::part::{After, TransactionId};
use crate::distributed::{Age, Intent, Keys, Known, Participant, PerKey, Place, Portion};
use crate::keyed::{Admission, admission, put_intent, ran};
use crate::log::Writer;
use crate::output::CommitDependency;
use crate::request::UNBOUNDED;
use crate::transaction::Watch;
use crate::version::Version;
use crate::view::{RequestContext, View};
use brickyard_command::{ErrorReply, Failure, Keyspace, NewValue};
use brickyard_routing::Location;
use brickyard_types::TableId;

/// Where a transaction with this anchor may be coordinated; `None`: not here, or not now.
pub(super) fn place_of(core: &Core, table: usize, anchor: &[u8]) -> Option<(Place, Location)> {
    let location = core.locate(table, anchor)?;
    let state = core.table(table)?;
    let admitted = admission(core, state, location.leaf, false, false);
    let partition = state.partitions.get(location.leaf as usize)?.as_ref()?;
    let place = Place {
        partition: partition.id,
        view: partition.status.view,
    };
    matches!(admitted, Admission::Serves).then_some((place, location))
}

/// Why a transaction did not commit. Nothing of it has happened here.
pub(super) enum Failed {
    /// Another one was first.
    Again,
    /// A watched key has changed.
    Watched,
    /// The brick is not the primary any more, or not in that view.
    Moved,
    Refused(ErrorReply),
}

/// What is to commit.
pub(super) struct Commit<'a> {
    pub(super) id: TransactionId,
    pub(super) age: Age,
    pub(super) anchor: &'a [u8],
    pub(super) table: usize,
    pub(super) place: Place,
    pub(super) writer: Writer,
    pub(super) watches: &'a [Watch],
    pub(super) known: &'a PerKey<Known>,
    pub(super) reads: &'a Keys,
    pub(super) writes: &'a PerKey<After>,
    /// Keys of other partitions that have its intents.
    pub(super) locked: &'a [Portion],
}

impl Commit<'_> {
    fn has_locked(&self, table: TableId, key: &[u8]) -> bool {
        let mut of_table = self.locked.iter().filter(|it| it.table == table);
        of_table.any(|it| it.keys.iter().any(|locked| locked == key))
    }

    /// The keys of other partitions as the anchor's intent has them, and whether some are of another table.
    fn others(&self, table: TableId) -> (Vec<Participant>, bool) {
        let is_across = self.locked.iter().any(|it| it.table != table);
        let of = |portion: &Portion| {
            let table = is_across.then_some(portion.table);
            let keys = portion.keys.iter().cloned();
            let named: Vec<_> = keys.map(|key| Participant { table, key }).collect();
            named
        };
        let others: Vec<_> = self.locked.iter().flat_map(of).collect();
        assert!(
            others.len() >= self.locked.len(),
            "{} keys of {} partitions",
            others.len(),
            self.locked.len()
        );
        (others, is_across)
    }
}

/// Makes the operation.
pub(super) fn commit(core: &mut Core, what: &Commit<'_>) -> Result<CommitDependency, Failed> {
    assert!(
        !what.writes.is_empty(),
        "a transaction that writes nothing does not commit"
    );
    let Some(table) = core.table(what.table).map(|state| state.id) else {
        return Err(Failed::Moved);
    };
    assert!(
        !what.has_locked(table, what.anchor),
        "the anchor has an intent before it is decided"
    );
    let now = place_of(core, what.table, what.anchor);
    let Some((_, location)) = now.filter(|(place, _)| *place == what.place) else {
        return Err(Failed::Moved);
    };
    if !what.locked.is_empty()
        && core
            .requests
            .distributed
            .rests(what.place.partition, core.now)
    {
        return Err(Failed::Again);
    }
    if !take_keys(core, what, (table, location.leaf)) {
        return Err(Failed::Again);
    }
    let context = RequestContext {
        writer: what.writer,
        reads_only: false,
        sees_prepared: false,
        writes_many: true,
        sees_intents: false,
        values_max: UNBOUNDED,
    };
    let mut view = View::new(core, what.table, context, (what.anchor, location), &[]);
    if let Err(failed) = stage(&mut view, what) {
        view.abandon();
        return Err(failed);
    }
    // Something is to be waited for, or read: it has changed since it was read.
    ran(view.finish()).map_err(|_| Failed::Again)
}

/// Takes the keys of this partition from younger transactions that have reserved them; false: an older one has.
fn take_keys(core: &mut Core, what: &Commit<'_>, (table, leaf): (TableId, u32)) -> bool {
    let reads = what.reads.of(table).map(|(key, ())| key);
    let all = reads.chain(what.writes.of(table).map(|(key, _)| key));
    for key in all.chain([what.anchor]) {
        let is_here = core
            .locate(what.table, key)
            .is_some_and(|it| it.leaf == leaf);
        let reserved = &mut core.requests.distributed.reserved;
        if is_here && !reserved.take(table, key, what.age, core.now) {
            return false;
        }
    }
    // Others may wait for what it had reserved.
    if core.requests.distributed.has_waiters {
        core.replicas.wake();
    }
    true
}

fn stage(view: &mut View<'_>, what: &Commit<'_>) -> Result<(), Failed> {
    let table = view.table_id();
    let watches = what
        .watches
        .iter()
        .map(|watch| (&watch.key[..], watch.version, true));
    let reads = what.reads.of(table).map(|(key, ())| {
        let known = what.known.get(table, key);
        let version = known.map_or(Version::Unknown, |it| it.version);
        (key, version, false)
    });
    for (key, version, is_watched) in watches.chain(reads) {
        if !view.is_in_partition(key) {
            continue;
        }
        let watch = Watch {
            table,
            key: key.to_vec(),
            version,
        };
        match view.is_unchanged(&watch) {
            Ok(true) => {}
            Ok(false) if is_watched => return Err(Failed::Watched),
            Ok(false) | Err(_) => return Err(Failed::Again),
        }
    }
    for (key, after) in what.writes.of(table) {
        let is_anchor = key == what.anchor && !what.locked.is_empty();
        if is_anchor || !view.is_in_partition(key) {
            continue;
        }
        write(view, key, after).map_err(failed)?;
    }
    if what.locked.is_empty() {
        return Ok(());
    }
    let held = || {
        let known = what.known.get(table, what.anchor);
        known.and_then(|it| it.held.clone())
    };
    let after = match what.writes.get(table, what.anchor) {
        Some(After::Holds(stored)) => Some(stored.clone()),
        Some(After::Gone) => None,
        Some(After::Same) | None => held(),
    };
    let (others, is_across) = what.others(table);
    let intent = Intent {
        id: what.id,
        anchor: Participant {
            table: is_across.then_some(table),
            key: what.anchor.to_vec(),
        },
        decided: Some(others),
        before: None,
        after,
    };
    put_intent(view, what.anchor, &intent).map_err(failed)
}

fn write(view: &mut View<'_>, key: &[u8], after: &After) -> Result<(), Failure> {
    match after {
        After::Holds(stored) => {
            let put = NewValue {
                value: &[&stored.value.0],
                expires_at: stored.expires_at(),
                value_type: stored.value_type(),
            };
            view.put(key, put)
        }
        After::Gone => view.delete(key).map(|_| ()),
        After::Same => Ok(()),
    }
}

fn failed(failure: Failure) -> Failed {
    match failure {
        Failure::Suspend => Failed::Again,
        Failure::Error(error) => Failed::Refused(error),
    }
}
