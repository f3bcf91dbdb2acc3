//! Addresses of nodes, which may be host names: `node1:6379, 10.0.0.2:6379`.

use super::text::{ConfigValue, quoted};
pub use brickyard_node::HostPort;

/// How far above its node port a node listens for other nodes; Redis's own convention.
const PEER_PORT_OFFSET: u16 = 10_000;

/// The port for nodes that belongs to a node port.
pub(super) const fn peer_port_of(node: u16) -> u16 {
    match node.checked_add(PEER_PORT_OFFSET) {
        Some(port) => port,
        None => node - PEER_PORT_OFFSET,
    }
}

/// Several of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostPorts(pub Vec<HostPort>);

impl ConfigValue for HostPorts {
    fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|it| !it.is_empty());
        let hosts: Option<Vec<HostPort>> = parts.map(HostPort::parse).collect();
        hosts
            .map(Self)
            .ok_or_else(|| "node ports such as node1:6379,node2:6379".to_owned())
    }

    fn toml(&self) -> String {
        let hosts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        quoted(&hosts.join(","))
    }
}

#[cfg(test)]
#[path = "hosts_test.rs"]
mod hosts_test;
