//! A key that is there throughout a scan is returned, at whichever nodes its steps were made.

use crate::clients::state::steady_keys;
use crate::world::World;
use brickyard_history::{Action, Bytes, Outcome};

pub(super) fn check(world: &mut World) {
    let clients = &world.clients;
    let missing = clients.scans.iter().find_map(|scan| {
        let table = clients.table(scan.table);
        let is_cleared = |key: &Bytes| {
            let mut history = clients.history.iter();
            history.any(|it| it.key == *key && it.action == Action::Clear)
        };
        let mut keys = steady_keys(table, clients.habits.keys)
            .filter(|key| !scan.seen.contains(key) && !is_cleared(key));
        keys.find(|key| {
            clients.history.iter().any(|it| {
                let is_set = matches!(it.action, Action::Set(_)) && it.outcome == Outcome::Done;
                it.key == *key && is_set && it.returned <= scan.began
            })
        })
        .map(|key| (scan.began, key))
    });
    if let Some((began, key)) = missing {
        let key = key.escape_ascii();
        world.object(format!(
            "a scan that began at {:.3} ms does not return {key}, which was there all the time",
            began as f64 / 1e6
        ));
    }
}
