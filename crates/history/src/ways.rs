//! The ways in which a key's history may have gone so far.

use crate::model::State;
use std::collections::BTreeMap;

/// One way.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) state: State,
    /// Operations that have taken effect and have not returned yet, in order.
    pub(crate) early: Vec<usize>,
    /// Operations of unknown outcome that have taken effect, in order.
    pub(crate) spent: Vec<usize>,
}

impl Way {
    pub(crate) fn new(state: State) -> Self {
        Self {
            state,
            early: Vec::new(),
            spent: Vec::new(),
        }
    }

    /// The way on when an operation takes effect.
    pub(crate) fn after(&self, index: usize, state: State, is_lost: bool) -> Self {
        let mut next = self.clone();
        next.state = state;
        let list = if is_lost {
            &mut next.spent
        } else {
            &mut next.early
        };
        let place = list.partition_point(|it| *it < index);
        list.insert(place, index);
        next
    }
}

/// Ways that differ in what can still happen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ways {
    /// State and `early`, and what was spent on the way to there.
    by_state: BTreeMap<(State, Vec<usize>), Vec<Vec<usize>>>,
    len: usize,
}

impl Ways {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Way> {
        self.by_state.iter().flat_map(|((state, early), all)| {
            all.iter().map(|spent| Way {
                state: state.clone(),
                early: early.clone(),
                spent: spent.clone(),
            })
        })
    }

    /// Adds a way, unless there is one to the same place that has spent no more: whatever follows from the one
    /// follows from the other. Tells whether it was added.
    pub(crate) fn insert(&mut self, way: Way) -> bool {
        let all = self.by_state.entry((way.state, way.early)).or_default();
        if all.iter().any(|other| is_within(other, &way.spent)) {
            return false;
        }
        let before = all.len();
        all.retain(|other| !is_within(&way.spent, other));
        all.push(way.spent);
        self.len = self.len + all.len() - before;
        true
    }
}

/// Whether all of the one sorted list is in the other.
fn is_within(few: &[usize], many: &[usize]) -> bool {
    let mut many = many.iter();
    few.iter().all(|it| many.any(|other| other == it))
}
