//! An idle cluster, whatever happened to it before: its logs come to rest.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::figure9::fill_table;

/// Small, so that a few megabytes are many segments.
const SEGMENT_BYTES: u64 = 1 << 20;

/// Samples in a row, [`PAUSE`] apart, in which nothing may have been written.
const SAMPLES: usize = 8;

/// Longer than a brick's tick, at each of which the cleaner may begin.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(250);

/// Figures of a node's `INFO`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Log {
    file_bytes: u64,
    live_bytes: u64,
    moved_bytes: u64,
}

fn log(cluster: &Cluster, at: usize) -> Option<Log> {
    let info = cluster.try_client(at).ok()?.line("INFO").text();
    let figure = |name: &str| -> Option<u64> {
        let value = info.lines().find_map(|line| line.strip_prefix(name))?;
        value.parse().ok()
    };
    Some(Log {
        file_bytes: figure("log_file_bytes:")?,
        live_bytes: figure("log_live_bytes:")?,
        moved_bytes: figure("log_clean_moved_bytes:")?,
    })
}

/// Waits until no node writes anything, and each node's files are at most twice what is live and two segments.
fn wait_until_at_rest(cluster: &Cluster, when: &str) {
    let mut unchanged = 0;
    let mut before: Vec<Log> = Vec::new();
    wait_for(&format!("logs at rest {when}"), || {
        std::thread::sleep(PAUSE);
        let now: Option<Vec<Log>> = (0..cluster.len()).map(|at| log(cluster, at)).collect();
        let now = now?;
        let is_short = now
            .iter()
            .all(|log| log.file_bytes <= 2 * log.live_bytes + 2 * SEGMENT_BYTES);
        unchanged = if now == before && is_short {
            unchanged + 1
        } else {
            0
        };
        before = now;
        (unchanged >= SAMPLES).then_some(())
    });
}

#[test]
fn idle_cluster_writes_nothing_and_its_logs_are_short() {
    let segment_bytes = SEGMENT_BYTES.to_string();
    let arguments = ["--segment-bytes", &segment_bytes];
    let mut cluster = Cluster::start(&[0, 1, 2], 1, &arguments);
    cluster.wait_until_formed();
    cluster.create_table("idle", &["REPLICAS", "2", "PARTITIONS", "64"]);
    cluster.wait_until_whole("idle", 2);
    // Half of what is written is dead when it is over.
    for _ in 0..2 {
        fill_table(&cluster, "idle", 40_000);
    }
    wait_until_at_rest(&cluster, "after the writes");
    cluster.kill(1);
    fill_table(&cluster, "idle", 20_000);
    cluster.launch(1);
    cluster.wait_until_whole("idle", 2);
    wait_until_at_rest(&cluster, "after a node was away");
}
