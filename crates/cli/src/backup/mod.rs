//! Backups of a cluster's tables, and tables from backups.
//!
//! In:  a cluster that goes on serving, or backups. Out: backups, or a table. What a backup is, the crate `backup` says.

pub(crate) mod create;
pub(crate) mod restore;
