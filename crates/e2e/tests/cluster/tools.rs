//! The program's own tools against a cluster: status, load, bench.

use brickyard_e2e::client::Client;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::port::HTTP_OFFSET;
use brickyard_e2e::process::Process;
use brickyard_e2e::server::{brickyard, program};
use std::fmt::Write as _;

const RECORDS: usize = 60_000;

fn address(cluster: &Cluster, at: usize) -> String {
    format!("127.0.0.1:{}", cluster.port(at))
}

fn http(cluster: &Cluster, at: usize) -> String {
    format!("127.0.0.1:{}", cluster.port(at) + HTTP_OFFSET)
}

#[test]
fn load_goes_on_when_a_node_is_lost() {
    let mut cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 2);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("words");
    let mut words = String::new();
    for number in 0..RECORDS {
        writeln!(words, "word-{number}").unwrap();
    }
    std::fs::write(&file, words).unwrap();
    let mut command = program();
    command
        .arg("load")
        .arg(&file)
        .args(["--format", "words", "--table", "t"])
        .args([
            "--to",
            &format!("{},{}", address(&cluster, 2), address(&cluster, 0)),
        ]);
    let mut load = Process::start(&mut command, &folder.path().join("output"));
    let mut client = cluster.table(0, "t").unwrap();
    wait_for("the load to be under way", || {
        let count = client.try_call(&["DBSIZE"]).ok()?.as_integer()?;
        (count > 500).then_some(())
    });
    // The one that was named first, too.
    cluster.kill(2);
    let status = load.wait();
    assert!(status.success(), "{status}: {}", load.output());
    let mut client = cluster.table(0, "t").unwrap();
    wait_for("every record", || {
        let count = client.try_call(&["DBSIZE"]).ok()?.as_integer()?;
        (count == RECORDS as i64).then_some(())
    });
    for number in (0..RECORDS).step_by(997) {
        let reply = client.call(&["GET", &format!("word-{number}")]);
        assert_eq!(reply.text(), (number + 1).to_string());
    }
}

