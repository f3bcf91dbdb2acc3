//! The disk of the node that leads the control plane is full: another one leads, and the cluster goes on deciding.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::small_disk::SmallDisk;
use std::path::PathBuf;

const DISK_MIB: u64 = 64;

#[test]
fn a_leader_whose_disk_is_full_gives_the_lead_up() {
    let disks = [(); 3].map(|()| SmallDisk::mount("full disk of the leader", DISK_MIB));
    let [Some(one), Some(two), Some(three)] = disks else {
        return;
    };
    let disks = [one, two, three];
    let data: Vec<PathBuf> = disks.iter().map(SmallDisk::data).collect();
    let cluster = Cluster::start_at(&data, 1, &["--segment-bytes", "4MiB"]);
    // Who founds it votes alone at first, and the only voter tries on.
    wait_for("three voters", || {
        let status = cluster.status(0)?;
        let (_, voters) = status.split_once("\"voters\":[")?;
        let (voters, _) = voters.split_once(']')?;
        (voters.split(',').count() == 3).then_some(())
    });
    let led = cluster.leader();
    let other = (led + 1) % 3;
    disks[led].fill();
    // Changes of the catalog are agreed on without it: as long as it leads, nothing comes of any.
    let mut number = 0;
    wait_for(
        "a change of the catalog with the old leader's disk full",
        || {
            number += 1;
            let mut client = cluster.try_client(other).ok()?;
            let name = format!("t{number}");
            let made = client.call(&["TABLE", "CREATE", &name, "PARTITIONS", "1"]);
            made.is_ok().then_some(())
        },
    );
    wait_for("another leader", || (cluster.leader() != led).then_some(()));
    // It takes part again when it has room: what was decided without it reaches it too.
    std::fs::remove_file(disks[led].ballast()).unwrap();
    wait_for(
        "the old leader to have the table that was made without it",
        || {
            let mut client = cluster.try_client(led).ok()?;
            let used = client.call(&["TABLE", "USE", &format!("t{number}")]);
            used.is_ok().then_some(())
        },
    );
}
