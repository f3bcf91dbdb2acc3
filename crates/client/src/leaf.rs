//! What ports answer to `CLUSTER LOOKUP`: a partition on the way, or where a lookup may begin.
//!
//! In:  replies. Out: [`Leaf`]s and [`Start`]s, or that they are none.
//!
//! Invariant: nothing of a reply is believed that cannot be: a partition begins where one of its depth can, and somebody holds it.
//! Whether it is nearer than the one before is for who looks up to see (`seek`).

use crate::map::join;
use brickyard_routing::{Prefix, RoutingHash};
use brickyard_types::limits::PARTITION_DEPTH_MAX;
use brickyard_wire::Value;

/// Members of a group that are believed: more than a table may have replicas are none.
const MEMBERS_MAX: usize = 255;

/// A partition that a brick told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) prefix: Prefix,
    pub(crate) partition: u32,
    /// `host:port` of the bricks that have all of it, the primary first.
    pub(crate) members: Vec<String>,
}

/// A brick at which a lookup may begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) brick: String,
    /// The port of its node.
    pub(crate) node: String,
    /// Partitions that it leads.
    pub(crate) led: u32,
}

impl Leaf {
    /// Reads an answer that came from `asked` (a host).
    pub(crate) fn read(reply: &Value, asked: &str) -> Option<Self> {
        let [_, _, partition, first, depth, members] = reply.elements()? else {
            return None;
        };
        let first = std::str::from_utf8(first.bytes()?).ok()?;
        let first = RoutingHash(u64::from_str_radix(first, 16).ok()?);
        let depth = u8::try_from(depth.integer()?).ok()?;
        if depth > PARTITION_DEPTH_MAX {
            return None;
        }
        let prefix = Prefix::of(first, depth);
        let members = members.elements()?;
        if prefix.first() != first || !(1..=MEMBERS_MAX).contains(&members.len()) {
            return None;
        }
        let members = members.iter().map(|member| {
            let [host, port, _] = member.elements()? else {
                return None;
            };
            address(host, port, asked)
        });
        Some(Self {
            prefix,
            partition: u32::try_from(partition.integer()?).ok()?,
            members: members.collect::<Option<_>>()?,
        })
    }
}

impl Start {
    /// Reads an answer that came from `asked` (a host).
    pub(crate) fn read_all(reply: &Value, asked: &str) -> Option<Vec<Self>> {
        let [_, starts] = reply.elements()? else {
            return None;
        };
        let starts = starts.elements()?.iter().map(|start| {
            let [host, port, node_port, led] = start.elements()? else {
                return None;
            };
            Some(Self {
                brick: address(host, port, asked)?,
                node: address(host, node_port, asked)?,
                led: u32::try_from(led.integer()?).ok()?,
            })
        });
        starts.collect()
    }

    /// Bytes that it takes.
    pub(crate) const fn bytes(&self) -> usize {
        size_of::<Self>() + self.brick.len() + self.node.len()
    }
}

fn address(host: &Value, port: &Value, asked: &str) -> Option<String> {
    let host = std::str::from_utf8(host.bytes()?).ok()?;
    let host = if host.is_empty() { asked } else { host };
    let port = u16::try_from(port.integer()?).ok().filter(|it| *it > 0)?;
    Some(join(host, port))
}

#[cfg(test)]
#[path = "leaf_test.rs"]
mod leaf_test;