#[test]
fn load_that_is_interrupted_goes_on_from_the_line_that_it_names() {
    let cluster = Cluster::start(&[0], 1, &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("words");
    let mut words = String::new();
    for number in 0..RECORDS {
        writeln!(words, "word-{number}").unwrap();
    }
    std::fs::write(&file, words).unwrap();
    let command = |more: &[&str]| {
        let mut command = program();
        command.arg("load").arg(&file).args(["--format", "words"]);
        command.args(["--to", &address(&cluster, 0)]).args(more);
        command
    };
    let mut load = Process::start(&mut command(&[]), &folder.path().join("output"));
    let mut client = cluster.client(0);
    let count = |client: &mut Client| client.call(&["DBSIZE"]).as_integer().unwrap();
    wait_for("the load to be under way", || {
        (count(&mut client) > 500).then_some(())
    });
    load.signal("INT");
    let status = load.wait();
    let told = load.output();
    assert!(!status.success(), "{told}");
    let (_, line) = told.split_once("go on with --from-line ").expect(&told);
    let digits = line.split(|it: char| !it.is_ascii_digit()).next();
    let line: usize = digits.unwrap().parse().unwrap();
    assert_eq!(count(&mut client), line as i64 - 1, "{told}");
    let rest = ["--from-line", &line.to_string()];
    let mut load = Process::start(&mut command(&rest), &folder.path().join("rest"));
    let status = load.wait();
    assert!(status.success(), "{}", load.output());
    assert_eq!(count(&mut client), RECORDS as i64);
    let last = client.call(&["GET", &format!("word-{}", RECORDS - 1)]);
    assert_eq!(last.text(), RECORDS.to_string());
}

#[test]
fn status_tells_what_is_missing_and_when_it_is_whole_again() {
    let mut cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "3", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 3);
    let asked = http(&cluster, 0);
    let status = |more: &[&str]| brickyard(&[&["status", "--http", &asked], more].concat());
    wait_for("a status without a fault", || {
        status(&[]).status.success().then_some(())
    });
    let text = status(&["--bricks"]).text();
    for at in 0..3 {
        assert!(text.contains(&address(&cluster, at)), "{text}");
    }

    cluster.kill(2);
    wait_for("word of the missing copies", || {
        let finished = status(&["--json"]);
        assert_eq!(finished.status.code(), Some(4), "{}", finished.text());
        let json = finished.stdout;
        (json.contains(r#""under_replicated": 16"#) && json.contains(r#""state": "down""#))
            .then_some(())
    });
    let text = status(&[]).text();
    assert!(text.contains("16 partitions under-replicated"), "{text}");
    assert!(text.contains("16 of 16 copies are still missing"), "{text}");

    // The node that is asked serves, whatever else is missing; the one that was killed does not.
    assert_eq!(status(&["--ready"]).text(), "ready\n");
    let killed = brickyard(&["status", "--ready", "--http", &http(&cluster, 2)]);
    assert_eq!(killed.status.code(), Some(1), "{}", killed.text());
    // What is missing when the time is over is told as without waiting.
    let waited = status(&["--wait", "0"]);
    assert_eq!(waited.status.code(), Some(4), "{}", waited.text());

    cluster.launch(2);
    wait_for("everything to be there again", || {
        status(&["--wait", "5"]).status.success().then_some(())
    });
    let nobody = brickyard(&["status", "--http", "127.0.0.1:1"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(nobody.text().contains("127.0.0.1:1"), "{}", nobody.text());
}

#[test]
fn cluster_is_measured_through_the_client_library() {
    let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 2);
    let to = address(&cluster, 1);
    let common = [
        "bench",
        "--address",
        &to,
        "--table",
        "t",
        "--keys",
        "500",
        "--fill",
        "--count",
        "5000",
        "--warm-up",
        "0",
        "--json",
        "--threads",
        "2",
    ];
    for more in [
        &["--clients", "8", "--pipeline", "10"][..],
        &["--rate", "20000"],
    ] {
        let finished = brickyard(&[&common, more].concat());
        assert!(finished.status.success(), "{}", finished.text());
        assert!(
            finished.stderr.contains("client library"),
            "{}",
            finished.stderr
        );
        let json = finished.stdout;
        assert!(json.contains(r#""count": 5000"#), "{json}");
        assert!(json.contains(r#""unanswered": 0"#), "{json}");
    }
}

#[test]
fn torture_checks_its_rounds_and_writes_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let words = ["torture", "--only", "flap", "--rounds", "1", "--seed", "3"];
    let mut command = program();
    command.args(words).arg("--report").arg(&page);
    let mut torture = Process::start(&mut command, &folder.path().join("output"));
    let status = torture.wait();
    let told = torture.output();
    assert!(status.success(), "{status}: {told}");
    assert!(
        told.contains("1 failures") && told.contains("every history linearizable"),
        "{told}"
    );
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("--seed 3 --rounds 1") && page.contains("<svg"),
        "{page}"
    );
}

/// Of a key that is asked for most, a large one, and a node that does not answer.
#[test]
fn top_shows_what_stands_out_in_the_whole_cluster() {
    let mut cluster = Cluster::start(&[0, 1, 2], 2, &[]);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 2);
    let mut client = cluster.table(1, "t").unwrap();
    for number in 0..100 {
        client.must(&["SET", &format!("key{number}"), "value"]);
    }
    client.must(&["SET", "large", &"v".repeat(10_000)]);
    let from = address(&cluster, 0);
    let shows = |words: &[&str], wanted: &str| {
        let finished = brickyard(&[words, &["--address", &from]].concat());
        assert!(finished.status.success(), "{}", finished.text());
        let mut lines = finished.stdout.lines();
        let is_shown = lines.any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.contains(&wanted)
        });
        is_shown.then_some(finished.stdout)
    };
    let text = wait_for("the hot key", || {
        for _ in 0..2_000 {
            assert_eq!(client.call(&["GET", "key7"]).text(), "value");
        }
        shows(&["table", "hotkeys", "t"], "key7")
    });
    assert!(text.contains("commands a second  key"), "{text}");
    wait_for("the large key", || {
        shows(&["table", "bigkeys", "t", "--count", "1"], "large")
    });
    let text = shows(&["top", "--once"], "large").expect("the large key");
    assert!(text.contains("3 nodes, 2 tables, "), "{text}");
    assert!(text.contains("key7"), "{text}");
    for at in 0..3 {
        assert!(text.contains(&address(&cluster, at)), "{text}");
    }
    cluster.kill(2);
    let text = wait_for("a screen without that node", || {
        shows(&["top"], &format!("({}):", address(&cluster, 2)))
    });
    assert!(text.contains("node "), "{text}");
}
