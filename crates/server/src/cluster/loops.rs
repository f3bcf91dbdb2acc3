//! The bricks' loops, as the cluster's part sees them: what they are told and how far they are.

use crate::control::{LoopLink, ToLoop};
use brickyard_control::LoopState;
use brickyard_metadata::CatalogVersion;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering;

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

    pub(crate) fn send(&self, brick: usize, message: ToLoop) {
        if let Some(link) = self.0.borrow_mut().get_mut(brick) {
            link.send(message);
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
