//! A network for the nodes of a cluster that can be cut, made of network namespaces.
//!
//! Each node has a namespace of its own, joined to the others by a bridge; clients reach all of them from the
//! outside whatever is cut between them. A cut loses packets silently, as a broken switch does: the
//! sender keeps a hardware address for the receiver that no machine has. Some of the packets are lost by a filter
//! in the kernel that draws a number for each.

use crate::failure::{Failure, other_than};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

/// A locally administered hardware address that no interface has.
const NOBODY: &str = "02:00:00:00:00:fe";
/// Addresses end in this for who is outside, and in less for nodes.
const OUTSIDE: u8 = 254;
/// Percent of packets that are lost by [`Failure::Loss`].
const LOST_PERCENT: u8 = 15;
/// The interface inside of each namespace.
const INTERFACE: &str = "eth0";

/// What the system did not permit.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{command}: {why}; it takes root and the `ip` and `tc` programs of iproute2")]
pub struct NetworkError {
    command: String,
    why: String,
}

/// See the module; it is taken down with the value.
#[derive(Debug)]
pub struct Network {
    /// Addresses have this as their third byte, and names of this network's parts begin with it.
    third: u8,
    nodes: usize,
}

impl Network {
    /// A network for so many nodes.
    ///
    /// # Errors
    /// Why this machine does not permit one.
    pub fn new(nodes: usize) -> Result<Self, NetworkError> {
        // Others of this machine, and what was left of them, have their numbers: looking for a free one begins anywhere.
        let first = std::process::id() as u8;
        for offset in 0..=u8::MAX {
            let third = first.wrapping_add(offset);
            if claim(third)? {
                let network = Self { third, nodes };
                network.build()?;
                return Ok(network);
            }
        }
        let why = "this machine has 256 such networks already".to_owned();
        let command = "ip link add".to_owned();
        Err(NetworkError { command, why })
    }

    fn build(&self) -> Result<(), NetworkError> {
        let bridge = bridge(self.third);
        let own = format!("{}/24", self.host(OUTSIDE));
        ip(&["address", "add", &own, "dev", &bridge])?;
        ip(&["link", "set", &bridge, "up"])?;
        for at in 0..self.nodes {
            let (space, outer) = (self.space(at), self.outer(at));
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

    fn space(&self, at: usize) -> String {
        format!("{}n{at}", name(self.third))
    }

    /// The end of a node's cable that is outside.
    fn outer(&self, at: usize) -> String {
        format!("{}v{at}", name(self.third))
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

    /// Does to a node's links what a failure is, from now on; a draw says to which, where it is one of them. A link that flaps is cut.
    ///
    /// # Errors
    /// If the network cannot be changed.
    ///
    /// # Panics
    /// If the failure is not one of the network.
    pub fn harm(
        &self,
        failure: Failure,
        at: usize,
        leader: usize,
        draw: u64,
    ) -> Result<(), NetworkError> {
        assert!(failure.is_cut(), "{failure:?} is no failure of the network");
        match failure {
            Failure::CutLink => {
                let third = (0..self.nodes).find(|it| *it != at && *it != leader);
                self.cut_link(at, third.unwrap_or(leader))
            }
            Failure::CutLeaderLink | Failure::FlappingLink => {
                self.cut_link(at, other_than(at, self.nodes, draw))
            }
            Failure::Loss => self.lose(at, LOST_PERCENT),
            _ => {
                for other in (0..self.nodes).filter(|other| *other != at) {
                    if failure != Failure::CutTo {
                        self.cut(at, other)?;
                    }
                    if failure != Failure::CutFrom {
                        self.cut(other, at)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Two nodes cannot hear each other, from now on.
    fn cut_link(&self, one: usize, other: usize) -> Result<(), NetworkError> {
        self.cut(one, other)?;
        self.cut(other, one)
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

    /// Loses so many percent of the packets that the other nodes send to one, and of those that it sends to them, from now on.
    fn lose(&self, at: usize, percent: u8) -> Result<(), NetworkError> {
        let space = self.space(at);
        tc(&space, &["qdisc", "add", "dev", INTERFACE, "clsact"])?;
        for (direction, other) in [("ingress", SOURCE), ("egress", DESTINATION)] {
            let program = losing(other, percent);
            let filter = ["filter", "add", "dev", INTERFACE, direction, "bpf", "da"];
            tc(&space, &[&filter[..], &["bytecode", &program]].concat())?;
        }
        Ok(())
    }

    /// Ends all cuts, and all losses.
    ///
    /// # Errors
    /// If the network cannot be changed.
    pub fn heal(&self) -> Result<(), NetworkError> {
        for at in 0..self.nodes {
            let space = self.space(at);
            // Where nothing was lost there is none, which is as good.
            drop(tc(&space, &["qdisc", "del", "dev", INTERFACE, "clsact"]));
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
            // By itself, and first: the kernel takes a namespace apart some time later, and until then the interface would be in
            // the way of the next network of this number.
            drop(ip(&["link", "del", &self.outer(at)]));
            drop(ip(&["netns", "del", &self.space(at)]));
        }
        // The last: what has this number afterwards is another network's.
        drop(ip(&["link", "del", &bridge(self.third)]));
    }
}

/// Makes the bridge, which only one network of this number has; whether it is the caller's now.
fn claim(third: u8) -> Result<bool, NetworkError> {
    let bridge = bridge(third);
    let made = ip(&["link", "add", &bridge, "type", "bridge"]);
    let is_there = || Path::new("/sys/class/net").join(&bridge).exists();
    match made {
        Ok(()) => Ok(true),
        Err(_) if is_there() => Ok(false),
        Err(error) => Err(error),
    }
}

/// What the names of a network's parts begin with; those of interfaces have no room for more.
fn name(third: u8) -> String {
    format!("brickyard{third}")
}

fn bridge(third: u8) -> String {
    format!("{}b", name(third))
}

/// Where a frame has the last byte of an IPv4 packet's source, and of its destination.
const SOURCE: u8 = 29;
const DESTINATION: u8 = 33;

/// A program of the classic packet filter that drops so many percent of IPv4 packets whose byte at `other` is a node's, and
/// lets all else pass.
fn losing(other: u8, percent: u8) -> String {
    let limit = (u64::from(percent) << 32) / 100;
    let limit = limit.saturating_sub(1).min(u64::from(u32::MAX));
    let instructions = [
        // The kind of packet; if it is not IPv4, pass.
        "40 0 0 12".to_owned(),
        "21 0 5 2048".to_owned(),
        // Who the other one is; if nobody of ours, pass.
        format!("48 0 0 {other}"),
        format!("53 3 0 {OUTSIDE}"),
        // A number at random; if it is above the limit, pass.
        "32 0 0 4294963256".to_owned(),
        format!("37 1 0 {limit}"),
        // Drop (TC_ACT_SHOT), pass (TC_ACT_OK).
        "6 0 0 2".to_owned(),
        "6 0 0 0".to_owned(),
    ];
    format!("{},{}", instructions.len(), instructions.join(","))
}

fn tc(space: &str, arguments: &[&str]) -> Result<(), NetworkError> {
    ip(&[&["netns", "exec", space, "tc"], arguments].concat())
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
