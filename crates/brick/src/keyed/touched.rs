//! The keys of this brick that work touches, and whether a request waits for one of their values.

use crate::core::Core;
use crate::log::KeyRef;
use crate::request::Work;
use crate::transaction::Step;
use brickyard_command::{Args, OwnedArgs, Spec, keys};
use brickyard_table::KeyHash;

/// A key of this brick.
pub(crate) fn key_ref(core: &Core, table: usize, key: &[u8]) -> Option<KeyRef> {
    let state = core.table(table)?;
    let location = state.map.locate(key);
    let partition = state.partitions.get(location.leaf as usize)?.as_ref()?;
    Some(KeyRef {
        table: table as u32,
        partition: partition.local,
        hash: KeyHash(location.key_hash),
    })
}

/// Whether a request that waits for values touches a key of this command: then the command waits behind it.
#[inline]
pub(crate) fn is_behind_values(
    core: &Core,
    spec: &'static Spec,
    args: Args<'_>,
    table: usize,
) -> bool {
    let values = &core.requests.values;
    !values.is_idle()
        && keys(spec, args).any(|at| {
            let key = key_ref(core, table, args.at(at));
            key.is_some_and(|key| values.is_waited_for(&key))
        })
}

/// The same for work.
pub(crate) fn must_await_values(core: &Core, work: &Work, table: usize) -> bool {
    let values = &core.requests.values;
    if values.is_idle() {
        return false;
    }
    let keys = keys_of(core, work, table);
    keys.iter().any(|key| values.is_waited_for(key))
}

/// The keys of this brick that some work touches.
pub(crate) fn keys_of(core: &Core, work: &Work, table: usize) -> Vec<KeyRef> {
    let mut all = Vec::new();
    let mut add = |spec: &'static Spec, args: &OwnedArgs| {
        let args = args.as_args();
        all.extend(keys(spec, args).filter_map(|at| key_ref(core, table, args.at(at))));
    };
    match work {
        Work::Subrequest(..) => {}
        Work::Command(spec, args) | Work::Attempt(_, spec, args) => add(spec, args),
        Work::Transaction(transaction) => {
            let keys = transaction.steps.iter().flat_map(Step::keys);
            all.extend(keys.filter_map(|key| key_ref(core, table, key)));
        }
        Work::Part(part) => {
            let keys = part.keys().into_iter();
            all.extend(keys.filter_map(|key| key_ref(core, table, key)));
        }
    }
    all
}
