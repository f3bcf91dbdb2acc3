//! Every failure once, under load: what was lost, how long clients waited, when all replicas were back. Writes the table
//! to `docs/benchmarks.md` if asked.
//!
//! `cargo run --release -p brickyard-e2e --example failures [ROUNDS] [PART OF A NAME]`

use brickyard_e2e::cluster::{Cluster, LEASE};
use brickyard_e2e::trial::{Keys, Report, Setup, try_failure, wait_for_writes};
use brickyard_torture::Load;
use std::thread::sleep;
use std::time::Duration;

/// A failure.
type Harm = fn(&mut Cluster, &Load, &[usize]);

fn kill(cluster: &mut Cluster, at: usize, load: &Load) {
    cluster.kill(at);
    // The others go on; the node stays away for longer than a lease.
    sleep(2 * LEASE);
    wait_for_writes(load);
    cluster.launch(at);
}

fn cut(cluster: &mut Cluster, pairs: &[(usize, usize)], load: &Load) {
    let network = cluster.network().expect("asked for");
    for &(from, to) in pairs {
        network.cut(from, to);
    }
    sleep(3 * LEASE);
    wait_for_writes(load);
    network.heal();
}

fn trials() -> Vec<(Setup, Keys, Harm)> {
    let any = |name| Setup::new(name);
    let on_network = |name| Setup {
        can_be_cut: true,
        aside: Some(0),
        ..Setup::new(name)
    };
    vec![
        (
            any("kill -9 of a backup"),
            Keys::OfOneGroup,
            |cluster, load, holders| kill(cluster, holders[1], load),
        ),
        (
            any("kill -9 of a primary"),
            Keys::OfOneGroup,
            |cluster, load, holders| kill(cluster, holders[0], load),
        ),
        (
            any("kill -9 of the control leader"),
            Keys::Any,
            |cluster, load, _| {
                let leader = cluster.leader();
                kill(cluster, leader, load);
            },
        ),
        (
            any("kill -9 of all nodes at once"),
            Keys::Any,
            |cluster, _, _| {
                (0..3).for_each(|at| cluster.kill(at));
                (0..3).for_each(|at| cluster.launch(at));
            },
        ),
        (
            Setup {
                aside: Some(1),
                ..any("SIGSTOP for five leases")
            },
            Keys::Any,
            |cluster, _, _| {
                cluster.signal(1, "STOP");
                sleep(5 * LEASE);
                cluster.signal(1, "CONT");
            },
        ),
        (
            on_network("cut, both directions"),
            Keys::Any,
            |cluster, load, _| {
                cut(cluster, &[(0, 1), (1, 0), (0, 2), (2, 0)], load);
            },
        ),
        (
            on_network("cut, from the node"),
            Keys::Any,
            |cluster, load, _| {
                cut(cluster, &[(0, 1), (0, 2)], load);
            },
        ),
        (
            on_network("cut, to the node"),
            Keys::Any,
            |cluster, load, _| {
                cut(cluster, &[(1, 0), (2, 0)], load);
            },
        ),
        (any("rolling restart"), Keys::Any, |cluster, _, _| {
            for at in 0..3 {
                cluster.stop(at);
                cluster.launch(at);
                cluster.wait_until_formed();
                cluster.wait_until_whole("t", 2);
            }
        }),
    ]
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let rounds: usize = arguments
        .next()
        .map_or(1, |word| word.parse().expect("a number of rounds"));
    let part = arguments.next().unwrap_or_default();
    println!(
        "| failure | operations | unknown | lost or stale | longest write | longest read | any read | plain client | whole \
         after |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
    let mut is_good = true;
    for (setup, keys, harm) in trials() {
        if !setup.name.contains(&part) {
            continue;
        }
        let reports: Vec<Report> = (0..rounds)
            .filter_map(|_| try_failure(setup, keys, harm))
            .collect();
        is_good &= show(&reports);
    }
    assert!(is_good, "a history was not linearizable");
}

/// One row: sums, and the worst of the rounds.
fn show(reports: &[Report]) -> bool {
    let Some(first) = reports.first() else {
        return true;
    };
    let worst = |of: fn(&Report) -> Duration| {
        let worst = reports.iter().map(of).max().unwrap_or_default();
        format!("{:.0} ms", worst.as_secs_f64() * 1e3)
    };
    let checked = || reports.iter().filter_map(|it| it.checked.as_ref().ok());
    let operations: usize = checked().map(|it| it.operations).sum();
    let unknown: usize = checked().map(|it| it.unknown).sum();
    let bad = reports.iter().filter(|it| it.checked.is_err()).count();
    println!(
        "| {} | {operations} | {unknown} | {bad} | {} | {} | {} | {} | {} |",
        first.name,
        worst(|it| it.write_wait),
        worst(|it| it.free_read_wait),
        worst(|it| it.read_wait),
        worst(|it| it.plain.longest),
        worst(|it| it.whole_after),
    );
    for violation in reports.iter().filter_map(|it| it.checked.as_ref().err()) {
        eprintln!("{}: {violation}", first.name);
    }
    bad == 0
}
