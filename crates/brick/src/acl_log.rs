//! What a node refused for want of rights or of a password: the last few, of all its bricks.
//!
//! In:  refusals. Out: entries, newest first; what was refused to the same user in the same way within a minute is one of them.
//!
//! Invariants:
//! - There are at most [`LEN_MAX`] entries, each with a bounded text: a stranger can neither fill memory nor name a password.

use brickyard_types::UnixMillis;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many are kept, as in Redis.
const LEN_MAX: usize = 128;

/// For so long a refusal of the same kind is counted with the last one.
const GROUPING_MS: u64 = 60_000;

/// Bytes of a name or key that are kept.
const TEXT_BYTES_MAX: usize = 256;

/// One kind of refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denied {
    /// `command`, `key`, `channel`, `table` or `auth`.
    pub(crate) reason: &'static str,
    /// `toplevel` or `multi`.
    pub(crate) context: &'static str,
    /// The command, key, or what was tried.
    pub(crate) object: Vec<u8>,
    /// Who.
    pub(crate) user: String,
    /// From where.
    pub(crate) client: String,
}

/// Refusals of one kind.
#[derive(Clone, Debug)]
pub(crate) struct DeniedEntry {
    pub(crate) id: u64,
    pub(crate) count: u64,
    pub(crate) denied: Denied,
    pub(crate) created: UnixMillis,
    pub(crate) updated: UnixMillis,
}

/// See the module.
#[derive(Debug, Default)]
pub struct NodeAclLog(Mutex<AclLog>);

impl NodeAclLog {
    /// The log, as long as nobody else has it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, AclLog> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entries.
#[derive(Debug, Default)]
pub(crate) struct AclLog {
    entries: VecDeque<DeniedEntry>,
    next: u64,
}

impl AclLog {
    pub(crate) fn note(&mut self, mut denied: Denied, now: UnixMillis) {
        denied.object.truncate(TEXT_BYTES_MAX);
        if denied.user.len() > TEXT_BYTES_MAX {
            denied.user = denied.user.chars().take(TEXT_BYTES_MAX / 4).collect();
        }
        let is_same = |it: &DeniedEntry| {
            let (it, since) = (&it.denied, now.0.saturating_sub(it.updated.0));
            since <= GROUPING_MS
                && (it.reason, it.context) == (denied.reason, denied.context)
                && it.object == denied.object
                && it.user == denied.user
        };
        let at = self.entries.iter().position(is_same);
        let mut entry = at
            .and_then(|at| self.entries.remove(at))
            .unwrap_or_else(|| {
                self.next += 1;
                DeniedEntry {
                    id: self.next - 1,
                    count: 0,
                    denied: denied.clone(),
                    created: now,
                    updated: now,
                }
            });
        entry.count += 1;
        entry.updated = now;
        entry.denied.client = denied.client;
        self.entries.push_front(entry);
        self.entries.truncate(LEN_MAX);
        assert!(
            self.entries
                .iter()
                .all(|it| it.id < self.next && it.count > 0),
            "an entry counts refusals, and its number was given out"
        );
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &DeniedEntry> {
        self.entries.iter()
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod acl_log_test {
    use super::*;

    fn denied(object: &str) -> Denied {
        Denied {
            reason: "command",
            context: "toplevel",
            object: object.as_bytes().to_vec(),
            user: "ann".to_owned(),
            client: "1.2.3.4:5".to_owned(),
        }
    }

    #[test]
    fn same_refusals_are_counted_together_for_a_minute_and_few_are_kept() {
        let mut log = AclLog::default();
        log.note(denied("get"), UnixMillis(0));
        log.note(denied("set"), UnixMillis(1));
        log.note(denied("get"), UnixMillis(60_000));
        let shown: Vec<_> = log.iter().map(|it| (it.id, it.count)).collect();
        assert_eq!(shown, [(0, 2), (1, 1)]);
        log.note(denied("get"), UnixMillis(120_001));
        assert_eq!(log.iter().len(), 3);
        for n in 0..200 {
            log.note(denied(&n.to_string()), UnixMillis(0));
        }
        assert_eq!(log.iter().len(), LEN_MAX);
    }
}
