//! Tables made without REPLICAS have a copy on each node that may hold one, up to a number: as many from the start as there
//! are nodes, and more as nodes come.
//!
//! In: tables whose layout says up to how many; the nodes. Out: the `replicas` of these tables; which tables have one copy
//! where there could be more.
//!
//! Invariants:
//! - A number that an operator chose stays until he chooses another one.
//! - By itself a table never asks for fewer copies than it did: a node that is lost, or goes, is no reason to be content with
//!   less.
//!
//! Not here: making the copies (`control`); the number that is meant where nobody says one (a setting of each node).

use crate::{layout::Layout, nodes::Nodes, table::TableEntry, tables::Tables};

/// How many copies a table that is laid out so gets of the nodes that there are; `None`: their number was chosen.
pub(crate) fn copies_by_nodes(nodes: &Nodes, layout: &Layout) -> Option<u8> {
    let most = layout.copies_max?;
    let holders = nodes.holders(layout).count();
    Some(most.min(u8::try_from(holders).unwrap_or(u8::MAX)).max(1))
}

/// Lets tables ask for more copies, where nodes have come.
pub(crate) fn grow_copies(tables: &mut Tables, nodes: &Nodes) {
    let has_more = |table: &TableEntry| {
        let copies = copies_by_nodes(nodes, &table.layout);
        copies.is_some_and(|copies| copies > table.attributes.replicas)
    };
    tables.change_where(has_more, |table| {
        if let Some(copies) = copies_by_nodes(nodes, &table.layout) {
            let before = std::mem::replace(&mut table.attributes.replicas, copies);
            assert!(before < copies, "{before} copies become {copies}");
        }
    });
}

/// Whether a table asks for one copy, in a cluster that could keep more: what a node has of it is lost with its disk.
pub(crate) fn has_one_copy(nodes: &Nodes, table: &TableEntry) -> bool {
    table.attributes.replicas == 1 && nodes.holders(&Layout::default()).nth(1).is_some()
}

#[cfg(test)]
#[path = "copies_test.rs"]
mod copies_test;
