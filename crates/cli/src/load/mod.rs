//! Files to records to a server.
//!
//! In:  a file of one of the formats in [`format`], plain or compressed.
//! Out: one SET for each record, to the brick that has its key, and a summary.
//!
//! Reading order: `source` (bytes), `format` (which reader), `lines` and the readers (`csv`,
//! `json_lines`, `control`, `words`, `dump`: bytes to records), `writer` (records to the cluster),
//! `tally` (what became of them). With `--sorted`, before they are written: `lanes` (where each goes), `sorter`, `run_file`.
//!
//! Invariants:
//! - Memory is bounded, whatever the file holds: a line or paragraph longer than a value may be is
//!   a bad line, and readers wait for writers.
//! - Records of one key are written in the order of the file.
//! - Sorting takes the memory that it may, and files that have no names.
//! - Every record is counted once: stored, refused, or a bad line.

pub(crate) mod control;
pub(crate) mod csv;
pub(crate) mod dump;
pub(crate) mod format;
pub(crate) mod json_lines;
pub(crate) mod lanes;
pub(crate) mod lines;
pub(crate) mod record;
pub(crate) mod run_file;
pub(crate) mod sorter;
pub(crate) mod source;
pub(crate) mod tally;
pub(crate) mod words;
pub(crate) mod writer;
