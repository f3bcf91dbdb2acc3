//! What has a time to live is not seen after it.

use crate::clock::{MILLISECOND, SKEW_MS};
use crate::world::World;
use brickyard_history::{Action, Outcome};
use std::collections::BTreeMap;

pub(super) fn check(world: &mut World) {
    let history = &world.clients.history;
    let mut ends = BTreeMap::new();
    for operation in history {
        // Who was told that it is set knows that its life had begun by then.
        if let (Action::Set(value), Outcome::Done) = (&operation.action, &operation.outcome)
            && let Some(lives) = world.clients.passing.get(value)
        {
            let latest = operation.returned + (lives + SKEW_MS + 2) * MILLISECOND;
            ends.insert(value.clone(), latest);
        }
    }
    let late = history.iter().find(|operation| match &operation.outcome {
        Outcome::Value(Some(value)) => ends.get(value).is_some_and(|end| operation.called > *end),
        _ => false,
    });
    if let Some(operation) = late {
        let what = format!("a value is seen after its time: {operation}");
        world.object(what);
    }
}
