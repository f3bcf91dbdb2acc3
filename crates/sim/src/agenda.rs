//! What is going to happen, in the order in which it will.
//!
//! Invariant: of two things at the same instant the one that was noted first happens first.

use crate::clock::Nanos;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// See the module.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    items: BinaryHeap<Item<T>>,
    next: u64,
}

#[derive(Debug)]
struct Item<T> {
    at: Nanos,
    number: u64,
    what: T,
}

impl<T> PartialEq for Item<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl<T> Eq for Item<T> {}

impl<T> PartialOrd for Item<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Item<T> {
    /// The earliest is the greatest: the heap gives the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self {
            items: BinaryHeap::new(),
            next: 0,
        }
    }
}

impl<T> Agenda<T> {
    pub(crate) fn note(&mut self, at: Nanos, what: T) {
        let number = self.next;
        self.next += 1;
        self.items.push(Item { at, number, what });
    }

    pub(crate) fn take(&mut self) -> Option<(Nanos, T)> {
        self.items.pop().map(|item| (item.at, item.what))
    }

    /// How many things were noted so far.
    pub(crate) fn count(&self) -> u64 {
        self.next
    }
}
