//! What a brick is besides its connections: tables, log, clock, neighbours.
//!
//! Kept apart from the connections so that a request can borrow its bytes from a connection's
//! input, write its reply to the same connection's output, and change everything here.

use crate::append::BatchId;
use crate::catch_up::CatchUps;
use crate::effect::Effect;
use crate::forward::Outbox;
use crate::keyspace_events::Notices;
use crate::log::{Log, Prepared};
use crate::membership::Adoption;
use crate::moves::Moves;
use crate::offline::Offline;
use crate::outside::Outside;
use crate::pending_split::PendingSplits;
use crate::random::Random;
use crate::replica::{Replicas, Replication};
use crate::request::{Origin, Token};
use crate::requests::Requests;
use crate::resize::Shrunk;
use crate::scripts::{BrickScripts, Functions, Known};
use crate::segments::Segments;
use crate::shared::Shared;
use crate::staging::Staging;
use crate::stats::Stats;
use crate::tables::{Partition, TableState, Tables};
use crate::tracking::Holders;
use crate::users::Users;
use crate::watch::NegativeVersions;
use brickyard_routing::{Location, Member};
use brickyard_table::LocalPartition;
use brickyard_types::record::{Header, Kind};
use brickyard_types::{BrickId, Instant, Op, UnixMillis};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// See the module.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) id: BrickId,
    pub(crate) shared: Arc<Shared>,
    /// The node's users as the newest catalog has them.
    pub(crate) users: Users,
    pub(crate) now: Instant,
    pub(crate) unix: UnixMillis,
    pub(crate) tables: Tables,
    pub(crate) log: Log,
    pub(crate) segments: Segments,
    pub(crate) negative_versions: NegativeVersions,
    pub(crate) requests: Requests,
    pub(crate) outbox: Outbox,
    pub(crate) effects: VecDeque<Effect>,
    pub(crate) workshop: Workshop,
    pub(crate) random: Random,
    pub(crate) replicas: Replicas,
    pub(crate) moves: Moves,
    /// Bricks whose clients keep copies of keys, and clients that have leases.
    pub(crate) holders: Holders,
}

/// What commands are executed with.
#[derive(Debug, Default)]
pub(crate) struct Workshop {
    pub(crate) staging: Staging,
    pub(crate) notices: Notices,
    pub(crate) scripts: BrickScripts,
    /// As the newest catalog has them.
    pub(crate) functions: Arc<Functions>,
    /// What the present run has for clients that watch, if there are any.
    pub(crate) shown: Option<Vec<u8>>,
    /// A hash in parts that was read as one value.
    pub(crate) whole: Vec<u8>,
}

/// A brick's components, borrowed apart for work that is no request.
pub(crate) struct Parts<'a> {
    pub(crate) replication: Replication<'a>,
    pub(crate) outside: Outside<'a>,
    pub(crate) catch_ups: &'a mut CatchUps,
    pub(crate) offline: &'a mut Offline,
    pub(crate) pending_splits: &'a mut PendingSplits,
    pub(crate) shrunk: &'a mut Shrunk,
}

impl Core {
    #[inline]
    pub(crate) fn stats(&self) -> &Stats {
        &self.shared.stats[self.id.0 as usize]
    }

    /// How many bricks the node has.
    pub(crate) fn bricks(&self) -> u32 {
        self.shared.stats.len() as u32
    }

    #[inline]
    pub(crate) fn member(&self) -> Member {
        Member {
            node: self.shared.identity.node,
            brick: self.id,
        }
    }

    #[inline]
    pub(crate) fn table(&self, index: usize) -> Option<&TableState> {
        self.tables.get(index)
    }

    #[inline]
    pub(crate) fn table_mut(&mut self, index: usize) -> Option<&mut TableState> {
        self.tables.get_mut(index)
    }

