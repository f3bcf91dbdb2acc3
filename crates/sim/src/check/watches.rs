//! A transaction runs only if what it watches has not changed since.

use crate::world::World;
use brickyard_history::{Action, Operation, Outcome};

pub(super) fn check(world: &mut World) {
    let history = &world.clients.history;
    let changed = world.clients.watched.iter().find_map(|it| {
        let ran = &history[it.operation];
        let has_run = ran.outcome == Outcome::Did(true);
        let between = |other: &&Operation| {
            other.key == ran.key && other.called > it.since && other.returned < it.until
        };
        let mut others = history.iter().filter(|_| has_run);
        others
            .find(|other| between(other) && has_changed(other))
            .map(|other| (ran.clone(), other.clone()))
    });
    if let Some((ran, other)) = changed {
        world.object(format!(
            "a transaction ran although what it watched had changed: {ran}\nafter {other}"
        ));
    }
}

/// Whether an operation is known to have written.
fn has_changed(operation: &Operation) -> bool {
    matches!(
        (&operation.action, &operation.outcome),
        (Action::Set(_), Outcome::Done)
            | (Action::Append(_) | Action::Increment(_), Outcome::Number(_))
            | (
                Action::Delete | Action::CompareAndSet { .. },
                Outcome::Did(true)
            )
    )
}
