//! What a change did: the answer to the requester, and what the catalog's parts say to the catalog.

use crate::{proposal::Stale, version::CatalogVersion};
use brickyard_routing::NodeId;
use brickyard_types::{Incarnation, PartitionId, TableId};
use serde::{Deserialize, Serialize};

/// What a change did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// The catalog's version now; unchanged if nothing had to be done.
    pub version: CatalogVersion,
    /// The table that was made, found, changed or dropped; 0 for changes of no one table.
    pub table: TableId,
    /// The node that was registered.
    pub registered: Option<Registered>,
    /// Which decisions of a batch were not carried out; all others were.
    pub stale: Vec<StaleAt>,
}

/// A decision that was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleAt {
    /// About which partition.
    pub partition: PartitionId,
    /// Why not.
    pub reason: Stale,
}

/// Who a node is from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// Its number, for ever.
    pub node: NodeId,
    /// Its life that begins.
    pub incarnation: Incarnation,
}

/// What a change did to the components that it borrowed.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Done {
    /// Whether the catalog is in another state now.
    pub(crate) has_changed: bool,
    /// As in [`Applied`].
    pub(crate) table: TableId,
    /// As in [`Applied`].
    pub(crate) registered: Option<Registered>,
    /// As in [`Applied`].
    pub(crate) stale: Vec<StaleAt>,
}

impl Done {
    /// A change of no one table.
    pub(crate) fn changed(has_changed: bool) -> Self {
        Self {
            has_changed,
            ..Self::default()
        }
    }

    /// A change of one table.
    pub(crate) fn of_table(table: TableId, has_changed: bool) -> Self {
        Self {
            has_changed,
            table,
            ..Self::default()
        }
    }

    /// Decisions, each of which was carried out (it changed something) or was stale.
    pub(crate) fn batch(outcomes: impl Iterator<Item = (PartitionId, Result<(), Stale>)>) -> Self {
        let mut done = Self::default();
        for (partition, outcome) in outcomes {
            match outcome {
                Ok(()) => done.has_changed = true,
                Err(reason) => done.stale.push(StaleAt { partition, reason }),
            }
        }
        done
    }

    /// Both, one after the other.
    pub(crate) fn and(mut self, then: Self) -> Self {
        self.has_changed |= then.has_changed;
        self.stale.extend(then.stale);
        self
    }

    /// The answer, as of the state that the change has led to.
    pub(crate) fn at(self, version: CatalogVersion) -> Applied {
        let Self {
            has_changed: _,
            table,
            registered,
            stale,
        } = self;
        Applied {
            version,
            table,
            registered,
            stale,
        }
    }
}