    /// For what happens to a replica.
    #[inline]
    pub(crate) fn replication(&mut self) -> Replication<'_> {
        self.parts().replication
    }

    /// For work that is no request.
    pub(crate) fn parts(&mut self) -> Parts<'_> {
        Parts {
            replication: Replication {
                replicas: &mut self.replicas,
                tables: &mut self.tables,
                log: &mut self.log,
                segments: &mut self.segments,
                removals: &mut self.moves.removals,
                unix: self.unix,
            },
            outside: Outside {
                effects: &mut self.effects,
                stats: &self.shared.stats[self.id.0 as usize],
                now: self.now,
            },
            catch_ups: &mut self.moves.catch_ups,
            offline: &mut self.moves.offline,
            pending_splits: &mut self.moves.pending_splits,
            shrunk: &mut self.moves.shrunk,
        }
    }

    /// For a newer catalog.
    pub(crate) fn adoption(&mut self) -> Adoption<'_> {
        let bricks = self.bricks();
        let parts = self.parts();
        Adoption {
            replication: parts.replication,
            offline: parts.offline,
            pending_splits: parts.pending_splits,
            outside: parts.outside,
            bricks,
        }
    }

    /// Whether a partition of which the catalog says that this brick is the primary is in its hands.
    pub(crate) fn has_in_hand(&self, partition: &Partition, writes: bool) -> bool {
        let status = partition.status;
        let may = if writes {
            status.accepts_writes
        } else {
            status.serves_reads
        };
        // What was given up waits for nobody, and its outcome is not known all the same.
        let is_known = partition.op <= partition.committed || !self.log.is_given_up(partition.id);
        partition.is_primary() && may && is_known
    }

    /// When a request that begins now is given up.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        self.now + self.shared.limits.request_deadline
    }

    /// A client's request, with what waits for its reply.
    pub(crate) fn own(&self, token: Token) -> Origin {
        Origin {
            member: self.member(),
            token,
        }
    }

    /// Scripts and functions that can be called.
    pub(crate) fn known_scripts(&self) -> Known<'_> {
        Known {
            scripts: &self.shared.scripts,
            functions: &self.workshop.functions,
        }
    }

    /// Finds a key: its table's map is right for as long as the catalog is.
    #[inline]
    pub(crate) fn locate(&self, table: usize, key: &[u8]) -> Option<Location> {
        self.tables.locate(table, key)
    }

    /// The log refused operations: their numbers are free again, since nothing after them was
    /// accepted either (a gap would be read as something missing, rule `log summaries begin at a baseline`).
    pub(crate) fn rewind(&mut self, refused: &[Prepared]) {
        let mut lowest: BTreeMap<(u32, LocalPartition), Op> = BTreeMap::new();
        for prepared in refused {
            assert!(prepared.op > Op(0), "ops are numbered from 1: {prepared:?}");
            let key = (prepared.key.table, prepared.key.partition);
            let op = lowest.entry(key).or_insert(prepared.op);
            *op = (*op).min(prepared.op);
        }
        for ((table, local), op) in lowest {
            let Some(state) = self.tables.get(table as usize) else {
                continue;
            };
            let mut held = state.partitions.iter().flatten();
            if let Some(id) = held.find(|it| it.local == local).map(|it| it.id) {
                self.tables.cut(id, op);
            }
        }
    }

    /// An operation of a partition with neither a log nor another replica was applied: it has committed.
    #[inline]
    pub(crate) fn note_applied(&mut self, (table, leaf): (usize, usize), op: Op) {
        self.tables.followed.note((table, leaf));
        let state = self.tables.get_mut(table);
        if let Some(it) = state.and_then(|it| it.partitions.get_mut(leaf)?.as_mut()) {
            it.committed = op;
            if !std::mem::replace(&mut it.is_ahead, true) {
                self.replicas.ahead.push(it.id);
            }
        }
    }

    /// Prepares an operation on a whole partition (a clear) and applies it once it is in the log.
    pub(crate) fn header(&self, table: usize, leaf: usize, kind: Kind, op: Op) -> Option<Header> {
        let state = self.table(table)?;
        let partition = state.partitions.get(leaf)?.as_ref()?;
        Some(Header {
            kind,
            flags: 0,
            table: state.id,
            partition: partition.id,
            view: partition.status.view,
            op,
            expires_at: None,
            request: None,
            origin: None,
            committed: Some(partition.committed),
        })
    }

    /// Whether a newer catalog waits to be adopted: nothing is prepared under the old one any more.
    #[inline]
    pub(crate) fn is_adopting(&self) -> bool {
        self.tables.is_adopting()
    }

    /// Whether the catalog that waits takes a partition apart of which something is still on its way to the log.
    pub(crate) fn is_about_to_part(&self) -> bool {
        let (values, replicator) = (&self.requests.values, self.replicas.replicator());
        let pending_splits = &self.moves.pending_splits;
        pending_splits.is_about_to_part(&self.tables, &self.log, values, replicator)
    }

    /// Whether no write waits for anything.
    pub(crate) fn is_settled(&self) -> bool {
        self.log.is_idle() && self.requests.values.is_idle()
    }

    /// The batch that is being built, for tests and statistics.
    pub(crate) fn building(&self) -> BatchId {
        self.log.building_id()
    }
}
