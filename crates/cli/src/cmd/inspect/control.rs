//! The control log of a data directory: the node's votes, and its part of the cluster's log.
//!
//! In:  what `store` read of it. Out: lines for a person, JSON for a program; whether a node can start with it.

use anyhow::Context as _;
use brickyard_metadata::Catalog;
use brickyard_node::{node_id, storage};
use brickyard_store::{
    ControlReport, ControlSnapshot, DataDir, Disk, PageCache, inspect_control_log,
};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What there is, and what it means.
pub(super) struct ControlLog {
    report: ControlReport,
    /// The catalog as of the last entry that is known to be committed, or why nobody can say.
    catalog: Result<Option<Catalog>, String>,
}

impl ControlLog {
    /// Verifies that of a directory whose lock is held; `None`: it has none.
    pub(super) fn verify(directory: &DataDir) -> anyhow::Result<Option<Self>> {
        let id = Some(directory.directory());
        let report = inspect_control_log(directory.disk(), id, directory.page_cache());
        Ok(report.context("cannot read the control log")?.map(Self::of))
    }

    /// Looks at that of any directory, of a running server too.
    pub(super) fn inspect<D: Disk>(disk: &D) -> anyhow::Result<Option<Self>> {
        // What is being written may be read half.
        let report = inspect_control_log(disk, None, PageCache::MaybeLost);
        Ok(report.context("cannot read the control log")?.map(Self::of))
    }

    fn of(report: ControlReport) -> Self {
        let catalog = storage::catalog_of(report.state.clone()).map_err(|error| error.to_string());
        Self { report, catalog }
    }

    /// Whether a node can start with it.
    pub(super) fn is_sound(&self) -> bool {
        self.report.is_sound() && self.catalog.is_ok()
    }

    pub(super) fn to_text(&self) -> String {
        let report = &self.report;
        let state = &report.state.hard_state;
        let vote = match state.vote {
            0 => "no vote".to_owned(),
            vote => format!("vote for node {}", node_id(vote)),
        };
        let mut out = format!(
            "control log: {} bytes, {} records, term {}, {vote}, committed up to entry {}\n",
            report.file_bytes, report.records, state.term, state.commit
        );
        if let Some(snapshot) = &report.state.snapshot {
            let ControlSnapshot {
                index, term, data, ..
            } = snapshot;
            let _ = writeln!(
                out,
                "  snapshot up to entry {index} of term {term}: {} bytes, voters {}, learners {}",
                data.len(),
                nodes(&snapshot.voters),
                nodes(&snapshot.learners)
            );
        }
        for run in report.terms() {
            let _ = writeln!(
                out,
                "  entries {} to {} of term {}",
                run.first, run.last, run.term
            );
        }
        match &self.catalog {
            Ok(Some(catalog)) => {
                let _ = writeln!(out, "  catalog version {}", catalog.version());
            }
            Ok(None) => out.push_str("  no catalog yet\n"),
            Err(error) => {
                let _ = writeln!(out, "  DAMAGE {error}");
            }
        }
        if let Some(damage) = &report.damage {
            let _ = writeln!(
                out,
                "  DAMAGE the file is {damage}; the entries above are those before it. A node does not start with it: \
                 move the directory away and let the node join anew, if the others have a majority"
            );
        }
        if let Some((offset, len)) = report.torn_tail {
            let _ = writeln!(
                out,
                "  torn tail: {len} bytes at offset {offset}; the next start cuts it off"
            );
        }
        if let Some(leftover) = &report.leftover {
            let _ = writeln!(
                out,
                "  leftover {leftover}: half-written, the next start removes it"
            );
        }
        if report.is_unsure {
            out.push_str("  a sync failed before the last stop: the next start trusts only what was synced\n");
        }
        out
    }

    pub(super) fn to_json(&self) -> Value {
        let report = &self.report;
        let state = &report.state.hard_state;
        let terms = report.terms().into_iter();
        let terms = terms
            .map(|run| json!({ "term": run.term, "first": run.first, "last": run.last }))
            .collect::<Vec<_>>();
        let snapshot = report.state.snapshot.as_ref().map(|it| {
            json!({
                "index": it.index,
                "term": it.term,
                "bytes": it.data.len(),
                "voters": it.voters.iter().map(|raft| node_id(*raft).0).collect::<Vec<_>>(),
                "learners": it.learners.iter().map(|raft| node_id(*raft).0).collect::<Vec<_>>(),
            })
        });
        let damage = report.damage.map(|damage| damage.to_string());
        json!({
            "sound": self.is_sound(),
            "file_bytes": report.file_bytes,
            "records": report.records,
            "term": state.term,
            "vote": (state.vote > 0).then(|| node_id(state.vote).0),
            "committed": state.commit,
            "snapshot": snapshot,
            "entries": report.state.entries.len(),
            "terms": terms,
            "catalog_version": self.catalog.as_ref().ok().and_then(Option::as_ref).map(|it| it.version().0),
            "damage": damage.or_else(|| self.catalog.as_ref().err().cloned()),
            "damage_offset": report.damage.and_then(|damage| damage.offset()),
            "torn_tail": report.torn_tail.map(|(offset, len)| json!({ "offset": offset, "len": len })),
            "leftover": report.leftover,
            "unsure": report.is_unsure,
        })
    }
}

fn nodes(raft: &[u64]) -> String {
    if raft.is_empty() {
        return "none".to_owned();
    }
    let names: Vec<String> = raft.iter().map(|it| node_id(*it).to_string()).collect();
    names.join(" ")
}
