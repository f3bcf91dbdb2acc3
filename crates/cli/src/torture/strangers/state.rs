//! What strangers must not change: users, tables, members, and what is in a table that nobody writes to.
//!
//! In:  a cluster. Out: a [`State`] that can be compared with another one.

use super::cluster::{Cluster, UNTOUCHED};
use crate::cmd::digest;
use anyhow::{bail, ensure};
use brickyard_bench::Link;
use brickyard_wire::Value;
use std::collections::{BTreeMap, BTreeSet};
use tokio::task::spawn_blocking;

/// Attributes of a table that change by an order alone.
const ATTRIBUTES: [&str; 7] = [
    "name",
    "id",
    "durability",
    "medium",
    "replicas",
    "maxmemory",
    "evict",
];

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    users: String,
    tables: String,
    members: String,
    /// Of [`UNTOUCHED`], by partition.
    contents: BTreeMap<i64, BTreeSet<(i64, u64)>>,
}

impl State {
    /// As it is now; with the catalog's version, which changes when a replica was slow, too.
    pub(super) async fn of(cluster: &Cluster) -> anyhow::Result<(Self, u64)> {
        let status = cluster.status(0).await?;
        let tables = status["tables"].as_array().map_or(&[][..], Vec::as_slice);
        let tables: Vec<String> = tables
            .iter()
            .map(|table| ATTRIBUTES.map(|name| table[name].to_string()).join(" "))
            .collect();
        let target = cluster.target(0)?;
        let (users, contents) = spawn_blocking(move || -> anyhow::Result<_> {
            let users = match Link::open(&target)?.call(&["ACL", "LIST"])? {
                Value::Error(text) => bail!("ACL LIST: {}", String::from_utf8_lossy(&text)),
                users => format!("{users:?}"),
            };
            let (copies, away) = digest::collect(&target, UNTOUCHED)?;
            ensure!(
                away.is_empty(),
                "{} cannot be asked for what they have of {UNTOUCHED}",
                away.join(", ")
            );
            let of_one = |copies: Vec<digest::Copy>| {
                let copies = copies.into_iter();
                copies.map(|it| (it.keys, it.sum)).collect()
            };
            let contents = copies.into_iter().map(|(at, it)| (at, of_one(it)));
            Ok((users, contents.collect::<BTreeMap<_, BTreeSet<_>>>()))
        })
        .await??;
        let state = Self {
            users,
            tables: tables.join("\n"),
            members: status["nodes"].to_string(),
            contents,
        };
        let version = status["catalog_version"].as_u64();
        Ok((state, version.unwrap_or_default()))
    }

    /// What of it is not as it was, in words.
    pub(super) fn differences(&self, before: &Self) -> Vec<String> {
        let mut out = Vec::new();
        let texts = [
            ("users", &before.users, &self.users),
            ("tables", &before.tables, &self.tables),
            ("members", &before.members, &self.members),
        ];
        for (name, before, now) in texts {
            if before != now {
                out.push(format!("{name} were\n{before}\nand are\n{now}"));
            }
        }
        if before.contents != self.contents {
            out.push(format!(
                "the table {UNTOUCHED} had {:?} and has {:?}",
                before.contents, self.contents
            ));
        }
        out
    }
}
