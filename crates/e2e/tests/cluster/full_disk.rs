//! Others fill the disk of a node: its copies go, it hears what is decided about it all the same, and serves as those that have
//! none.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::small_disk::SmallDisk;
use std::path::PathBuf;

const DISK_MIB: u64 = 64;
const KEYS: usize = 60;

/// One disk for each of three nodes, or none where this machine permits none.
fn disks(what: &str) -> Option<[SmallDisk; 3]> {
    let [one, two, three] = [(); 3].map(|()| SmallDisk::mount(what, DISK_MIB));
    Some([one?, two?, three?])
}

/// Writes each key through a node's port until that succeeds.
fn write_all(cluster: &Cluster, through: usize, value: &str) {
    for number in 0..KEYS {
        wait_for("a write of each key to succeed", || {
            let mut client = cluster.try_client(through).ok()?;
            let reply = client.try_call(&["SET", &format!("k{number}"), value]);
            reply.ok()?.is_ok().then_some(())
        });
    }
}

#[test]
fn node_whose_disk_is_full_passes_writes_on_also_if_it_leads() {
    let Some(disks) = disks("full disk of a node") else {
        return;
    };
    let data: Vec<PathBuf> = disks.iter().map(SmallDisk::data).collect();
    let arguments = ["--segment-bytes", "4MiB", "--default-replicas", "3"];
    let cluster = Cluster::start_at(&data, 1, &arguments);
    cluster.wait_until_whole("default", 3);
    let led = cluster.leader();
    disks[led].fill();
    for (through, value) in [((led + 1) % 3, "by another"), (led, "by itself")] {
        write_all(&cluster, through, value);
    }
    for at in 0..3 {
        let mut client = cluster.client(at);
        for number in 0..KEYS {
            let reply = client.call(&["GET", &format!("k{number}")]);
            assert_eq!(reply.text(), "by itself", "at node {at}");
        }
    }
    std::fs::remove_file(disks[led].ballast()).unwrap();
    cluster.wait_until_whole("default", 3);
}
