//! The cluster's nodes: who they are, where they answer, and which life of theirs is the present one.
//!
//! In: a [`Registration`], at each start of a node. Out: a [`Node`] of the catalog; the [`Candidate`]s that
//! placement chooses from.
//!
//! Invariants:
//! - A node keeps its id for as long as it keeps its data directory; ids and incarnations are never used
//!   again.
//! - Whatever an older incarnation asks for is refused for ever.

use crate::{refusal::Refusal, version::CatalogVersion};
use brickyard_routing::{Candidate, Member, NodeId, Replica};
use brickyard_types::{BrickId, Incarnation, NodeKey};
use serde::{Deserialize, Serialize};

/// The port for peers that clients are shown of a node that has none; Redis's own convention.
const PEER_PORT_OFFSET: u16 = 10_000;

/// Longest host name, as in DNS, and longest zone, in bytes.
const HOST_BYTES_MAX: usize = 255;

/// Most bricks of a node: far more than there are cores.
const BRICKS_MAX: u32 = 1024;

/// Where a node answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addresses {
    /// Host name or IP address that clients and other nodes are sent to; never empty.
    pub host: String,
    /// The node port: any key.
    pub port: u16,
    /// The bricks' own ports, by brick.
    pub bricks: Vec<u16>,
    /// The port for other nodes; 0 while there is none.
    pub peer_port: u16,
    /// Health, metrics and status.
    pub http_port: Option<u16>,
}

/// Where clients reach a brick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    /// The brick.
    pub member: Member,
    /// Host name or IP address; never empty, since clients differ in what they make of that.
    pub host: &'a str,
    /// The brick's port.
    pub port: u16,
    /// The port for other nodes; only shown.
    pub peer_port: u16,
    /// The port of the brick's node, which serves every key.
    pub node_port: u16,
}

/// What a node is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roles {
    /// It holds partitions.
    pub storage: bool,
    /// It may vote on the catalog.
    pub control: bool,
    /// It is for clients that know nothing of the maps.
    pub gateway: bool,
}

impl Default for Roles {
    fn default() -> Self {
        Self {
            storage: true,
            control: true,
            gateway: false,
        }
    }
}

impl Roles {
    /// The words for those that it has.
    #[must_use]
    pub fn words(self) -> Vec<&'static str> {
        let all = [
            (self.storage, "storage"),
            (self.control, "control"),
            (self.gateway, "gateway"),
        ];
        let has = all.into_iter().filter(|(has, _)| *has);
        has.map(|(_, word)| word).collect()
    }
}

/// Which directory of which boot of which machine a process holds locked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The machine's id; empty if it has none.
    pub machine: String,
    /// The id of the machine's boot; empty if it has none.
    pub boot: String,
    /// Device and inode of the data directory.
    pub directory: (u64, u64),
}

impl Machine {
    /// Whether a process here, which holds the directory's lock, shows that the process which registered
    /// as `former` is dead (rule `only the same machine proves death`).
    ///
    /// A lock is good on one machine, and a copy of the directory is another directory.
    #[must_use]
    pub fn proves_dead(&self, former: &Self) -> bool {
        !self.machine.is_empty() && !self.boot.is_empty() && self == former
    }
}

/// What a node says of itself when it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// Its data directory's key.
    pub key: NodeKey,
    /// Drawn at random by the process: the same registration sent twice draws one incarnation.
    pub run: u64,
    /// Where it answers.
    pub addresses: Addresses,
    /// How many bricks it has.
    pub bricks: u32,
    /// What each of its bricks should hold, relative to other nodes' bricks; 0: nothing.
    pub weight: u32,
    /// What fails together with it; replicas are kept in different zones where there are some.
    pub zone: Option<String>,
    /// What it is used for.
    pub roles: Roles,
    /// Where its process holds its directory.
    pub machine: Machine,
}

impl Registration {
    /// What each of its bricks should hold, relative to others.
    #[must_use]
    pub const fn weight(&self) -> u32 {
        if self.roles.storage { self.weight } else { 0 }
    }

