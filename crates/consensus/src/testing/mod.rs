//! Nodes on a network that loses, doubles, delays and parts, with disks that forget: from a seed.

mod disk;
mod network;
mod node;
mod random;

pub(crate) use disk::Disk;
pub(crate) use network::{Faults, Network};
pub(crate) use random::Random;
