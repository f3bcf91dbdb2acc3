//! What a cluster is busy with: its nodes, its tables, the keys that stand out, the slowest commands.
//!
//! In:  one node; it names the others. Out: a screen of text.
//!
//! Reading order: `collect` (asking the nodes), `screen` (for people).

pub(crate) mod collect;
pub(crate) mod screen;
