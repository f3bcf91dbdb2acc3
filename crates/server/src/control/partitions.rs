//! Partitions in `/status`: how many are as they should be, and which are not.

use brickyard_metadata::{Catalog, TableEntry};
use brickyard_routing::{Group, Member, Replica};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Most partitions that are told one by one.
const LISTED_MAX: usize = 256;

/// How a partition stands; the first that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// Fewer in-sync replicas than the table has to have for writes.
    Short,
    /// Fewer than it should have.
    UnderReplicated,
    /// A view is proposed.
    Changing,
    /// A replica is catching up.
    Learning,
    /// As it should be.
    InSync,
}

impl State {
    /// All of them.
    pub(super) const ALL: [Self; 5] = [
        Self::Short,
        Self::UnderReplicated,
        Self::Changing,
        Self::Learning,
        Self::InSync,
    ];

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::UnderReplicated => "under_replicated",
            Self::Changing => "changing",
            Self::Learning => "learning",
            Self::InSync => "in_sync",
        }
    }

    pub(super) fn of(table: &TableEntry, group: &Group) -> Self {
        let have = group.in_sync().count();
        if have < usize::from(table.attributes.min_in_sync) {
            Self::Short
        } else if have < usize::from(table.attributes.replicas) {
            Self::UnderReplicated
        } else if group.change.is_some() {
            Self::Changing
        } else if !group.learners.is_empty() {
            Self::Learning
        } else {
            Self::InSync
        }
    }
}

/// How many partitions of a table are in that state.
pub(super) fn count(table: &TableEntry, state: State) -> usize {
    let groups = table.map.groups().iter();
    groups
        .filter(|group| State::of(table, group) == state)
        .count()
}

/// A table's partitions by state.
pub(super) fn counts(table: &TableEntry) -> Value {
    let counts = State::ALL.map(|state| (state.word().to_owned(), json!(count(table, state))));
    Value::Object(counts.into_iter().collect())
}

/// What each brick has of a table.
pub(super) fn placement(table: &TableEntry) -> Value {
    #[derive(Default)]
    struct Share {
        primaries: u32,
        copies: u32,
        learning: u32,
    }
    let mut shares: BTreeMap<Member, Share> = BTreeMap::new();
    for group in table.map.groups() {
        shares.entry(group.primary.member).or_default().primaries += 1;
        for replica in group.in_sync() {
            shares.entry(replica.member).or_default().copies += 1;
        }
        for replica in &group.learners {
            shares.entry(replica.member).or_default().learning += 1;
        }
    }
    let share = |(member, share): (Member, Share)| {
        json!({
            "node": member.node.0,
            "brick": member.brick.0,
            "primaries": share.primaries,
            "copies": share.copies,
            "learning": share.learning,
        })
    };
    shares.into_iter().map(share).collect()
}

/// Most partitions of a table that are told in [`map`].
const MAPPED_MAX: usize = 4096;

/// Who holds each partition of a table, in the order of the partition map: number, state, primary, backups, learners.
pub(crate) fn map(table: &TableEntry) -> Value {
    let leaves = table.map.partitions().leaves().iter();
    let pairs = leaves.zip(table.map.groups()).take(MAPPED_MAX);
    let place = |replica: &Replica| {
        let Member { node, brick } = replica.member;
        json!([node.0, brick.0])
    };
    let partitions = pairs.map(|(leaf, group)| {
        let places = |of: &[Replica]| of.iter().map(place).collect::<Vec<_>>();
        json!([
            leaf.partition.0,
            State::of(table, group).word(),
            place(&group.primary),
            places(&group.backups),
            places(&group.learners),
        ])
    });
    partitions.collect()
}

/// How many copies are missing, of all tables.
pub(super) fn missing(catalog: &Catalog) -> u64 {
    catalog.tables().map(missing_of).sum()
}

/// How many copies of a table are missing.
pub(super) fn missing_of(table: &TableEntry) -> u64 {
    let wanted = usize::from(table.attributes.replicas);
    let groups = table.map.groups().iter();
    groups
        .map(|group| wanted.saturating_sub(group.in_sync().count()) as u64)
        .sum()
}

/// How many partitions of a table have their copies and get another one.
pub(super) fn moving(table: &TableEntry) -> usize {
    let wanted = usize::from(table.attributes.replicas);
    let groups = table.map.groups().iter();
    groups
        .filter(|group| group.in_sync().count() >= wanted && !group.learners.is_empty())
        .count()
}

/// Hot partitions that have copies more than their tables ask for, or get them.
pub(super) fn extras(catalog: &Catalog) -> Value {
    let extras = catalog.extras().filter_map(|(partition, copies)| {
        let mut tables = catalog.tables();
        let table = tables.find(|table| table.map.group(partition).is_some())?;
        Some(json!({ "table": table.name, "partition": partition.0, "copies": copies }))
    });
    extras.collect()
}

/// The partitions that are not as they should be, the worst first.
pub(super) fn unsettled(catalog: &Catalog) -> Value {
    let partitions = catalog.tables().flat_map(|table| {
        let leaves = table.map.partitions().leaves().iter();
        let pairs = leaves.zip(table.map.groups());
        pairs.map(move |(leaf, group)| (State::of(table, group), table, leaf.partition, group))
    });
    let mut found: Vec<_> = partitions
        .filter(|(state, ..)| *state != State::InSync)
        .collect();
    found.sort_by_key(|(state, _, partition, _)| (*state, *partition));
    let listed = found.into_iter().take(LISTED_MAX);
    listed
        .map(|(state, table, partition, group)| {
            json!({
                "table": table.name,
                "partition": partition.0,
                "state": state.word(),
                "wanted": table.attributes.replicas,
                "view": group.view.0,
                "primary": group.primary.to_string(),
                "backups": names(&group.backups),
                "learners": names(&group.learners),
                "change": group.change.as_ref().map(|change| json!({
                    "view": change.view.0,
                    "primary": change.primary.to_string(),
                    "backups": names(&change.backups),
                    "learners": names(&change.learners),
                    "fenced": names(&change.fenced),
                })),
            })
        })
        .collect()
}

fn names(replicas: &[Replica]) -> Vec<String> {
    replicas.iter().map(ToString::to_string).collect()
}
