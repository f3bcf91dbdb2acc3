//! The bricks' loops, as the cluster's part sees them: what they are told and how far they are.

use super::changes::Answer;
use crate::control::{LoopLink, ToLoop};
use brickyard_control::LoopState;
use brickyard_metadata::{Catalog, CatalogVersion};
use brickyard_types::{Incarnation, Instant};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Until when a brick may act that needs no lease.
pub(crate) const ENDLESS: Instant = Instant(u64::MAX);

/// See the module. Empty until the bricks have read their logs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loops(Rc<RefCell<Vec<LoopLink>>>);

impl Loops {
    pub(crate) fn new(loops: Rc<RefCell<Vec<LoopLink>>>) -> Self {
        Self(loops)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.borrow().len()
    }

    /// Whether the bricks run.
    pub(crate) fn are_there(&self) -> bool {
        self.len() > 0
    }

    pub(crate) fn send(&self, brick: usize, message: ToLoop) {
        if let Some(link) = self.0.borrow_mut().get_mut(brick) {
            link.send(message);
        }
    }

    fn send_all(&self, message: impl Fn() -> ToLoop) {
        for link in self.0.borrow_mut().iter_mut() {
            link.send(message());
        }
    }

    pub(crate) fn registered(&self, incarnation: Incarnation) {
        self.send_all(|| ToLoop::Registered(incarnation));
    }

    pub(crate) fn catalog(&self, catalog: &Arc<Catalog>) {
        self.send_all(|| ToLoop::Catalog(Arc::clone(catalog)));
    }

    /// All bricks may act as long as there is no other node.
    pub(crate) fn endless_lease(&self, version: CatalogVersion) {
        self.send_all(|| ToLoop::Lease {
            until: ENDLESS,
            version: version.0,
        });
    }

    /// No brick may act any more.
    pub(crate) fn end_lease(&self) {
        self.send_all(|| ToLoop::Lease {
            until: Instant(0),
            version: 0,
        });
    }

    pub(crate) fn answer(&self, answers: Vec<Answer>) {
        for (asker, reply) in answers {
            self.send(asker.brick, ToLoop::Reply(asker.token, reply));
        }
    }

    /// The oldest catalog that a brick acts by.
    pub(crate) fn adopted(&self) -> u64 {
        let loops = self.0.borrow();
        let adopted = loops
            .iter()
            .map(|link| link.state.catalog.load(Ordering::Acquire));
        adopted.min().unwrap_or(0)
    }

    /// How far each brick is.
    pub(crate) fn states(&self) -> Vec<LoopState> {
        let loops = self.0.borrow();
        let states = loops.iter().map(|link| LoopState {
            turns: link.state.turns.load(Ordering::Relaxed),
            stopped: CatalogVersion(link.state.stopped.load(Ordering::Acquire)),
            accepted: CatalogVersion(link.state.accepted.load(Ordering::Acquire)),
        });
        states.collect()
    }
}
