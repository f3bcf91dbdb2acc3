//! The slot map as a client holds it: from a slot to the addresses of its replica group.
//!
//! In:  a reply to `CLUSTER SLOTS`, and what `MOVED` errors say. Out: for a slot, who holds it.
//!
//! Invariants:
//! - A map may be old, and is never believed more than the brick that answers: whoever is asked wrongly
//!   says so (`MOVED`), and the entry is repaired.
//! - Nothing in a reply panics or takes more memory than the reply itself.
//!
//! Not here: asking for the map (`refresh`), connections (`endpoint`).

use brickyard_types::Slot;
use brickyard_wire::Value;

/// In a node's metadata, the port of its node, which serves every key; and where such a port stands for copies, the port of the brick
/// behind it that has them (docs/wire.md).
const NODE_PORT: &[u8] = b"node-port";
const BRICK_PORT: &[u8] = b"brick-port";

/// A slot that nobody is known to hold.
const NOBODY: u16 = u16::MAX;

/// Who holds which slot. Addresses are `host:port`, named by their places in [`Self::addresses`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SlotMap {
    /// For each slot, the place of its group.
    slots: Vec<u16>,
    /// The members of each group, the primary first.
    groups: Vec<Vec<usize>>,
    addresses: Vec<String>,
    /// For each address the place of its node's port, if that was told.
    nodes: Vec<Option<usize>>,
    node_ports: Vec<String>,
    version: u64,
}

impl SlotMap {
    /// A map that knows nothing, and takes nothing.
    pub(crate) const fn empty() -> Self {
        Self {
            slots: Vec::new(),
            groups: Vec::new(),
            addresses: Vec::new(),
            nodes: Vec::new(),
            node_ports: Vec::new(),
            version: 0,
        }
    }

    /// The same, no older than that version of the cluster's maps.
    pub(crate) const fn of_version(mut self, version: u64) -> Self {
        self.version = version;
        self
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        let texts = self.addresses.iter().chain(&self.node_ports);
        let texts: usize = texts.map(|it| size_of::<String>() + it.len()).sum();
        let members: usize = self
            .groups
            .iter()
            .map(|it| size_of_val(it.as_slice()))
            .sum();
        let lists = size_of_val(self.slots.as_slice())
            + size_of_val(self.groups.as_slice())
            + size_of_val(self.nodes.as_slice());
        texts + members + lists
    }

    /// How new it is at least; 0: nobody said.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    /// Reads a reply to `CLUSTER SLOTS` that came from `asked` (a host): an empty host in it means that one.
    ///
    /// # Errors
    /// What is wrong with the reply.
    pub(crate) fn from_reply(reply: &Value, asked: &str) -> Result<Self, String> {
        let mut map = Self::empty();
        map.slots = vec![NOBODY; usize::from(Slot::COUNT)];
        let ranges = reply.elements().ok_or("CLUSTER SLOTS gave no list")?;
        for range in ranges {
            let range = Range::read(range).ok_or("CLUSTER SLOTS gave a range that is none")?;
            let mut members = Vec::with_capacity(range.members.len());
            for member in range.members {
                let (host, port) =
                    address_of(member).ok_or("CLUSTER SLOTS gave a node without address")?;
                let host = if host.is_empty() { asked } else { &host };
                let brick_port = metadata_port(member, BRICK_PORT);
                let place = map.intern(&join(host, brick_port.unwrap_or(port)));
                members.push(place);
                let node_port = metadata_port(member, NODE_PORT);
                if let Some(port) = node_port.or_else(|| brick_port.map(|_| port)) {
                    map.note_node_port(place, join(host, port));
                }
            }
            let group = map.group(members);
            let slots = map.slots.get_mut(range.first..=range.last);
            slots
                .ok_or("CLUSTER SLOTS gave a slot that does not exist")?
                .fill(group);
        }
        Ok(map)
    }

    /// All addresses of the map; a group's members are places in it.
    pub(crate) fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// The addresses of nodes' ports that the map tells of; a server of another make tells of none.
    pub(crate) fn node_ports(&self) -> &[String] {
        &self.node_ports
    }

    fn note_node_port(&mut self, brick: usize, address: String) {
        let known = self.node_ports.iter().position(|it| *it == address);
        let place = known.unwrap_or_else(|| {
            self.node_ports.push(address);
            self.node_ports.len() - 1
        });
        if let Some(node) = self.nodes.get_mut(brick) {
            *node = Some(place);
        }
    }

    /// The port of the node that has the brick at `place` among the addresses.
    pub(crate) fn node_of(&self, place: usize) -> Option<&str> {
        let node = (*self.nodes.get(place)?)?;
        self.node_ports.get(node).map(String::as_str)
    }