    /// The registration with what an operator wants to be otherwise.
    pub(crate) fn altered(mut self, alteration: NodeAlteration) -> Self {
        self.weight = alteration.weight.unwrap_or(self.weight);
        self.zone = alteration.zone.unwrap_or(self.zone);
        self.roles = alteration.roles.unwrap_or(self.roles);
        self
    }

    /// What any registration must be, whoever sends it.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        let Self {
            addresses, bricks, ..
        } = self;
        let is_name = |text: &str| {
            let is_short = (1..=HOST_BYTES_MAX).contains(&text.len());
            // It stands in text protocols, between blanks and colons.
            is_short && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if !is_name(&addresses.host) {
            return Err(Refusal::BadHost {
                host: addresses.host.escape_debug().take(40).collect(),
            });
        }
        if let Some(zone) = &self.zone
            && !is_name(zone)
        {
            return Err(Refusal::BadZone {
                zone: zone.escape_debug().take(40).collect(),
            });
        }
        if *bricks > BRICKS_MAX || addresses.bricks.len() != *bricks as usize {
            return Err(Refusal::BadBricks {
                bricks: *bricks,
                ports: addresses.bricks.len(),
            });
        }
        if self.weight() > 0 && *bricks == 0 {
            return Err(Refusal::NoBricks);
        }
        Ok(())
    }
}

/// What of a node to change, and to what; `None` leaves it as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeAlteration {
    /// What each of its bricks should hold, relative to others; with 0 it is emptied.
    pub weight: Option<u32>,
    /// What fails together with it; `Some(None)`: nothing in particular.
    pub zone: Option<Option<String>>,
    /// What it is used for.
    pub roles: Option<Roles>,
}

/// What an operator said of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// What of its registration does not count, and what counts instead.
    pub alteration: NodeAlteration,
    /// The node whose partitions are to be this one's.
    pub replaces: Option<NodeId>,
}

/// A node of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its number, for ever.
    pub id: NodeId,
    /// Its present life.
    pub incarnation: Incarnation,
    /// Earlier lives that may be running still, for all that is known: their leases must run out before
    /// anything is done without them (rule `only the same machine proves death`).
    pub doubtful: Vec<Incarnation>,
    /// The catalog's version that had this life first.
    pub registered: CatalogVersion,
    /// What it said of itself.
    pub registration: Registration,
}

impl Node {
    /// The node's brick of that number, in its present life.
    #[must_use]
    pub const fn replica(&self, brick: BrickId) -> Replica {
        Replica {
            member: Member {
                node: self.id,
                brick,
            },
            incarnation: self.incarnation,
        }
    }

    /// Its bricks.
    pub fn bricks(&self) -> impl ExactSizeIterator<Item = Member> + use<> {
        let node = self.id;
        (0..self.registration.bricks).map(move |brick| Member {
            node,
            brick: BrickId(brick),
        })
    }

    /// What each of its bricks should hold, relative to others.
    #[must_use]
    pub const fn weight(&self) -> u32 {
        self.registration.weight()
    }

    /// Whether `incarnation` is over for certain: the process that lived it is dead.
    #[must_use]
    pub fn is_proven_dead(&self, incarnation: Incarnation) -> bool {
        incarnation < self.incarnation && !self.doubtful.contains(&incarnation)
    }

    /// Where clients reach its brick of that number; `None` if it has fewer.
    pub(crate) fn address(&self, brick: BrickId) -> Option<Address<'_>> {
        let addresses = &self.registration.addresses;
        let port = *addresses.bricks.get(brick.0 as usize)?;
        let peer_port = match addresses.peer_port {
            0 => port.wrapping_add(PEER_PORT_OFFSET),
            port => port,
        };
        Some(Address {
            member: Member {
                node: self.id,
                brick,
            },
            host: &addresses.host,
            port,
            peer_port,
            node_port: addresses.port,
        })
    }

    /// Its bricks as placement sees them.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = Candidate> {
        let weight = self.weight();
        self.bricks().map(move |member| Candidate {
            replica: self.replica(member.brick),
            weight,
        })
    }
}
