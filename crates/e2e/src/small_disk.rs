//! A small file system of its own, for filling it.

use crate::skip;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// What is written at a time.
const PIECE_BYTES: usize = 64 << 10;

/// See the module; unmounted at the end.
#[derive(Debug)]
pub struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts one of so many MiB, or says why `what` cannot be tested here.
    ///
    /// # Panics
    /// If there is no room for temporary folders.
    #[must_use]
    pub fn mount(what: &str, mib: u64) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"])
            .arg(folder.path())
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self { folder }),
            Ok(output) => {
                let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                skip::announce(
                    what,
                    &format!("cannot mount a tmpfs ({reason}); run as root"),
                );
                None
            }
            Err(error) => {
                skip::announce(what, &format!("cannot run mount: {error}"));
                None
            }
        }
    }

    /// A directory for a node.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A file that takes the room of others.
    #[must_use]
    pub fn ballast(&self) -> PathBuf {
        self.folder.path().join("ballast")
    }

    /// Lets the ballast grow until there is no room.
    ///
    /// # Panics
    /// If it cannot be written for another reason.
    pub fn fill(&self) {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.ballast());
        let mut file = file.expect("the ballast can be opened");
        for bytes in [PIECE_BYTES, 1] {
            loop {
                match file.write_all(&vec![1; bytes]) {
                    Ok(()) => {}
                    Err(error) if error.kind() == std::io::ErrorKind::StorageFull => break,
                    Err(error) => panic!("the ballast: {error}"),
                }
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a failed test may still have the server on it.
        drop(
            Command::new("umount")
                .arg("--lazy")
                .arg(self.folder.path())
                .status(),
        );
    }
}
