//! Moving in: a server that is written to is copied, followed and handed over, and nothing acknowledged is missing.

use brickyard_e2e::certificates::Certificates;
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

/// A source under TLS, with users; the two sides of a rename are keys of two slots.
#[test]
fn source_under_tls_is_followed_and_handed_over() {
    let folder = tempfile::tempdir().unwrap();
    let mut certificates = Certificates::new();
    certificates.issue_node("source");
    let file = |name: &str| certificates.path(name).display().to_string();
    let [certificate, key, authority] = ["source.crt", "source.key", "ca.crt"].map(file);
    let arguments = [
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &key,
        "--tls-ca-cert-file",
        &authority,
        "--tls-auth-clients",
        "no",
    ];
    let tls = Some(certificates.dialer_of(None));
    let what = "import from a Redis under TLS";
    let Some(origin) = Origin::start_by("redis-server", what, folder.path(), (&arguments, tls))
    else {
        return;
    };
    origin.fill(500);
    let mut people = origin.connect();
    let mover = ["ACL", "SETUSER", "mover", "on", ">p@ss", "~*", "+@all"];
    people.must(&mover);
    let cluster = Cluster::start(&[0], 1, &[]);
    let to = address(&cluster, 0);
    let url = format!("rediss://mover:p%40ss@127.0.0.1:{}", origin.port);
    let mut command = program();
    command
        .args(["import", &url, "--source-ca", &authority, "--to", &to])
        .arg("--state")
        .arg(folder.path().join("state"));
    let mut process = Process::start(&mut command, &folder.path().join("import"));
    let mut client = cluster.client(0);
    wait_for("the copy", || (keys(&mut client) >= 500).then_some(()));
    people.must(&["SET", "late", "value"]);
    people.must(&["RENAME", "old:1", "new:1"]);
    wait_for("what was written meanwhile", || {
        let reply = client.call(&["GET", "new:1"]);
        (!reply.is_null()).then_some(())
    });
    process.signal("USR1");
    let told = wait_until_it_ends(&mut process);
    assert!(told.contains("HANDED OVER at offset"), "{told}");
    assert_eq!(client.call(&["GET", "late"]).text(), "value");
    assert!(client.call(&["GET", "old:1"]).is_null());
    // Who does not believe the source's authority sends it no password.
    let other = Certificates::new();
    let other = other.path("ca.crt").display().to_string();
    let refused = brickyard(&[
        "import",
        &url,
        "--source-ca",
        &other,
        "--to",
        &to,
        "--verify",
    ]);
    assert_eq!(refused.status.code(), Some(1), "{}", refused.text());
    assert!(refused.text().contains("certificate"), "{}", refused.text());
}

/// Writers at its primary could not be held up: a hand-over would lose what they write.
#[test]
fn replica_is_no_source() {
    let folder = tempfile::tempdir().unwrap();
    let what = "import from a replica";
    let Some(origin) = Origin::start("redis-server", what, folder.path()) else {
        return;
    };
    origin.fill(100);
    let copies = tempfile::tempdir().unwrap();
    let primary = format!("127.0.0.1 {}", origin.port);
    let arguments = ["--replicaof", &primary];
    let replica = Origin::start_by("redis-server", what, copies.path(), (&arguments, None));
    let replica = replica.expect("the same program");
    let cluster = Cluster::start(&[0], 1, &[]);
    let to = address(&cluster, 0);
    let url = format!("redis://127.0.0.1:{}", replica.port);
    let state = folder.path().join("state").display().to_string();
    let refused = brickyard(&["import", &url, "--to", &to, "--state", &state]);
    assert_eq!(refused.status.code(), Some(1), "{}", refused.text());
    let named = format!("is a replica of 127.0.0.1:{}", origin.port);
    assert!(refused.text().contains(&named), "{}", refused.text());

    // One that becomes a replica while it is followed hands nothing over, and holds nobody up.
    let mut first = import_into_default(&origin, &to, folder.path());
    let mut client = cluster.client(0);
    wait_for("the copy", || (keys(&mut client) >= 100).then_some(()));
    let mut people = origin.connect();
    let mut second = replica.connect();
    second.must(&["REPLICAOF", "NO", "ONE"]);
    people.must(&["REPLICAOF", "127.0.0.1", &replica.port.to_string()]);
    let told = wait_for("why it is not handed over", || {
        first.signal("USR1");
        let told = first.output();
        let is_told = told.contains("replica of") || first.exit_status().is_some();
        is_told.then_some(told)
    });
    assert!(!told.contains("HANDED OVER"), "{told}");
    first.kill();
}

fn import_into_default(origin: &Origin, to: &str, folder: &Path) -> Process {
    let mut command = program();
    let url = format!("redis://127.0.0.1:{}", origin.port);
    command
        .args(["import", &url, "--to", to, "--patience", "5", "--state"])
        .arg(folder.join("state"));
    Process::start(&mut command, &folder.join("import"))
}

/// Databases that change places have no likeness in tables: that is said, and nothing wrong is handed over.
#[test]
fn swapped_databases_end_an_import() {
    let folder = tempfile::tempdir().unwrap();
    let Some(origin) = Origin::start("redis-server", "import and SWAPDB", folder.path()) else {
        return;
    };
    origin.fill(100);
    let cluster = Cluster::start(&[0], 1, &[]);
    let to = address(&cluster, 0);
    let mut process = import_into_default(&origin, &to, folder.path());
    let mut client = cluster.client(0);
    wait_for("the copy", || (keys(&mut client) >= 100).then_some(()));
    origin.connect().must(&["SWAPDB", "0", "1"]);
    let ended = try_wait_for(PATIENCE, || process.exit_status());
    let told = process.output();
    assert!(ended.is_some_and(|it| !it.success()), "{told}");
    assert!(told.contains("SWAPDB"), "{told}");
}
