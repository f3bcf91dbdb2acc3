//! The order of what one connection asks of one slot.
//!
//! Such requests run in the order in which they were sent (rule `reads follow own writes`). Where one waits, or is
//! with another brick, the next one has to know. (Not of one partition: the slot is in another one when that is
//! split. Not of keys: those are of a partition that may leave this brick meanwhile.)

use crate::request::SessionOrder;
use std::collections::BTreeMap;

/// Where something of an order is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It waits here for a view or a lease.
    View,
    /// It waits here for values.
    Values,
    /// It is with a brick of another node, or about to go there.
    Remote,
    /// The same, and it writes.
    RemoteWrite,
    /// It is a read, with a backup on another brick of this node.
    LocalRead,
    /// It waits here for values and has scripts: which keys these touch is known when they have run.
    Script,
}

/// How many places there are.
const PLACES: usize = Place::Script as usize + 1;

/// How much of each order is where; orders of which nothing is anywhere are not in it.
#[derive(Debug, Default)]
pub(crate) struct Orders(BTreeMap<SessionOrder, [u32; PLACES]>);

impl Orders {
    /// Whether nothing that has an order is anywhere.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn is_at(&self, order: SessionOrder, place: Place) -> bool {
        self.count(order, place) > 0
    }

    /// Whether something of it waits here that whatever comes next would overtake.
    pub(crate) fn holds_up(&self, order: SessionOrder) -> bool {
        self.is_at(order, Place::View) || self.is_at(order, Place::Script)
    }

    /// How much of it is there.
    pub(crate) fn count(&self, order: SessionOrder, place: Place) -> u32 {
        let counts = self.0.get(&order);
        counts.map_or(0, |counts| counts[place as usize])
    }

    /// Whether something of it is with another brick, or about to go there.
    pub(crate) fn is_away(&self, order: SessionOrder) -> bool {
        self.is_at(order, Place::Remote) || self.is_at(order, Place::LocalRead)
    }

    pub(super) fn enter(&mut self, order: Option<SessionOrder>, place: Place) {
        if let Some(order) = order {
            self.0.entry(order).or_default()[place as usize] += 1;
        }
    }

    pub(super) fn leave(&mut self, order: Option<SessionOrder>, place: Place) {
        let Some(order) = order else {
            return;
        };
        let counts = self.0.get_mut(&order);
        let count = counts.map(|counts| &mut counts[place as usize]);
        let left = count.and_then(|count| {
            *count = count.checked_sub(1)?;
            Some(*count)
        });
        assert!(left.is_some(), "nothing of {order:?} is at {place:?}");
        if self.0.get(&order) == Some(&[0; PLACES]) {
            self.0.remove(&order);
        }
    }
}

#[cfg(test)]
#[path = "order_test.rs"]
mod order_test;
