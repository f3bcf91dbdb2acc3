//! Our own library for Python: its tests, and words that are counted over a cluster while a node is killed.

use crate::kill::{replicated_cluster, sees_all_keys_through_a_kill};
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::PATIENCE;
use brickyard_e2e::process::run;
use brickyard_e2e::server::Setup;
use brickyard_e2e::stock;

/// The program of the README is so short.
const LINES_MAX: usize = 20;

#[test]
fn a_table_is_a_mapping() {
    let Some(mut python) = stock::python_library() else {
        return;
    };
    let server = Setup::brickyard(2).start();
    python
        .args(["-m", "unittest", "discover", "--start-directory"])
        .arg(stock::python_sources().join("tests"))
        .env("BRICKYARD_SEEDS", format!("127.0.0.1:{}", server.port()));
    let finished = run(&mut python, b"", 3 * PATIENCE).unwrap();
    let text = finished.text();
    assert!(finished.status.success(), "{text}\n{}", server.log());
    let ran = text.lines().find_map(|line| line.strip_prefix("Ran "));
    let ran = ran.and_then(|it| it.split(' ').next()?.parse::<u32>().ok());
    assert!(ran > Some(30), "they ran: {text}");
}

const UNDER_TLS: &str = "
import sys, brickyard
seeds, authority, certificate, key = sys.argv[1:]
files = dict(tls_authority=authority, tls_certificate=certificate, tls_key=key)
table = brickyard.connect(seeds, **files).table()
table['k'] = b'v'
print(dict(table))
try:
    brickyard.connect(seeds, deadline=2)
except brickyard.Unreachable:
    print('nothing in the clear')
";

#[test]
fn a_table_is_reached_by_mutual_tls() {
    let Some(mut python) = stock::python_library() else {
        return;
    };
    let mut cluster = Cluster::start_secure(&[0], 1, &[]);
    let seeds = cluster.seeds().join(",");
    let certificates = cluster.certificates().expect("it is secure");
    python
        .args(["-c", UNDER_TLS, &seeds])
        .args(certificates.client_files());
    let finished = run(&mut python, b"", PATIENCE).unwrap();
    let text = finished.text();
    assert!(finished.status.success(), "{text}\n{}", cluster.logs());
    assert!(text.contains("{'k': b'v'}\nnothing in the clear"), "{text}");
}

#[test]
fn types_are_those_that_its_hints_say() {
    let Some(mut python) = stock::python_library() else {
        return;
    };
    let sources = stock::python_sources();
    let cache = tempfile::tempdir().unwrap();
    python
        .args(["-m", "mypy", "--strict", "--cache-dir"])
        .arg(cache.path())
        .arg(sources.join("python/brickyard"))
        .arg(sources.join("tests/typed_program.py"))
        .env("MYPYPATH", sources.join("python"));
    let finished = run(&mut python, b"", PATIENCE).unwrap();
    assert!(finished.status.success(), "{}", finished.text());
}

#[test]
fn words_are_counted_through_a_node_kill() {
    if let Some(mut python) = stock::python_library() {
        python.arg(stock::python_sources().join("tests/through_a_kill.py"));
        sees_all_keys_through_a_kill(python);
    }
}

#[test]
fn the_program_of_the_readme_counts_words() {
    let sources = stock::python_sources();
    let root = sources.ancestors().nth(2).unwrap();
    let readme = root.join("README.md");
    let program = sources.join("examples/words.py");
    let text = std::fs::read_to_string(&program).unwrap();
    let is_told = std::fs::read_to_string(&readme).unwrap().contains(&text);
    assert!(
        is_told,
        "README.md shows another program than {}:\n{text}",
        program.display()
    );
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    assert!(
        lines.count() <= LINES_MAX,
        "it is longer than the README says"
    );
    let Some(mut python) = stock::python_library() else {
        return;
    };
    let cluster = replicated_cluster();
    let seeds = cluster.seeds().join(",");
    python
        .arg(&program)
        .arg(seeds)
        .arg(&readme)
        .arg(root.join("ARCHITECTURE.md"));
    let finished = run(&mut python, b"", PATIENCE).unwrap();
    let text = finished.text();
    assert!(finished.status.success(), "{text}\n{}", cluster.logs());
    let count = |name: &str| {
        std::fs::read_to_string(root.join(name))
            .unwrap()
            .lines()
            .count()
    };
    let expected = format!(
        "{} lines: [('the', ",
        count("README.md") + count("ARCHITECTURE.md")
    );
    assert!(text.contains(&expected), "expected {expected}: {text}");
}
