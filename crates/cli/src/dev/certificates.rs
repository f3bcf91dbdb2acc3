//! The certificates by which a trial cluster's nodes know one another.
//!
//! In:  the cluster's directory. Out: arguments for `brickyard server`.
//!
//! They are made anew at each start, when no node runs, for all of them alike; the authority's key is never written down. What the
//! nodes say to one another is hidden, and who else is on the machine cannot take part.

use anyhow::Context as _;
use brickyard_tls::{Authority, CertificateRequest, CertificateRole};
use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    time::Duration,
};

/// No trial cluster runs for longer without a start.
const VALIDITY: Duration = Duration::from_secs(3650 * 86_400);

/// Makes them in the directory, which is made if it is missing.
pub(super) fn make(dir: &Path) -> anyhow::Result<Vec<String>> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let (authority, own) = Authority::new("brickyard dev", VALIDITY)?;
    let node = authority.issue(&CertificateRequest {
        name: "node",
        role: CertificateRole::Node,
        hosts: &[],
        validity: VALIDITY,
    })?;
    let mut arguments = Vec::new();
    for (setting, name, text) in [
        ("peer-ca", "ca.crt", &own.certificate),
        ("peer-cert", "node.crt", &node.certificate),
        ("peer-key", "node.key", &node.key),
    ] {
        let path = dir.join(name);
        write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        arguments.push(format!("--{setting}={}", path.display()));
    }
    Ok(arguments)
}

/// Writes a file that its owner alone may read, from its first byte on.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if path.exists() {
        fs::remove_file(path)?;
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
}
