use super::*;
use crate::advise::machine::{DeviceFigures, TrialFigures};

const GIB: u64 = 1 << 30;

/// Reads of 20 us, of 30 in the log and 100 on the disk; writes of 20, 25 with a log, and 1,000 that are synced.
fn machine(memory_gib: u64, disk_gib: u64) -> MachineFigures {
    let trial = |(medium, durability)| TrialFigures {
        medium,
        durability,
        read_us: match medium {
            Medium::Ram => 20.0,
            Medium::Disk => 30.0,
        },
        write_us: match durability {
            Durability::Memory => 20.0,
            Durability::Log => 25.0,
            Durability::Fsync => 1_000.0,
        },
        mixed_per_s: 1e6,
    };
    MachineFigures {
        memory_bytes: memory_gib * GIB,
        disk_free_bytes: disk_gib * GIB,
        device: DeviceFigures {
            append_per_s: 1e9,
            sync_us: 900.0,
            synced_per_s: 5e7,
            random_read_us: 100.0,
            sequential_per_s: 2e9,
            is_direct: true,
        },
        trials: KINDS.map(trial).to_vec(),
    }
}

fn workload(reads: f64, keys: u64, value_bytes: u64) -> AdvisedWorkload {
    AdvisedWorkload {
        reads,
        keys,
        key_bytes: 16,
        value_bytes,
        nodes: 1,
        round_trip_us: 200.0,
    }
}

fn names(choices: &[Choice]) -> Vec<String> {
    let name = |it: &Choice| format!("{}-{}x{}", it.medium, it.durability, it.replicas);
    choices.iter().map(name).collect()
}

fn find<'a>(choices: &'a [Choice], name: &str) -> &'a Choice {
    let at = names(choices).iter().position(|it| it == name);
    &choices[at.unwrap()]
}

#[test]
fn cost_is_the_sum_of_costs_by_their_shares() {
    let choices = rank(&workload(0.9, 1_000_000, 150), &machine(8, 100));
    let of = |name: &str| find(&choices, name).cost_us;
    assert!((of("ram-memoryx1") - 20.0).abs() < 1e-9);
    assert!((of("ram-logx1") - (0.9 * 20.0 + 0.1 * 25.0)).abs() < 1e-9);
    assert!((of("ram-fsyncx1") - (0.9 * 20.0 + 0.1 * 1_000.0)).abs() < 1e-9);
    let order = names(&choices);
    assert_eq!(order[0], "ram-memoryx1");
    // All values fit into memory: a `disk` table reads as fast there.
    assert!((of("disk-logx1") - of("ram-logx1")).abs() < 1e-9);
}

#[test]
fn who_mostly_writes_pays_for_syncs_and_who_reads_does_not() {
    for (reads, most) in [(1.0, 1.01), (0.999, 1.1), (0.5, 30.0)] {
        let choices = rank(&workload(reads, 1_000_000, 150), &machine(8, 100));
        let ratio = find(&choices, "ram-fsyncx1").cost_us / find(&choices, "ram-memoryx1").cost_us;
        assert!(ratio <= most, "{reads}: {ratio}");
        assert!(ratio > most / 10.0, "{reads}: {ratio}");
    }
}

#[test]
fn what_does_not_fit_into_memory_comes_last_and_a_disk_table_reads_what_is_not_there() {
    // 100 million records of 150 bytes: 19 GiB in memory, 40 GiB of log.
    let choices = rank(&workload(0.9, 100_000_000, 150), &machine(16, 200));
    let ram = find(&choices, "ram-logx1");
    assert_eq!(ram.lacks, Some(Lack::Memory));
    assert!(
        ram.memory_bytes > 19 * GIB && ram.memory_bytes < 23 * GIB,
        "{ram:?}"
    );
    assert_eq!(names(&choices)[0], "disk-logx1");
    let disk = find(&choices, "disk-logx1");
    assert_eq!(disk.lacks, None);
    assert!((0.4..0.6).contains(&disk.in_memory), "{disk:?}");
    assert_eq!(disk.memory_bytes, 16 * GIB / 100 * MEMORY_PERCENT);
    assert_eq!(disk.maxmemory, Some(disk.memory_bytes));
    // Half of the reads are of the log, and most of these of the disk.
    assert!((70.0..80.0).contains(&disk.read_us), "{disk:?}");
    assert!(names(&choices)[2..].iter().all(|it| it.starts_with("ram")));
    // The log holds each record once, and as much that is dead.
    assert_eq!(disk.disk_bytes, 2 * 100_000_000 * (48 + 16 + 150));
}

#[test]
fn keys_stay_in_memory_and_logs_on_the_disk() {
    // Two billion keys do not fit, whatever their values.
    let keys = rank(&workload(0.9, 2_000_000_000, 150), &machine(16, 10_000));
    assert!(
        keys.iter().all(|it| it.lacks == Some(Lack::Memory)),
        "{keys:?}"
    );
    let disk = rank(&workload(0.9, 10_000_000, 8_000), &machine(1_024, 10));
    let memory = find(&disk, "ram-memoryx1");
    assert_eq!((memory.lacks, memory.disk_bytes), (None, 0));
    for it in disk.iter().filter(|it| it.durability != "memory") {
        assert_eq!(it.lacks, Some(Lack::Disk), "{it:?}");
    }
}

#[test]
fn copies_cost_a_message_and_their_bytes() {
    let nodes = AdvisedWorkload {
        nodes: 3,
        ..workload(0.5, 9_000_000, 150)
    };
    let choices = rank(&nodes, &machine(16, 200));
    assert_eq!(choices.len(), KINDS.len() * 3);
    let (one, two) = (find(&choices, "ram-logx1"), find(&choices, "ram-logx2"));
    assert!((two.write_us - one.write_us - 200.0).abs() < 1e-9);
    assert!((two.read_us - one.read_us).abs() < 1e-9);
    assert_eq!(two.memory_bytes, 2 * one.memory_bytes);
    // A third of the keys on each node.
    let alone = rank(&workload(0.5, 3_000_000, 150), &machine(16, 200));
    assert_eq!(find(&alone, "ram-logx1").memory_bytes, one.memory_bytes);
}

#[test]
fn the_best_keeps_what_was_asked_for() {
    let nodes = AdvisedWorkload {
        nodes: 2,
        ..workload(0.9, 1_000_000, 150)
    };
    let choices = rank(&nodes, &machine(16, 200));
    for (outlives, replicas, expected) in [
        (Outlives::Nothing, 1, "ram memory"),
        (Outlives::ProcessKill, 2, "ram log"),
        (Outlives::PowerCut, 2, "ram fsync"),
    ] {
        let best = best(&choices, outlives, replicas).unwrap();
        assert_eq!(format!("{} {}", best.medium, best.durability), expected);
        assert_eq!(best.replicas, replicas);
    }
    assert_eq!(best(&choices, Outlives::Nothing, 3), None);
    let command = best(&choices, Outlives::ProcessKill, 2).unwrap().command();
    assert_eq!(
        command,
        "brickyard table create NAME --medium ram --durability log --replicas 2"
    );
    let disk = find(&choices, "disk-logx1").command();
    assert!(disk.contains(" --medium disk --durability log --replicas 1 --maxmemory "));
}
