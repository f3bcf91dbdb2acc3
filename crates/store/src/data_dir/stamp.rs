//! The `FORMAT` file: a few lines of text, so that people can read it too.
//!
//! ```text
//! brickyard data directory
//! format 1
//! node 0f3c...         40 hexadecimal digits
//! directory 9b1e...    32 hexadecimal digits
//! crc 1a2b3c4d         CRC-32 of the lines before this one
//! ```
//! The first two lines say what the others mean, whatever the format.

use super::error::DataDirError;
use crate::FORMAT_VERSION;
use crate::segment::header::DirectoryId;
use brickyard_types::NodeKey;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

const TITLE: &str = "brickyard data directory";

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) node: NodeKey,
    pub(super) directory: DirectoryId,
}

/// Why it says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StampError {
    OtherFormat(u32),
    Damaged(&'static str),
}

impl StampError {
    pub(super) fn at(self, path: PathBuf) -> DataDirError {
        match self {
            Self::OtherFormat(found) => DataDirError::OtherFormat { path, found },
            Self::Damaged(what) => DataDirError::Damaged { path, what },
        }
    }
}

impl Stamp {
    /// New ids.
    pub(super) fn draw() -> io::Result<Self> {
        let mut random = [0; 36];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let mut stamp = Self {
            node: NodeKey([0; 20]),
            directory: DirectoryId([0; 16]),
        };
        stamp.node.0.copy_from_slice(&random[..20]);
        stamp.directory.0.copy_from_slice(&random[20..]);
        Ok(stamp)
    }

    pub(super) fn encode(&self) -> String {
        let Self { node, directory } = self;
        let lines =
            format!("{TITLE}\nformat {FORMAT_VERSION}\nnode {node}\ndirectory {directory}\n");
        let text = format!("{lines}crc {:08x}\n", crc32fast::hash(lines.as_bytes()));
        assert_eq!(text.lines().count(), 5, "a stamp has five lines: {text}");
        text
    }

    pub(super) fn decode(text: &str) -> Result<Self, StampError> {
        let mut lines = text.lines();
        if lines.next() != Some(TITLE) {
            return Err(StampError::Damaged("its first line is not ours"));
        }
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let format: u32 = field("format")
            .and_then(|format| format.parse().ok())
            .ok_or(StampError::Damaged("there is no format line"))?;
        if format != FORMAT_VERSION {
            return Err(StampError::OtherFormat(format));
        }
        let node = field("node").and_then(parse_hex);
        let directory = field("directory").and_then(parse_hex);
        let (Some(node), Some(directory)) = (node, directory) else {
            return Err(StampError::Damaged("an id is missing"));
        };
        let stamp = Self {
            node: NodeKey(node),
            directory: DirectoryId(directory),
        };
        // The encoding is canonical, so comparing checks the checksum and everything else.
        if stamp.encode() == text {
            Ok(stamp)
        } else {
            Err(StampError::Damaged("its checksum does not match"))
        }
    }
}

fn parse_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
#[path = "stamp_test.rs"]
mod stamp_test;
