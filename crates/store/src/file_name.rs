//! Names of the files in a brick's directory.
//!
//! ```text
//! 000042.seg      a segment           000042.hint     its hint file
//! 000042.cut      a tail that a power cut tore and that was cut off, kept for people to look at
//! 000042.damaged  a segment as it was before its damaged ranges were discarded
//! unsure          a sync failed here: the page cache is no witness of what is on the disk
//! torn            the end of the log was cut off after a power cut, and `BOOT` does not say so yet
//! *.tmp           a file that was being written when the process stopped; removed at the next start
//! ```

use brickyard_types::SegmentId;

/// Present while the page cache cannot be trusted to hold what was written (rule `a lost log end is noted first`).
pub(crate) const UNSURE: &str = "unsure";

/// Present from before the end of the log is cut off until the directory's `BOOT` file says so (rule
/// `a lost log end is noted first`).
pub(crate) const TORN: &str = "torn";

const SEGMENT: &str = "seg";
const HINT: &str = "hint";

pub(crate) fn segment(id: SegmentId) -> String {
    format!("{:06}.{SEGMENT}", id.0)
}

pub(crate) fn hint(id: SegmentId) -> String {
    assert!(id.0 > 0, "0 stands for no segment");
    format!("{:06}.{HINT}", id.0)
}

pub(crate) fn cut(id: SegmentId) -> String {
    assert!(id.0 > 0, "0 stands for no segment");
    format!("{:06}.cut", id.0)
}

pub(crate) fn damaged(id: SegmentId) -> String {
    assert!(id.0 > 0, "0 stands for no segment");
    format!("{:06}.damaged", id.0)
}

/// The id of a segment file's name.
pub(crate) fn parse_segment(name: &str) -> Option<SegmentId> {
    parse(name, SEGMENT)
}

/// The id of a hint file's name.
pub(crate) fn parse_hint(name: &str) -> Option<SegmentId> {
    parse(name, HINT)
}

/// Whether the name is that of a half-written file.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.ends_with(".tmp")
}

fn parse(name: &str, extension: &str) -> Option<SegmentId> {
    let digits = name.strip_suffix(extension)?.strip_suffix('.')?;
    let id = SegmentId(digits.parse().ok()?);
    // Other spellings of the same number (`1.seg`, `+00001.seg`) are not ours.
    (id.0 > 0 && format!("{:06}", id.0) == digits).then_some(id)
}

#[cfg(test)]
#[path = "file_name_test.rs"]
mod file_name_test;
