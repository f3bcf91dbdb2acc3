//! `MONITOR`: what clients of the node ask for, as lines for whoever watches.
//!
//! ```text
//! a brick's clients ask ─▶ lines of one run ─▶ this brick's watchers (`clients/watchers`)
//!                                          └─▶ the node's other bricks that have some
//! ```
//! Invariants:
//! - Where nobody watches a command costs one look at a flag that its run has set.
//! - No line has a password, nor more than [`LINE_BYTES_MAX`] bytes: of long arguments the beginning is shown.
//! - What administers the node is not shown, as in Redis.

use brickyard_command::{Args, Spec, table::flag};
use brickyard_types::{BrickId, UnixMillis};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Bytes of an argument that are shown.
const ARGUMENT_BYTES_SHOWN: usize = 4 << 10;

/// Bytes of a line past which no more arguments are shown.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Which bricks of the node have clients that watch.
#[derive(Debug, Default)]
pub struct NodeMonitors {
    /// How many watch.
    all: AtomicU32,
    by_brick: Vec<AtomicU32>,
}

impl NodeMonitors {
    /// Of a node with so many bricks, at which nobody watches.
    #[must_use]
    pub fn new(bricks: usize) -> Self {
        Self {
            all: AtomicU32::new(0),
            by_brick: (0..bricks).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Whether anybody watches.
    #[inline]
    pub(crate) fn are_there(&self) -> bool {
        self.all.load(Relaxed) > 0
    }

    /// A client of that brick watches.
    pub(crate) fn add(&self, brick: BrickId) {
        self.by_brick[brick.0 as usize].fetch_add(1, Relaxed);
        self.all.fetch_add(1, Relaxed);
    }

    /// It watches no more.
    pub(crate) fn remove(&self, brick: BrickId) {
        let before = self.by_brick[brick.0 as usize].fetch_sub(1, Relaxed);
        assert!(before > 0, "more stop watching at {brick:?} than began");
        self.all.fetch_sub(1, Relaxed);
    }

    /// The bricks with clients that watch.
    pub(crate) fn bricks(&self) -> impl Iterator<Item = BrickId> {
        let with = (0..).zip(&self.by_brick);
        with.filter(|(_, count)| count.load(Relaxed) > 0)
            .map(|(brick, _)| BrickId(brick))
    }
}

/// Whether a command is shown.
pub(crate) const fn is_shown(spec: &Spec) -> bool {
    !spec.has(flag::ADMIN)
}

/// What is shown in the place of a user's name or password, as in the slow log.
const REDACTED: &[u8] = b"(redacted)";

/// Writes what a client asks for as a line: one whose database and address these are, and which names nobody before that argument.
pub(crate) fn write_line(
    out: &mut Vec<u8>,
    now: UnixMillis,
    (database, peer): (u16, &str),
    secrets_from: usize,
    args: &Args<'_>,
) {
    let (seconds, milliseconds) = (now.0 / 1000, now.0 % 1000);
    let start = out.len();
    out.extend(format!("+{seconds}.{milliseconds:03}000 [{database} {peer}]").into_bytes());
    for at in 0..args.len() {
        if out.len() - start > LINE_BYTES_MAX - ARGUMENT_BYTES_SHOWN {
            out.extend(format!(" \"... ({} more arguments)\"", args.len() - at).into_bytes());
            break;
        }
        let argument = args.at(at);
        out.extend_from_slice(b" \"");
        match argument.get(..ARGUMENT_BYTES_SHOWN) {
            _ if at >= secrets_from => out.extend_from_slice(REDACTED),
            Some(head) if argument.len() > ARGUMENT_BYTES_SHOWN => {
                escape(head, out);
                let more = argument.len() - ARGUMENT_BYTES_SHOWN;
                out.extend(format!("... ({more} more bytes)").into_bytes());
            }
            _ => escape(argument, out),
        }
        out.push(b'"');
    }
    out.extend_from_slice(b"\r\n");
}

/// As Redis quotes: what can be seen as it is.
fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            b'\\' | b'"' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x07 => out.extend_from_slice(b"\\a"),
            0x08 => out.extend_from_slice(b"\\b"),
            b' '..=b'~' => out.push(*byte),
            other => out.extend(format!("\\x{other:02x}").into_bytes()),
        }
    }
}

#[cfg(test)]
#[path = "monitor_test.rs"]
mod monitor_test;
