//! Certificates that nodes of one machine and user make for themselves.
//!
//! In:  a directory. Out: files that all nodes which are given it use alike, made by the first of them.
//!
//! Invariants:
//! - The directory is there whole or not at all, also if two nodes begin at once.
//! - It is its owner's alone, and the authority's key is never written: nobody else can join.

use crate::{Authority, CertificateRequest, CertificateRole, IdentityFiles, TlsError};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whoever keeps such a cluster for longer removes the directory.
const VALIDITY: Duration = Duration::from_secs(3650 * 86_400);

/// What all nodes of a machine show, and whom they believe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFiles {
    /// A node's certificate and key.
    pub identity: IdentityFiles,
    /// The authority.
    pub authority: PathBuf,
}

impl MachineFiles {
    /// Those of a directory, made if there is none.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn of(dir: &Path) -> Result<Self, TlsError> {
        let files = Self {
            identity: IdentityFiles {
                certificate: dir.join("node.crt"),
                key: dir.join("node.key"),
            },
            authority: dir.join("ca.crt"),
        };
        if !dir.exists() {
            make(dir)?;
        }
        Ok(files)
    }
}

fn make(dir: &Path) -> Result<(), TlsError> {
    let (authority, own) = Authority::new("this machine", VALIDITY)?;
    let node = authority.issue(&CertificateRequest {
        name: "a node of this machine",
        role: CertificateRole::Node,
        hosts: &[],
        validity: VALIDITY,
    })?;
    // Of the same file system, so that it can be put in place as a whole.
    let mut new = dir.as_os_str().to_owned();
    new.push(format!(".{}", std::process::id()));
    let new = PathBuf::from(new);
    let files = [
        ("ca.crt", own.certificate),
        ("node.crt", node.certificate),
        ("node.key", node.key),
    ];
    let made = write_all(&new, &files).and_then(|()| match fs::rename(&new, dir) {
        // Another node was faster.
        Err(_) if dir.exists() => fs::remove_dir_all(&new),
        renamed => renamed,
    });
    made.map_err(|source| TlsError::Write {
        path: dir.to_owned(),
        source,
    })
}

fn write_all(dir: &Path, files: &[(&str, String)]) -> io::Result<()> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    if dir.exists() {
        // Of a process that had this number and was killed.
        fs::remove_dir_all(dir)?;
    }
    DirBuilder::new().mode(0o700).create(dir)?;
    for (name, text) in files {
        let mut options = OpenOptions::new();
        let options = options.write(true).create_new(true).mode(0o600);
        options.open(dir.join(name))?.write_all(text.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "machine_test.rs"]
mod machine_test;
