//! What the node tells the cluster of itself at its start.

use super::error::StartError;
use crate::addresses::ListenAddresses;
use crate::config::Config;
use crate::random;
use brickyard_metadata::{self as metadata, Machine, Registration};
use brickyard_store::DataDir;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;

/// The registration of the node that has this directory locked and answers there.
pub(super) fn registration(
    config: &Config,
    directory: &DataDir,
    addresses: &ListenAddresses,
) -> Result<Registration, StartError> {
    let bricks: Vec<u16> = addresses.bricks.iter().map(SocketAddr::port).collect();
    Ok(Registration {
        key: directory.node(),
        run: u64::from_le_bytes(random::bytes().map_err(StartError::Random)?),
        bricks: bricks.len() as u32,
        addresses: metadata::Addresses {
            host: config.advertised_host(),
            port: addresses.node.port(),
            bricks,
            peer_port: addresses.peer.map_or(0, |peer| peer.port()),
            http_port: addresses.http.map(|http| http.port()),
        },
        weight: config.weight,
        zone: (!config.zone.is_empty()).then(|| config.zone.clone()),
        roles: config.roles.0,
        machine: machine(directory),
    })
}

/// Which directory of which boot of which machine is locked; what cannot be told is left empty, and then
/// proves nothing (rule `only the same machine proves death`).
fn machine(directory: &DataDir) -> Machine {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let found = std::fs::metadata(directory.path());
    Machine {
        machine: read("/etc/machine-id").trim().to_owned(),
        boot: read("/proc/sys/kernel/random/boot_id").trim().to_owned(),
        directory: found.map_or((0, 0), |found| (found.dev(), found.ino())),
    }
}
