//! `kill -9` in the middle of a write load: everything acknowledged is there after the restart.

use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::load::{Progress, Writer};
use brickyard_e2e::random::Random;
use brickyard_e2e::server::{Server, ServerKind, Setup};
use brickyard_e2e::skip::number_from_environment;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Crashes of each test; `BRICKYARD_E2E_CRASHES=50` is the long run.
fn crashes() -> u64 {
    number_from_environment("BRICKYARD_E2E_CRASHES", 5)
}

/// Kills `server` under the load of `writers`, `crashes` times, and audits each restart.
fn crash_and_audit(server: &mut Server, mut writers: Vec<Writer>, crashes: u64) -> Vec<Writer> {
    let mut random = Random::new(number_from_environment("BRICKYARD_E2E_SEED", 1));
    let mut acknowledged = 0;
    for crash in 1..=crashes {
        let progress = Arc::new(Progress::default());
        let port = server.port();
        let threads: Vec<_> = writers
            .drain(..)
            .map(|writer| writer.spawn(port, Arc::clone(&progress)))
            .collect();
        // The moment is chosen by the load's own progress, so that slow machines kill no earlier.
        let moment = 500 + random.bits() % 8_000;
        wait_for("the writers to make progress", || {
            let is_over = threads.iter().any(std::thread::JoinHandle::is_finished);
            (is_over || progress.acknowledged.load(Ordering::Relaxed) >= moment).then_some(())
        });
        server.kill();
        writers = threads
            .into_iter()
            .map(|thread| thread.join().expect("a writer failed"))
            .collect();
        server.restart();
        for writer in &mut writers {
            writer.audit(server.port());
        }
        acknowledged = writers.iter().map(Writer::acknowledged).sum();
        println!("crash {crash} of {crashes}: {acknowledged} acknowledged operations audited");
    }
    assert!(
        acknowledged > 0,
        "nothing was acknowledged, so nothing was tested"
    );
    writers
}

fn writers(count: u64, prologue: &[&[&str]]) -> Vec<Writer> {
    (0..count)
        .map(|id| Writer::new(&format!("writer-{id}"), prologue, id))
        .collect()
}

#[test]
fn acknowledged_writes_survive_kill_with_durability_log() {
    let mut server = Setup::brickyard(2).start();
    crash_and_audit(&mut server, writers(4, &[]), crashes());
}

#[test]
fn acknowledged_writes_survive_kill_with_durability_fsync() {
    let mut server = Setup::brickyard(2).start();
    server
        .connect()
        .must(&["TABLE", "CREATE", "careful", "DURABILITY", "fsync"]);
    crash_and_audit(
        &mut server,
        writers(4, &[&["TABLE", "USE", "careful"]]),
        crashes(),
    );
}

#[test]
fn acknowledged_writes_survive_kill_on_medium_disk() {
    let mut server = Setup::brickyard(2).start();
    server
        .connect()
        .must(&["TABLE", "CREATE", "cold", "MEDIUM", "disk"]);
    crash_and_audit(
        &mut server,
        writers(4, &[&["TABLE", "USE", "cold"]]),
        crashes(),
    );
}

/// With small segments and values of some kilobytes the log is overwritten many times, so the cleaner
/// moves records and removes segments while the process dies.
#[test]
fn acknowledged_writes_survive_kill_while_the_cleaner_works() {
    let mut server = Setup::brickyard(1)
        .arguments(&["--segment-bytes", "8MiB"])
        .start();
    let writers = writers(4, &[])
        .into_iter()
        .map(|writer| writer.with_values(12_000))
        .collect();
    let mut writers = crash_and_audit(&mut server, writers, crashes());
    // Now without interruptions, to the end; then once more what is there must be what was promised.
    let mut client = server.connect();
    let figure = |text: &str, name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.parse().ok())
            .expect("INFO has the figure")
    };
    wait_for("the cleaner to finish", || {
        let info = client.line("INFO").text();
        // It leaves a log alone that is small or at least half alive.
        let bytes = figure(&info, "log_file_bytes:");
        (bytes < 64 << 20 || bytes < 2 * figure(&info, "log_live_bytes:")).then_some(())
    });
    server.kill();
    server.restart();
    for writer in &mut writers {
        writer.audit(server.port());
    }
}

/// The audit is right about a server that is known to keep its word.
#[test]
fn audit_finds_nothing_wrong_with_redis() {
    let Some(redis) = Setup::redis(ServerKind::Redis, "check of the crash test itself") else {
        return;
    };
    let mut server = redis
        .arguments(&["--appendonly", "yes", "--appendfsync", "always"])
        .start();
    crash_and_audit(&mut server, writers(2, &[]), 2);
}

/// And it notices a server that forgets: Redis without its log.
#[test]
fn audit_notices_lost_writes() {
    let Some(redis) = Setup::redis(ServerKind::Redis, "check of the crash test itself") else {
        return;
    };
    let mut server = redis.start();
    let audit = std::panic::AssertUnwindSafe(|| crash_and_audit(&mut server, writers(1, &[]), 1));
    assert!(
        std::panic::catch_unwind(audit).is_err(),
        "an empty server passed the audit"
    );
}
