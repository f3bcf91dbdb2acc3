//! Which attributes fit a table: what its operations cost on this machine, weighed by how often they come.
//!
//! In:  a workload (share of reads, keys, bytes). Out: measurements of this machine, a ranking, commands.
//!
//! Reading order: `machine` (what is measured, and what there is), `device` and `trial` (who measures), `ranking` (what follows from it, a pure
//! function), `text` (how it is told).
//!
//! Invariants:
//! - What is measured is bounded: so many seconds for each measurement, so many bytes of the disk, all of which are given back.
//! - A figure that was not measured is a constant of the source, named beside it, or was told by the caller.
//!
//! Source: Rufino, Alves, Exposto, Pina, "pDomus: a prototype for Cluster-oriented Distributed Hash Tables" (PDP 2007): storage media ranked by the
//! cost of each operation, weighed by the client's access pattern.

pub(crate) mod device;
pub(crate) mod machine;
pub(crate) mod ranking;
pub(crate) mod text;
pub(crate) mod trial;
