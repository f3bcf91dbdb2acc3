//! A network for the nodes of a cluster that can be cut: [`brickyard_torture::Network`], where the machine permits one.

use crate::skip;
use brickyard_torture::Failure;
use std::process::Command;

/// It is taken down with the value.
#[derive(Debug)]
pub struct Network(brickyard_torture::Network);

impl Network {
    /// A network for so many nodes; `None`, and one line that says why, where that is not permitted.
    #[must_use]
    pub fn new(nodes: usize) -> Option<Self> {
        match brickyard_torture::Network::new(nodes) {
            Ok(network) => Some(Self(network)),
            Err(error) => {
                skip::announce("cuts between nodes", &error.to_string());
                None
            }
        }
    }

    /// The address of a node.
    #[must_use]
    pub fn address(&self, at: usize) -> String {
        self.0.address(at)
    }

    /// The command, inside of a node's namespace.
    #[must_use]
    pub fn inside(&self, at: usize, command: &Command) -> Command {
        self.0.inside(at, command)
    }

    /// Loses everything that one node sends to another, from now on.
    ///
    /// # Panics
    /// If the network cannot be changed.
    pub fn cut(&self, from: usize, to: usize) {
        self.0
            .cut(from, to)
            .unwrap_or_else(|error| panic!("{error}"));
    }

    /// Does to a node's links what a failure is, from now on.
    ///
    /// # Panics
    /// If the network cannot be changed, or the failure is another one.
    pub fn harm(&self, failure: Failure, at: usize, leader: usize, draw: u64) {
        self.0
            .harm(failure, at, leader, draw)
            .unwrap_or_else(|error| panic!("{error}"));
    }

    /// Ends all cuts and losses.
    ///
    /// # Panics
    /// If the network cannot be changed.
    pub fn heal(&self) {
        self.0.heal().unwrap_or_else(|error| panic!("{error}"));
    }
}
