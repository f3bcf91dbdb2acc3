//! What a kind of fault is, and what several of them need.

use crate::clock::Nanos;
use crate::random::Random;
use crate::what::What;
use crate::world::World;

/// A way in which something goes wrong.
pub(crate) struct Kind {
    /// For people.
    pub(crate) name: &'static str,
    /// How often it is drawn, compared with the others.
    pub(crate) weight: u64,
    /// Does it: the dice say to whom and how much, and are the same at every stage; stage 0 is the first.
    pub(crate) act: fn(&mut World, &mut Random, u32),
}

/// The kind that acts now will act again.
pub(super) fn again(world: &mut World, delay: Nanos, stage: u32) {
    let (kind, dice) = world.acting;
    world.after(delay, What::Again(kind, dice, stage));
}

/// Two different nodes.
pub(super) fn two(world: &World, random: &mut Random) -> (usize, usize) {
    let count = world.cluster.machines.len();
    let from = random.index(count);
    let to = (from + 1 + random.index(count - 1)) % count;
    (from, to)
}
