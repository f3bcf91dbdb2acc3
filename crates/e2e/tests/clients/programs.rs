//! Real programs over stock clients, against three nodes: each does what it is used for, and docs/programs.md says what came of it.
//!
//! In:  the lines that `clients/*/programs` print, of three columns: client, what it does, what came of it. Out: a line for each.
//! Invariant: the page has what was seen and nothing else; `BRICKYARD_GOLDEN=write` writes it.

use crate::kill::replicated;
use crate::programs_page::{FAILS, Page, Row};
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::process::{Finished, run};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// For all programs of a language: half a minute where nothing else is done.
const PATIENCE: Duration = Duration::from_secs(400);

/// No node is taken for lost because the machine is busy.
const LONG_LEASE: [&str; 4] = ["--lease", "20s", "--eviction-timeout", "20s"];

/// One language at a time: each is a cluster and a runtime of its own, and the page is one.
static TURN: Mutex<()> = Mutex::new(());

/// Waits for its turn; that another language's failed does not matter.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Three nodes, and two copies of what `default` has. Nothing is moved any more: programs do not all repeat what is refused
/// while a partition changes hands.
pub(crate) fn programs_cluster() -> Cluster {
    let cluster = replicated(Cluster::start(&[0, 1, 2], 1, &LONG_LEASE));
    wait_for("no move that is left", || {
        let mut client = cluster.try_client(0).ok()?;
        let plan = client.try_call(&["REBALANCE", "PLAN"]).ok()?;
        plan.items()?.is_empty().then_some(())
    });
    cluster.client(0).must(&["REBALANCE", "PAUSE"]);
    cluster
}

/// Runs a language's programs, and holds the page against what they say.
pub(crate) fn do_what_the_page_says(language: &str, command: Command) {
    let _turn = turn();
    let cluster = programs_cluster();
    let seen = seen(&cluster, command);
    hold_against_page(language, &seen);
}

fn seen(cluster: &Cluster, mut command: Command) -> Vec<Row> {
    let bricks = (0..cluster.len()).map(|at| format!("127.0.0.1:{}", cluster.brick_port(at)));
    command
        .arg(&cluster.seeds()[0])
        .arg(bricks.collect::<Vec<_>>().join(","));
    let finished = run(&mut command, b"", PATIENCE).expect("the programs end");
    let rows = rows(&finished);
    for row in &rows {
        let word = if row.outcome == FAILS { "failed" } else { "ok" };
        println!("{word}: {}: {}: {}", row.client, row.does, row.outcome);
    }
    let failed = rows.iter().filter(|row| row.outcome == FAILS);
    let failed: Vec<String> = failed
        .map(|it| format!("{}: {}", it.client, it.does))
        .collect();
    // A program that ends the process before the last one has run is told by its status.
    assert!(
        failed.is_empty() && finished.status.success() && !rows.is_empty(),
        "{}, failed: {failed:#?}\n{}\n{}",
        finished.status,
        finished.text(),
        cluster.logs()
    );
    rows
}

/// What a library writes beside these lines is not of three columns.
fn rows(finished: &Finished) -> Vec<Row> {
    let lines = finished.stdout.lines();
    let columns = lines.map(|line| line.split('\t').collect::<Vec<_>>());
    let rows = columns.filter_map(|columns| match columns[..] {
        [client, does, outcome] => Some(Row::new(client, does, outcome)),
        _ => None,
    });
    rows.collect()
}

/// Holds the page's section against what was seen; or writes it anew.
pub(crate) fn hold_against_page(language: &str, seen: &[Row]) {
    let mut page = Page::read();
    if std::env::var("BRICKYARD_GOLDEN").is_ok_and(|it| it == "write") {
        page.replace(language, seen);
        page.write();
        return;
    }
    let said = page.rows(language);
    assert_eq!(
        said, seen,
        "docs/programs.md says of {language} on the left what is not so, on the right is what was seen; if that is meant: \
         BRICKYARD_GOLDEN=write cargo test -p brickyard-e2e --test clients programs"
    );
}
