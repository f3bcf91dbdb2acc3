//! Moving in: a server that is written to is copied, followed and handed over, and nothing acknowledged is missing.

use brickyard_e2e::client::Client;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::{try_wait_for, wait_for};
use brickyard_e2e::moving::{Origin, Writers};
use brickyard_e2e::process::Process;
use brickyard_e2e::server::{brickyard, program};
use std::path::Path;
use std::time::Duration;

/// An import of everything under load may take its time on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(180);

const KEYS: u64 = 20_000;

fn address(cluster: &Cluster, at: usize) -> String {
    format!("127.0.0.1:{}", cluster.port(at))
}

fn import(origin: &Origin, cluster: &Cluster, folder: &Path, log: &str, more: &[&str]) -> Process {
    let mut command = program();
    command
        .args(["import", &format!("redis://127.0.0.1:{}", origin.port)])
        .args(["--to", &address(cluster, 0), "--table", "t", "--state"])
        .arg(folder.join("state"))
        .args(more);
    Process::start(&mut command, &folder.join(log))
}

fn wait_until_it_ends(import: &mut Process) -> String {
    let status = try_wait_for(PATIENCE, || import.exit_status());
    let told = import.output();
    assert!(status.is_some_and(|it| it.success()), "{status:?}: {told}");
    told
}

fn keys(client: &mut Client) -> i64 {
    client.call(&["DBSIZE"]).as_integer().unwrap()
}

fn moves_in_from(program: &str) {
    let folder = tempfile::tempdir().unwrap();
    let what = format!("import from {program}");
    let Some(origin) = Origin::start(program, &what, folder.path()) else {
        return;
    };
    origin.fill(KEYS);
    let mut people = origin.connect();
    assert_eq!(people.call(&["RPUSH", "list", "a"]).as_integer(), Some(1));
    people.must(&["HMSET", "hash", "f", "v", "n", "1"]);
    people.must(&["HMSET", "large", "f", &"x".repeat(1000)]);
    let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 2);
    let writers = Writers::start(origin.port, 4, 1000);

    // Killed once while it follows; what it had is not copied again.
    let mut first = import(&origin, &cluster, folder.path(), "first", &[]);
    let mut client = cluster.table(0, "t").unwrap();
    wait_for("a resume point of the stream", || {
        let text = std::fs::read_to_string(folder.path().join("state")).ok()?;
        (text.contains("following") && keys(&mut client) >= KEYS as i64).then_some(())
    });
    first.kill();
    let before = writers.acknowledged();
    wait_for("writes that nobody follows", || {
        (writers.acknowledged() > before + 500).then_some(())
    });
    people.must(&["SET", "late", "value"]);
    people.must(&["HMSET", "late-hash", "g", "w"]);
    assert_eq!(people.line("HINCRBY hash n 5").as_integer(), Some(6));
    assert_eq!(people.line("HDEL hash f").as_integer(), Some(1));

    let more = [
        "--handover-when-caught-up",
        "--fence",
        "--pause-max",
        "20000",
    ];
    let mut second = import(&origin, &cluster, folder.path(), "second", &more);
    let told = wait_until_it_ends(&mut second);
    assert!(told.contains("going on from offset"), "{told}");
    assert!(told.contains("HANDED OVER at offset"), "{told}");
    let told = writers.stop();
    assert!(told.acknowledged > before + 500);
    // The fence ended them; nobody was told of a write that the table does not have.
    assert!(
        told.refusals.iter().all(|it| it.contains("NOREPLICAS")),
        "{:?}",
        told.refusals
    );
    let (missing, example) = told.missing(&mut client);
    assert_eq!(missing, 0, "{example:?}");
    assert_eq!(client.call(&["GET", "late"]).text(), "value");
    assert_eq!(client.line("HGET late-hash g").text(), "w");
    assert_eq!(client.line("HGETALL hash"), people.line("HGETALL hash"));
    assert_eq!(client.line("HSTRLEN large f").as_integer(), Some(1000));
    let source = people.call(&["DBSIZE"]).as_integer().unwrap();
    assert_eq!(keys(&mut client), source - 1, "all but the list");

    let url = format!("redis://127.0.0.1:{}", origin.port);
    let target = address(&cluster, 1);
    let verify = ["import", &url, "--to", &target, "--table", "t", "--verify"];
    let same = brickyard(&verify);
    assert!(same.status.success(), "{}", same.text());
    assert!(
        same.text().contains("both sides are the same"),
        "{}",
        same.text()
    );
    client.must(&["SET", "old:7", "something else"]);
    let differs = brickyard(&verify);
    assert_eq!(differs.status.code(), Some(1), "{}", differs.text());
    assert!(differs.text().contains("'old:7'"), "{}", differs.text());

    // Whoever calls it again is told that clients are here.
    let mut third = import(&origin, &cluster, folder.path(), "third", &[]);
    assert!(!third.wait().success());
    assert!(
        third.output().contains("was handed over"),
        "{}",
        third.output()
    );
}

#[test]
fn nothing_acknowledged_is_missing_after_a_move_from_redis() {
    moves_in_from("redis-server");
}

#[test]
fn nothing_acknowledged_is_missing_after_a_move_from_valkey() {
    moves_in_from("valkey-server");
}

#[test]
fn files_of_a_server_are_imported() {
    let folder = tempfile::tempdir().unwrap();
    let Some(origin) = Origin::start("redis-server", "import of files", folder.path()) else {
        return;
    };
    let mut people = origin.connect();
    people.must(&["CONFIG", "SET", "appendonly", "yes"]);
    wait_for("the append-only file", || {
        let info = people.call(&["INFO", "persistence"]).text();
        info.contains("aof_rewrite_in_progress:0").then_some(())
    });
    origin.fill(2000);
    for line in [
        &["SET", "n", "1"][..],
        &["INCRBY", "n", "41"],
        &["APPEND", "text", "ab"],
        &["APPEND", "text", "cd"],
        &["SET", "from", "v", "PXAT", "4102444800000"],
        &["RENAME", "from", "to"],
        &["DEL", "old:1"],
        &["LPUSH", "list", "a"],
    ] {
        let reply = people.call(line);
        assert!(!reply.is_error(), "{line:?}: {}", reply.text());
    }
    let cluster = Cluster::start(&[0], 1, &[]);
    let target = address(&cluster, 0);
    let mut client = cluster.client(0);
    let directory = folder.path().join("appendonlydir");
    let files = brickyard(&["import", directory.to_str().unwrap(), "--to", &target]);
    assert_eq!(files.status.code(), Some(3), "{}", files.text());
    assert!(
        files.text().contains("1 change of a list"),
        "{}",
        files.text()
    );
    let url = format!("redis://127.0.0.1:{}", origin.port);
    let verify = brickyard(&["import", &url, "--to", &target, "--verify"]);
    assert!(verify.status.success(), "{}", verify.text());

    people.must(&["SAVE"]);
    let snapshot = folder.path().join("dump.rdb");
    let full = brickyard(&["import", snapshot.to_str().unwrap(), "--to", &target]);
    assert_eq!(full.status.code(), Some(1));
    assert!(full.text().contains("--merge"), "{}", full.text());
    client.must(&["FLUSHALL"]);
    let snapshot = brickyard(&["import", snapshot.to_str().unwrap(), "--to", &target]);
    assert_eq!(snapshot.status.code(), Some(3), "{}", snapshot.text());
    assert!(
        snapshot.text().contains("left out: 1 list"),
        "{}",
        snapshot.text()
    );
    let verify = brickyard(&["import", &url, "--to", &target, "--verify"]);
    assert!(verify.status.success(), "{}", verify.text());
}
