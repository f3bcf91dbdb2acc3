//! The client against a cluster of fakes: what it asks of whom, and what it tells of calls that fail.

#![expect(clippy::unwrap_used, reason = "a test that fails here says where")]

mod bounds;
mod cached;
mod fake;
mod finding;
mod ids;
mod lookups;
mod losing;
mod many;
mod replicas;

use brickyard_client::{Client, Options, Table};
use fake::{Fake, SharedWorld};
use std::time::Duration;

/// One node port and bricks that share the slots evenly, each the backup of all others if `is_replicated`.
struct Cluster {
    world: SharedWorld,
    node: Fake,
    bricks: Vec<Fake>,
}

impl Cluster {
    async fn of(bricks: usize, is_replicated: bool) -> Self {
        let world = SharedWorld::default();
        let node = Fake::node_port(&world).await;
        let mut cluster = Self {
            world,
            node,
            bricks: Vec::new(),
        };
        for _ in 0..bricks {
            cluster.bricks.push(Fake::brick(&cluster.world).await);
        }
        let addresses: Vec<String> = cluster.bricks.iter().map(|it| it.address.clone()).collect();
        let share = 16384_usize.div_ceil(bricks.max(1));
        for (number, primary) in addresses.iter().enumerate() {
            let mut members = vec![primary.clone()];
            if is_replicated {
                members.extend(addresses.iter().filter(|it| *it != primary).cloned());
            }
            let (first, last) = (number * share, ((number + 1) * share).min(16384) - 1);
            let range = (first as u16, last as u16, members);
            cluster.world.lock().unwrap().map.push(range);
        }
        cluster
    }

    /// All slots are at these bricks from now on, the first one the primary.
    fn move_all_to(&self, members: &[usize]) {
        let members = members.iter().map(|it| self.bricks[*it].address.clone());
        self.world.lock().unwrap().map = vec![(0, 16383, members.collect())];
    }

    fn options(&self) -> Options {
        Options {
            deadline: Duration::from_secs(20),
            ..Options::new([self.node.address.clone()])
        }
    }

    /// Options for tests in which a connection falls silent.
    fn hasty_options(&self) -> Options {
        Options {
            silence_limit: Duration::from_millis(20),
            hedge_after: Duration::from_millis(20),
            ..self.options()
        }
    }

    async fn table(&self, options: Options) -> Table {
        Client::connect(options).await.unwrap().home_table()
    }

    /// How many requests named `name` each brick has got.
    fn asked(&self, name: &str) -> Vec<usize> {
        self.bricks.iter().map(|it| it.asked(name).len()).collect()
    }
}

/// A key whose slot `brick` of `bricks` has.
fn key_of(brick: usize, bricks: usize, number: usize) -> String {
    let share = 16384_usize.div_ceil(bricks);
    (0..)
        .map(|n| format!("key:{n}"))
        .filter(|key| usize::from(brickyard_routing::slot(key.as_bytes()).0) / share == brick)
        .nth(number)
        .unwrap()
}
