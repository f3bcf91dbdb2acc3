//! A network for the nodes of a cluster that can be cut, made of network namespaces.
//!
//! Each node has a namespace of its own, joined to the others by a bridge; clients reach all of them from the
//! outside whatever is cut between them. A cut loses packets silently, as a broken switch does: the
//! sender keeps a hardware address for the receiver that no machine has.

use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

/// A locally administered hardware address that no interface has.
const NOBODY: &str = "02:00:00:00:00:fe";
/// The interface inside of each namespace.
const INTERFACE: &str = "eth0";

/// What the system did not permit.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{command}: {why}; it takes root and the `ip` program of iproute2")]
pub struct NetworkError {
    command: String,
    why: String,
}

/// See the module; it is taken down with the value.
#[derive(Debug)]
pub struct Network {
    /// Names of this network's parts begin so.
    name: String,
    third: u8,
    nodes: usize,
}

impl Network {
    /// A network for so many nodes.
    ///
    /// # Errors
    /// Why this machine does not permit one.
    pub fn new(nodes: usize) -> Result<Self, NetworkError> {
        static COUNT: AtomicU8 = AtomicU8::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let network = Self {
            name: format!("by{process:x}-{count}"),
            // Of several test programs at once each has other addresses.
            third: (process as u8).wrapping_mul(16).wrapping_add(count),
            nodes,
        };
        network.build()?;
        Ok(network)
    }

    fn build(&self) -> Result<(), NetworkError> {
        let bridge = self.bridge();
        ip(&["link", "add", &bridge, "type", "bridge"])?;
        let own = format!("{}/24", self.host(254));
        ip(&["address", "add", &own, "dev", &bridge])?;
        ip(&["link", "set", &bridge, "up"])?;
        for at in 0..self.nodes {
            let (space, outer) = (self.space(at), format!("{}v{at}", self.name));
            ip(&["netns", "add", &space])?;
            let veth = [
                "link", "add", &outer, "type", "veth", "peer", "name", INTERFACE,
            ];
            ip(&[&veth[..], &["netns", &space]].concat())?;
            ip(&["link", "set", &outer, "master", &bridge, "up"])?;
            let address = format!("{}/24", self.address(at));
            ip(&["-n", &space, "address", "add", &address, "dev", INTERFACE])?;
            ip(&["-n", &space, "link", "set", INTERFACE, "up"])?;
            ip(&["-n", &space, "link", "set", "lo", "up"])?;
        }
        Ok(())
    }

    fn bridge(&self) -> String {
        format!("{}b", self.name)
    }

    fn space(&self, at: usize) -> String {
        format!("{}n{at}", self.name)
    }

    fn host(&self, last: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 211, self.third, last)
    }

    /// The address of a node.
    #[must_use]
    pub fn address(&self, at: usize) -> String {
        self.host(at as u8 + 1).to_string()
    }

    /// The command, inside of a node's namespace.
    #[must_use]
    pub fn inside(&self, at: usize, command: &Command) -> Command {
        // It becomes the command, so that signals reach that.
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", &self.space(at)]);
        inside.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        inside
    }

    /// Loses everything that one node sends to another, from now on.
    ///
    /// # Errors
    /// If the network cannot be changed.
    pub fn cut(&self, from: usize, to: usize) -> Result<(), NetworkError> {
        let (space, address) = (self.space(from), self.address(to));
        let neighbour = ["-n", &space, "neigh", "replace", &address, "lladdr", NOBODY];
        ip(&[&neighbour[..], &["dev", INTERFACE, "nud", "permanent"]].concat())
    }

    /// Ends all cuts.
    ///
    /// # Errors
    /// If the network cannot be changed.
    pub fn heal(&self) -> Result<(), NetworkError> {
        for at in 0..self.nodes {
            let space = self.space(at);
            let flush = ["-n", &space, "neigh", "flush", "dev", INTERFACE];
            ip(&[&flush[..], &["nud", "permanent"]].concat())?;
        }
        Ok(())
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // What is not there, because building failed half-way, need not be removed.
        for at in 0..self.nodes {
            drop(ip(&["netns", "del", &self.space(at)]));
        }
        drop(ip(&["link", "del", &self.bridge()]));
    }
}

fn ip(arguments: &[&str]) -> Result<(), NetworkError> {
    let failed = |why: String| NetworkError {
        command: format!("ip {}", arguments.join(" ")),
        why,
    };
    let output = Command::new("ip").args(arguments).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let error = String::from_utf8_lossy(&output.stderr);
    Err(failed(error.trim().to_owned()))
}
