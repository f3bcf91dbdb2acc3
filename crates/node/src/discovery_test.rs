//! Who founds the cluster, in every order of starts and with restarts in between.

use super::*;
use std::collections::VecDeque;

/// Nodes that have no cluster, and all that is said among them.
struct World {
    nodes: Vec<Option<Discovery>>,
    kept: Vec<Kept>,
    messages: VecDeque<(usize, DiscoveryMessage)>,
    founded: BTreeSet<usize>,
    expect: u32,
    now: Instant,
    random: u64,
}

fn key(node: usize) -> NodeKey {
    NodeKey([node as u8 + 1; 20])
}

impl World {
    fn new(nodes: usize, expect: u32, random: u64) -> Self {
        Self {
            nodes: (0..nodes).map(|_| None).collect(),
            kept: vec![Kept::default(); nodes],
            messages: VecDeque::new(),
            founded: BTreeSet::new(),
            expect,
            now: Instant(0),
            random: random | 1,
        }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % below as u64) as usize
    }

    fn start(&mut self, node: usize) {
        let address = HostPort {
            host: "host".to_owned(),
            port: node as u16 + 1,
        };
        let discovery = Discovery::new(key(node), address, self.expect, self.kept[node]);
        self.nodes[node] = Some(discovery);
    }

    fn stop(&mut self, node: usize) {
        self.nodes[node] = None;
    }

    fn carry_out(&mut self, node: usize) {
        let Some(discovery) = &mut self.nodes[node] else {
            return;
        };
        for step in discovery.take_steps() {
            match step {
                DiscoveryStep::Keep(kept) => {
                    self.kept[node] = kept;
                    discovery.on_kept(kept);
                }
                DiscoveryStep::Say(to, message) => {
                    let to = usize::from(to.0[0] - 1);
                    self.messages.push_back((to, message));
                }
                DiscoveryStep::Found => drop(self.founded.insert(node)),
            }
        }
    }

    fn tick(&mut self, node: usize) {
        self.now = self.now + Duration::from_millis(20);
        if self.founded.contains(&node) {
            return;
        }
        let Some(discovery) = &mut self.nodes[node] else {
            return;
        };
        discovery.on_tick(self.now);
        let status = discovery.status();
        for to in 0..self.nodes.len() {
            self.messages
                .push_back((to, DiscoveryMessage::Status(status.clone())));
        }
        self.carry_out(node);
    }

    fn deliver(&mut self) {
        let Some((to, message)) = self.messages.pop_front() else {
            return;
        };
        if self.founded.contains(&to) {
            return;
        }
        if let Some(discovery) = &mut self.nodes[to] {
            discovery.on_message(self.now, message);
        }
        self.carry_out(to);
    }

    fn settle(&mut self, rounds: usize) {
        for _ in 0..rounds {
            for node in 0..self.nodes.len() {
                self.tick(node);
                while !self.messages.is_empty() {
                    self.deliver();
                }
            }
        }
    }
}

#[test]
fn smallest_of_those_that_were_expected_founds() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut world = World::new(3, 3, 7);
        for node in order {
            assert!(world.founded.is_empty());
            world.start(node);
            world.settle(3);
        }
        assert_eq!(world.founded, BTreeSet::from([0]), "{order:?}");
    }
}

#[test]
fn nobody_founds_with_fewer_than_expected() {
    let mut world = World::new(3, 3, 7);
    world.start(0);
    world.start(2);
    world.settle(300);
    assert!(world.founded.is_empty());
    let mut world = World::new(3, 0, 7);
    for node in 0..3 {
        world.start(node);
    }
    world.settle(300);
    assert!(world.founded.is_empty());
}

#[test]
fn who_joined_a_cluster_founds_no_other() {
    let mut world = World::new(3, 3, 7);
    world.kept[0].joined = Some(ClusterId(4));
    for node in 0..3 {
        world.start(node);
    }
    world.settle(300);
    assert!(world.founded.is_empty());
}

#[test]
fn one_founds_whatever_is_lost_late_or_restarted() {
    for seed in 1..400 {
        // More nodes than are expected, and fewer than twice as many.
        let mut world = World::new(5, 3, seed * 0x9e37_79b9);
        for _ in 0..600 {
            let node = world.draw(5);
            match world.draw(12) {
                0 if world.nodes[node].is_none() => world.start(node),
                1 if !world.founded.contains(&node) => world.stop(node),
                2 => drop(world.messages.pop_front()),
                3 => {
                    let len = world.messages.len();
                    world.messages.rotate_left(len / 2);
                }
                4..=6 => world.tick(node),
                _ => world.deliver(),
            }
            assert!(world.founded.len() <= 1, "seed {seed}");
        }
        for node in 0..5 {
            if world.nodes[node].is_none() {
                world.start(node);
            }
        }
        world.settle(300);
        assert_eq!(world.founded.len(), 1, "seed {seed}");
    }
}

/// A full disk, or a sync that fails.
#[test]
fn promise_that_could_not_be_stored_is_not_given_when_it_is_asked_for_again() {
    let address = HostPort {
        host: "host".to_owned(),
        port: 1,
    };
    let mut discovery = Discovery::new(key(1), address, 2, Kept::default());
    let ask = DiscoveryMessage::Ask {
        founder: key(0),
        attempt: 1,
    };
    for is_stored in [false, false, true] {
        discovery.on_message(Instant(1), ask.clone());
        let steps = discovery.take_steps();
        let [
            DiscoveryStep::Keep(kept),
            DiscoveryStep::Say(to, DiscoveryMessage::Promise { .. }),
        ] = &steps[..]
        else {
            panic!("it is stored before it is said: {steps:?}");
        };
        assert_eq!((*to, kept.promised), (key(0), Some((key(0), 1))));
        if is_stored {
            discovery.on_kept(*kept);
        } else {
            discovery.on_not_kept();
        }
    }
    // Stored once is enough.
    discovery.on_message(Instant(2), ask);
    assert_eq!(discovery.take_steps().len(), 1);
}
