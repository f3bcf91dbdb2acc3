//! `brickyard advise` measures the machine that it runs on, says what fits, and leaves nothing behind.

use brickyard_e2e::server::{Setup, brickyard};
use std::fs;

#[test]
fn a_workload_is_measured_ranked_and_answered_with_commands_that_work() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    let asked = [
        "advise",
        "--reads",
        "0.9",
        "--keys",
        "1e5",
        "--value-bytes",
        "150",
        "--dir",
        path,
        "--seconds",
        "0.05",
        "--disk-mb",
        "2",
    ];
    let told = brickyard(&asked);
    assert!(told.status.success(), "{}", told.text());
    for wanted in [
        "100,000 keys of 16 bytes with values of 150 bytes, 90.0 % reads",
        "THIS MACHINE",
        "a brick, disk fsync: read ",
        "WHAT TO TYPE",
        "outlives a power cut:",
    ] {
        assert!(told.stdout.contains(wanted), "{wanted} in {}", told.stdout);
    }
    let json = brickyard(&[&asked[..], &["--json"]].concat());
    assert!(json.status.success(), "{}", json.text());
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let ranking = json["ranking"].as_array().unwrap();
    assert_eq!(ranking.len(), 5, "each kind of table, with one copy");
    let costs: Vec<f64> = ranking
        .iter()
        .filter(|it| it["lacks"].is_null())
        .map(|it| it["cost_us"].as_f64().unwrap())
        .collect();
    assert!(costs.len() > 1, "{json}");
    assert!(costs.is_sorted(), "{costs:?}");
    assert!(costs.iter().all(|it| *it > 0.0), "{costs:?}");
    let commands = json["commands"].as_array().unwrap();
    assert_eq!(commands.len(), 3, "{json}");
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        0,
        "nothing stays"
    );

    let server = Setup::brickyard(1).start();
    let address = format!("127.0.0.1:{}", server.port());
    for (at, command) in commands.iter().enumerate() {
        let command = command["command"].as_str().unwrap();
        let name = format!("t{at}");
        let command = command.replace("NAME", &name);
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let made = brickyard(&[&words[..], &["--address", &address]].concat());
        assert!(made.status.success(), "{command}: {}", made.text());
    }
}
