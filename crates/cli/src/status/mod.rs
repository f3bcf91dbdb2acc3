//! What the nodes say of themselves, put together.
//!
//! In:  the HTTP ports of nodes. Out: a [`Report`](report::Report): nodes, bricks, tables, partitions; as text
//! or as JSON.
//!
//! Reading order: `node_status` (what `/status` of one node says), `collect` (asking them all), `report` (what it
//! means), `text` (for people).
//!
//! A node that is asked tells which others there are; each of them is asked too, since only a node itself
//! knows its lease, its version and its bricks.

pub(crate) mod collect;
mod node_status;
pub(crate) mod report;
pub(crate) mod text;