    /// The members of the group that holds `slot`, the primary first; empty if nobody is known.
    pub(crate) fn members(&self, slot: Slot) -> &[usize] {
        let group = self.slots.get(usize::from(slot.0)).copied();
        group
            .and_then(|group| self.groups.get(usize::from(group)))
            .map_or(&[], Vec::as_slice)
    }

    /// The slot is at `address`, as a `MOVED` says. If that is one of its group the others stay; else they are not
    /// known any more. Returns the address's place and whether anything changed.
    pub(crate) fn repair(&mut self, slot: Slot, address: &str) -> (usize, bool) {
        let place = self.intern(address);
        if self.members(slot).first() == Some(&place) {
            return (place, false);
        }
        let mut members = vec![place];
        let known = self.members(slot);
        if known.contains(&place) {
            members.extend(known.iter().filter(|it| **it != place));
        }
        let group = self.group(members);
        self.slots.resize(usize::from(Slot::COUNT), NOBODY);
        if let Some(entry) = self.slots.get_mut(usize::from(slot.0)) {
            *entry = group;
        }
        (place, true)
    }

    /// For each run of slots that the same addresses hold: its first slot, the one behind its last, and those, the primary's first.
    pub(crate) fn runs(&self) -> Vec<(u16, u16, Vec<String>)> {
        let mut runs = Vec::new();
        if self.slots.is_empty() {
            runs.push((0, Slot::COUNT, Vec::new()));
        }
        for slots in self.slots.chunk_by(|one, two| one == two) {
            let begin = runs.last().map_or(0, |(_, end, _)| *end);
            let end = begin + u16::try_from(slots.len()).unwrap_or(u16::MAX);
            let members = self.members(Slot(begin)).iter();
            let addresses = members.filter_map(|place| self.addresses.get(*place).cloned());
            runs.push((begin, end, addresses.collect()));
        }
        runs
    }

    fn intern(&mut self, address: &str) -> usize {
        let known = self.addresses.iter().position(|it| it == address);
        known.unwrap_or_else(|| {
            self.addresses.push(address.to_owned());
            self.nodes.push(None);
            self.addresses.len() - 1
        })
    }

    /// The place of the group with these members, made if there is none. Ranges come in the order of slots
    /// and neighbours are alike, so the last groups are looked at first.
    fn group(&mut self, members: Vec<usize>) -> u16 {
        if members.is_empty() {
            return NOBODY;
        }
        let known = self.groups.iter().rposition(|group| *group == members);
        let place = known.unwrap_or_else(|| {
            self.groups.push(members);
            self.groups.len() - 1
        });
        u16::try_from(place).unwrap_or(NOBODY)
    }
}

struct Range<'a> {
    first: usize,
    last: usize,
    members: &'a [Value],
}

impl<'a> Range<'a> {
    fn read(value: &'a Value) -> Option<Self> {
        let [first, last, members @ ..] = value.elements()? else {
            return None;
        };
        let (first, last) = (first.integer()?, last.integer()?);
        (first <= last).then_some(())?;
        Some(Self {
            first: usize::try_from(first).ok()?,
            last: usize::try_from(last).ok()?,
            members,
        })
    }
}

fn address_of(member: &Value) -> Option<(String, u16)> {
    let [host, port, ..] = member.elements()? else {
        return None;
    };
    let host = match host {
        Value::Null => "",
        other => std::str::from_utf8(other.bytes()?).ok()?,
    };
    Some((host.to_owned(), u16::try_from(port.integer()?).ok()?))
}

/// A port of that name in a node's metadata.
fn metadata_port(member: &Value, wanted: &[u8]) -> Option<u16> {
    let [_, _, _, metadata, ..] = member.elements()? else {
        return None;
    };
    let port = match metadata {
        Value::Map(pairs) => {
            let named = pairs.iter().find(|(name, _)| name.bytes() == Some(wanted));
            &named?.1
        }
        list => {
            let mut pairs = list.elements()?.chunks_exact(2);
            let named = pairs.find(|pair| pair.first().and_then(Value::bytes) == Some(wanted));
            named?.get(1)?
        }
    };
    std::str::from_utf8(port.bytes()?).ok()?.parse().ok()
}

/// `host:port`, with the brackets that an IPv6 address needs.
pub(crate) fn join(host: &str, port: u16) -> String {
    if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// The host of `host:port`.
pub(crate) fn host_of(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

#[cfg(test)]
#[path = "map_test.rs"]
mod map_test;
