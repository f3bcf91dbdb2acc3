//! A key that goes from table to table is in one of them, whatever became of those who moved it (rules `an anchor decides` and
//! `two tables are answered for last`).

use crate::clients::state::{Made, key};
use crate::habits::Kind;
use crate::world::World;
use brickyard_history::{Bytes, Outcome};

pub(super) fn check(world: &mut World) {
    let clients = &world.clients;
    let whole_at = world.cluster.checkers.whole_at;
    // What everybody reads at the end is what there is.
    let holds = |key: &Bytes| {
        let mut latest = clients.history.iter().rev();
        latest.find_map(|it| match &it.outcome {
            Outcome::Value(value) if it.key == *key && it.called >= whole_at => {
                Some(value.is_some())
            }
            _ => None,
        })
    };
    let wrong = clients.moved.iter().find_map(|(number, made)| {
        let keys = clients.tables.iter();
        let keys = keys.map(|table| key(table, Kind::Moved, *number));
        let there: Option<Vec<bool>> = keys.map(|key| holds(&key)).collect();
        let count = there?.into_iter().filter(|it| *it).count();
        let is_right = match made {
            Made::Surely => count == 1,
            Made::Maybe => count <= 1,
        };
        (!is_right).then_some((*number, count))
    });
    if let Some((number, count)) = wrong {
        world.object(format!(
            "key {number}, which goes from table to table, is in {count} of them"
        ));
    }
}
