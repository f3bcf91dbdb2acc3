//! What a key holds for a command: staged, prepared, committed, expired, or not known.

use super::{Place, RequestContext};
use crate::core::Core;
use crate::log::{KeyRef, Writer};
use crate::output::CommitDependency;
use crate::requests::ColdValue;
use brickyard_routing::Location;
use brickyard_table::{KeyHash, ValueRef};
use brickyard_types::record::Kind;
use brickyard_types::{Op, PartitionId, Position, UnixMillis, ValueType};

/// What a key holds, before its value is looked at.
pub(super) enum Newest<'a> {
    None,
    Hot {
        value: &'a [u8],
        expires_at: Option<UnixMillis>,
        op: Op,
        value_type: ValueType,
    },
    Cold {
        op: Op,
        expires_at: Option<UnixMillis>,
        value_type: ValueType,
        len: u32,
        position: Position,
    },
    Expired,
    /// It has a prepared operation whose outcome is not known.
    Unsettled,
    /// What the key holds may be among what the log has lost.
    Damaged {
        partition: PartitionId,
        table: &'a str,
    },
}

/// What an answer rests on.
#[derive(Debug)]
pub(super) struct ReadSet {
    /// What the reply must wait for.
    pub(super) dependency: CommitDependency,
    /// It has seen a prepared operation.
    has_prepared: bool,
    /// It has seen what was committed beside one that is prepared.
    leaves_out: bool,
}

impl ReadSet {
    pub(super) const fn new() -> Self {
        Self {
            dependency: CommitDependency::NONE,
            has_prepared: false,
            leaves_out: false,
        }
    }

    /// Whether there may be no moment at which all keys held what was seen. A connection's own write waits for
    /// those that were prepared before it: whoever sees it has to see them too (rule
    /// `reads of several keys see one moment`).
    pub(super) const fn is_fractured(&self) -> bool {
        self.has_prepared && self.leaves_out
    }
}

/// What the key holds for this command; notes in `read_set` what the reply must wait for.
#[inline]
pub(super) fn newest<'c>(
    core: &'c mut Core,
    place: Place,
    context: RequestContext,
    values: &'c [ColdValue],
    key: &[u8],
    location: Location,
    read_set: &mut ReadSet,
) -> Newest<'c> {
    let Core {
        tables,
        log,
        workshop,
        unix,
        ..
    } = core;
    let (staging, unix) = (&workshop.staging, *unix);
    let state = tables
        .get_mut(place.table)
        .expect("checked before the command ran");
    let partition = state.partitions[place.leaf]
        .as_ref()
        .expect("checked before the command ran");
    let hash = KeyHash(location.key_hash);
    if context.writes_many
        && let Some(staged) = staging.find(location.key_hash, key)
    {
        return match staged.kind {
            Kind::Put if !is_due(staged.expires_at, unix) => Newest::Hot {
                value: staging.value(staged),
                expires_at: staged.expires_at,
                op: partition.op.next(),
                value_type: staged.value_type,
            },
            _ => Newest::None,
        };
    }
    if !log.has_no_pending() || partition.clear.is_some() {
        let key_ref = KeyRef {
            table: place.table as u32,
            partition: partition.local,
            hash,
        };
        if !context.reads_only || context.sees_prepared {
            // Rule `reads follow own writes`: its connection sees from now on what this is decided against, also if
            // it writes nothing.
            log.join(key_ref, context.writer);
        }
        let pending = log.pending(key_ref, partition.id, key).filter(|pending| {
            if context.reads_only && partition.is_unsettled(pending.prepared.op) {
                return true;
            }
            let is_foreign = pending.writer != context.writer && pending.writer != Writer::MANY;
            let is_cleared = partition
                .clear
                .is_some_and(|clear| clear.op > pending.prepared.op);
            let is_left_out = context.reads_only && !context.sees_prepared && is_foreign;
            read_set.leaves_out |= is_left_out && !is_cleared;
            !(is_cleared || is_left_out)
        });
        if let Some(pending) = pending {
            let is_unsettled = context.reads_only && partition.is_unsettled(pending.prepared.op);
            if is_unsettled || pending.is_given_up {
                return Newest::Unsettled;
            }
            read_set.dependency = read_set.dependency.and(pending.dependency);
            read_set.has_prepared = true;
            let prepared = pending.prepared;
            return match prepared.kind {
                Kind::Put if is_due(prepared.expires_at, unix) => Newest::Expired,
                Kind::Put => Newest::Hot {
                    value: pending.value,
                    expires_at: prepared.expires_at,
                    op: prepared.op,
                    value_type: prepared.value_type,
                },
                _ => Newest::None,
            };
        }
        if let Some(clear) = partition.clear {
            let is_unsettled = context.reads_only && partition.is_unsettled(clear.op);
            if is_unsettled || log.has_given_up(clear.dependency.batch) {
                return Newest::Unsettled;
            }
            read_set.dependency = read_set.dependency.and(clear.dependency);
            return Newest::None;
        }
    }
    let Some(found) = state.table.get(partition.local, hash, key) else {
        return if !partition.gaps.is_damaged() {
            Newest::None
        } else {
            Newest::Damaged {
                partition: partition.id,
                table: &state.name,
            }
        };
    };
    if partition.gaps.reach(found.op) {
        return Newest::Damaged {
            partition: partition.id,
            table: &state.name,
        };
    }
    if is_due(found.expires_at, unix) {
        return Newest::Expired;
    }
    let (expires_at, op, value_type) = (found.expires_at, found.op, found.value_type);
    match found.value {
        ValueRef::Hot(value) => Newest::Hot {
            value,
            expires_at,
            op,
            value_type,
        },
        ValueRef::Cold { len } => {
            match values.binary_search_by_key(&(op, hash), ColdValue::order) {
                Ok(at) => Newest::Hot {
                    value: &values[at].value,
                    expires_at,
                    op,
                    value_type,
                },
                Err(_) => Newest::Cold {
                    op,
                    expires_at,
                    value_type,
                    len: len as u32,
                    position: found.position,
                },
            }
        }
    }
}

#[inline]
fn is_due(expires_at: Option<UnixMillis>, now: UnixMillis) -> bool {
    expires_at.is_some_and(|at| at < now)
}
