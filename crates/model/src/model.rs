//! The model as the checker wants it.

use crate::action::{self, Action};
use crate::judge::CLAIMS;
use crate::scope::Scope;
use crate::state::State;
use crate::world::World;
use crate::{Rule, Rules};
use stateright::{Checker, HasDiscoveries, Model, Property};

/// One scope, with all rules or without one.
#[derive(Clone, Debug)]
pub struct Replication {
    /// What may happen.
    pub scope: Scope,
    /// The rules that hold.
    pub rules: Rules,
}

/// What a search has found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Different states that were reached.
    pub states: usize,
    /// The most steps to any of them.
    pub depth: usize,
    /// Whether that is all there are.
    pub is_all: bool,
    /// A claim that does not hold, and the fewest steps to where it does not.
    pub violation: Option<(&'static str, Vec<Action>)>,
}

impl Model for Replication {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![World::first(&self.scope, self.rules)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        action::all(state, &self.scope, self.rules, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut world = World {
            scope: &self.scope,
            rules: self.rules,
            state: last.clone(),
        };
        if !world.step(action) {
            return None;
        }
        world.tidy();
        Some(world.state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let always = |at: usize| -> fn(&Self, &State) -> bool {
            match at {
                0 => |model, state| CLAIMS[0].1(state, model.rules),
                1 => |model, state| CLAIMS[1].1(state, model.rules),
                2 => |model, state| CLAIMS[2].1(state, model.rules),
                3 => |model, state| CLAIMS[3].1(state, model.rules),
                4 => |model, state| CLAIMS[4].1(state, model.rules),
                _ => |model, state| CLAIMS[5].1(state, model.rules),
            }
        };
        let claims = CLAIMS.iter().enumerate();
        claims
            .map(|(at, (name, _))| Property::always(name, always(at)))
            .collect()
    }
}

impl Replication {
    /// A scope in which all rules hold.
    #[must_use]
    pub const fn new(scope: Scope) -> Self {
        Self {
            scope,
            rules: Rules::all(),
        }
    }

    /// The same without one of them.
    #[must_use]
    pub const fn without(scope: Scope, rule: Rule) -> Self {
        Self {
            scope,
            rules: Rules::without(rule),
        }
    }

    /// Searches breadth first, by one thread so that what is found is the same each time, until all states were
    /// seen or a claim does not hold.
    #[must_use]
    pub fn search(&self) -> Found {
        let search = self.clone().checker();
        let search = search.finish_when(HasDiscoveries::Any);
        let found = search.spawn_bfs().join();
        let mut paths: Vec<_> = found.discoveries().into_iter().collect();
        paths.sort_by_key(|(name, path)| (path.clone().into_actions().len(), *name));
        let first = paths.into_iter().next();
        Found {
            states: found.unique_state_count(),
            depth: found.max_depth(),
            is_all: first.is_none() && found.is_done(),
            violation: first.map(|(name, path)| (name, path.into_actions())),
        }
    }
}
