//! Replies of NODE LIST, REBALANCE PLAN and REBALANCE STATUS, read.

use brickyard_wire::Value;
use serde::Serialize;
use std::collections::BTreeMap;

/// A node and what it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct NodeRow {
    pub(crate) node: u32,
    pub(crate) address: String,
    pub(crate) state: String,
    pub(crate) zone: String,
    pub(crate) weight: u64,
    pub(crate) roles: String,
    pub(crate) bricks: u64,
    pub(crate) primaries: u64,
    pub(crate) copies: u64,
    pub(crate) learning: u64,
    pub(crate) successor: String,
}

/// What has to be done for a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Planned {
    pub(crate) table: String,
    pub(crate) partition: u64,
    /// `copy`, or `primary`: only the role goes over.
    pub(crate) kind: String,
    /// `node/brick`; empty: a copy is missing.
    pub(crate) from: String,
    /// `node/brick`; empty: there is a copy too many.
    pub(crate) to: String,
    pub(crate) bytes: u64,
    /// By which rule the table is placed.
    pub(crate) placement: String,
}

/// How much has to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct RebalanceStatus {
    /// `on` or `paused`.
    pub(crate) moves: String,
    pub(crate) copies: u64,
    pub(crate) primaries: u64,
    pub(crate) learning: u64,
    pub(crate) bytes: u64,
}

/// A map of a reply: RESP2 sends one as an array.
struct Fields(BTreeMap<String, Value>);

impl Fields {
    fn of(value: &Value) -> Option<Self> {
        let pairs: Vec<(&Value, &Value)> = match value {
            Value::Map(pairs) => pairs.iter().map(|(name, value)| (name, value)).collect(),
            Value::Array(words) if words.len().is_multiple_of(2) => words
                .chunks_exact(2)
                .map(|pair| (&pair[0], &pair[1]))
                .collect(),
            _ => return None,
        };
        let named = pairs.into_iter().map(|(name, value)| {
            let name = String::from_utf8_lossy(name.bytes()?).into_owned();
            Some((name, value.clone()))
        });
        named.collect::<Option<_>>().map(Self)
    }

    fn text(&self, name: &str) -> Option<String> {
        let bytes = self.0.get(name)?.bytes()?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    fn number(&self, name: &str) -> Option<u64> {
        match self.0.get(name)? {
            Value::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }
}

/// Each element of a list, if all can be read.
pub(crate) fn each<T>(reply: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    match reply {
        Value::Array(elements) => elements.iter().map(read).collect(),
        _ => None,
    }
}

/// The nodes that a reply of TABLE DESCRIBE names; none where all may hold the table, or none is told of.
pub(crate) fn nodes_named(described: &Value) -> Vec<u32> {
    let fields = Fields::of(described);
    let nodes = fields.and_then(|it| it.text("nodes")).unwrap_or_default();
    nodes.split(',').filter_map(|it| it.parse().ok()).collect()
}

impl NodeRow {
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let fields = Fields::of(value)?;
        Some(Self {
            node: u32::try_from(fields.number("node")?).ok()?,
            address: fields.text("address")?,
            state: fields.text("state")?,
            zone: fields.text("zone")?,
            weight: fields.number("weight")?,
            roles: fields.text("roles")?,
            bricks: fields.number("bricks")?,
            primaries: fields.number("primaries")?,
            copies: fields.number("copies")?,
            learning: fields.number("learning")?,
            successor: fields.text("successor")?,
        })
    }

    /// Whether it is to hold nothing, and does.
    pub(crate) fn is_empty(&self) -> bool {
        self.state == "empty"
    }
}

impl Planned {
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let fields = Fields::of(value)?;
        Some(Self {
            table: fields.text("table")?,
            partition: fields.number("partition")?,
            kind: fields.text("kind")?,
            from: fields.text("from")?,
            to: fields.text("to")?,
            bytes: fields.number("bytes")?,
            placement: fields.text("placement")?,
        })
    }

    pub(crate) fn is_copy(&self) -> bool {
        self.kind == "copy"
    }
}

impl RebalanceStatus {
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let fields = Fields::of(value)?;
        Some(Self {
            moves: fields.text("moves")?,
            copies: fields.number("copies")?,
            primaries: fields.number("primaries")?,
            learning: fields.number("learning")?,
            bytes: fields.number("bytes")?,
        })
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.moves == "paused"
    }

    /// Whether everything is where it should be.
    pub(crate) fn is_done(&self) -> bool {
        self.copies == 0 && self.learning == 0 && self.primaries == 0
    }
}

#[cfg(test)]
#[path = "replies_test.rs"]
mod replies_test;
