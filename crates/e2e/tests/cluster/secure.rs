//! A cluster under mutual TLS: its own tools, strangers, and the replacement of every certificate and of the authority under load.

use brickyard_client::{Client, Options, Tls};
use brickyard_e2e::certificates::Certificates;
use brickyard_e2e::cluster::{Cluster, node_name};
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::port::HTTP_OFFSET;
use brickyard_e2e::server::brickyard;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Calls of one client until the next one is made.
const CALLS: u64 = 20;

fn certificates(cluster: &mut Cluster) -> &mut Certificates {
    cluster.certificates().expect("it is secure")
}

/// Whether a client is let in by a node.
fn lets_in(cluster: &Cluster, at: usize, tls: Option<&Tls>) -> bool {
    let client = cluster.try_client_by(at, tls);
    let reply = client.and_then(|mut client| client.try_call(&["PING"]));
    reply.is_ok_and(|reply| reply.text() == "PONG")
}

#[test]
fn the_programs_own_commands_speak_tls() {
    let mut cluster = Cluster::start_secure(&[0, 1, 2], 1, &[]);
    let node = format!("127.0.0.1:{}", cluster.port(1));
    let http = format!("127.0.0.1:{}", cluster.port(1) + HTTP_OFFSET);
    let files = certificates(&mut cluster).client_files();
    let [ca, cert, key] = files.each_ref().map(|path| path.to_str().unwrap());
    let shown = ["--ca", ca, "--cert", cert, "--cert-key", key];
    let run = |arguments: &[&str]| brickyard(&[arguments, &shown].concat());

    let created = run(&[
        "table",
        "create",
        "t",
        "--address",
        &node,
        "--replicas",
        "2",
    ]);
    assert!(created.status.success(), "{}", created.text());
    cluster.wait_until_whole("t", 2);
    let folder = tempfile::tempdir().unwrap();
    let words = folder.path().join("words");
    std::fs::write(&words, "one\ntwo\nthree\n").unwrap();
    let words = words.to_str().unwrap();
    let loaded = run(&[
        "load", words, "--format", "words", "--table", "t", "--to", &node,
    ]);
    assert!(loaded.status.success(), "{}", loaded.text());
    let dumped = run(&["dump", "--table", "t", "--from", &node]);
    assert!(dumped.status.success(), "{}", dumped.text());
    assert!(dumped.stdout.contains("three"), "{}", dumped.text());
    for how in [["--through", "address"], ["--through", "client"]] {
        let bench = [
            "bench",
            "--address",
            &node,
            "--count",
            "2000",
            "--keys",
            "100",
        ];
        let measured = run(&[&bench[..], &how].concat());
        assert!(measured.status.success(), "{}", measured.text());
    }
    let status = run(&["status", "--http", &http]);
    assert!(
        status.status.code().is_some_and(|it| it == 0 || it == 4),
        "{}",
        status.text()
    );
    assert!(status.text().contains(&node), "{}", status.text());

    // Whoever does not speak it, or believes somebody else, is told in words.
    let plain = brickyard(&["table", "list", "--address", &node]);
    assert!(!plain.status.success(), "{}", plain.text());
    let elsewhere = Certificates::new();
    let other = elsewhere.path("ca.crt");
    let other = other.to_str().unwrap();
    let refused = brickyard(&["table", "list", "--address", &node, "--ca", other]);
    assert!(refused.text().contains("authority"), "{}", refused.text());
    let nameless = brickyard(&["table", "list", "--address", &node, "--ca", ca]);
    assert!(
        nameless.text().contains("it wants a certificate"),
        "{}",
        nameless.text()
    );
}

#[test]
fn a_stranger_at_clients_ports_is_answered_by_nothing_but_tls() {
    let mut cluster = Cluster::start_secure(&[0], 1, &[]);
    let port = cluster.port(0);
    for port in [port, cluster.brick_port(0), port + HTTP_OFFSET] {
        let mut plain = TcpStream::connect(("127.0.0.1", port)).unwrap();
        plain
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        plain.write_all(b"*1\r\n$4\r\nPING\r\n").unwrap();
        let mut heard = Vec::new();
        // A reset ends it too.
        drop(plain.read_to_end(&mut heard));
        // An alert of TLS has 7 bytes, and begins with its kind.
        assert!(
            heard.is_empty() || (heard.len() == 7 && heard[0] == 21),
            "{heard:?}"
        );
    }
    let nameless = certificates(&mut cluster).dialer_of(None);
    assert!(!lets_in(&cluster, 0, Some(&nameless)));
    let own = certificates(&mut cluster).dialer();
    assert!(lets_in(&cluster, 0, Some(&own)));
}

/// Clients that write and read until they are told to stop, long-lived ones and such as are made anew all the time.
struct Load {
    is_over: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    thread: JoinHandle<Result<(), String>>,
}

impl Load {
    fn start(cluster: &mut Cluster) -> Self {
        let seeds = cluster.seeds();
        let tls = certificates(cluster).dialer();
        let (is_over, done) = (Arc::default(), Arc::default());
        let (over, count) = (Arc::clone(&is_over), Arc::clone(&done));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.expect("a runtime").block_on(async {
                let options = || Options {
                    tls: Some(tls.clone()),
                    deadline: Duration::from_secs(20),
                    ..Options::new(seeds.clone())
                };
                tokio::try_join!(
                    call_all_the_time(options, "long", u64::MAX, &over, &count),
                    call_all_the_time(options, "short", CALLS, &over, &count),
                )
                .map(|_| ())
            })
        });
        Self {
            is_over,
            done,
            thread,
        }
    }

    /// Waits until so many more calls have come to a good end, or some to a bad one.
    fn go_on(&self, calls: u64) {
        let wanted = self.done.load(Ordering::Relaxed) + calls;
        wait_for("calls under load", || {
            let is_enough = self.done.load(Ordering::Relaxed) >= wanted;
            (is_enough || self.thread.is_finished()).then_some(())
        });
    }

    fn end(self) -> u64 {
        self.is_over.store(true, Ordering::Relaxed);
        let outcome = self.thread.join().expect("no panic");
        assert_eq!(outcome, Ok(()), "an error at a client");
        self.done.load(Ordering::Relaxed)
    }
}

/// Each key has the number of the last call that wrote it.
async fn call_all_the_time(
    options: impl Fn() -> Options,
    name: &str,
    calls: u64,
    is_over: &AtomicBool,
    done: &AtomicU64,
) -> Result<(), String> {
    let mut number = 0_u64;
    while !is_over.load(Ordering::Relaxed) {
        let client = Client::connect(options()).await;
        let table = client.map_err(|error| error.to_string())?.table("t");
        for _ in 0..calls {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let key = format!("{name}:{}", number % 100);
            let value = number.to_string();
            let set = table.set(key.clone(), value.clone()).await;
            set.map_err(|error| error.to_string())?;
            let got = table.get(key).await.map_err(|error| error.to_string())?;
            if got.as_deref() != Some(value.as_bytes()) {
                return Err(format!("{got:?} was read where {value} was written"));
            }
            number += 1;
            done.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Waits until every node shows clients the certificate that it has in its file now.
fn wait_until_shown(cluster: &mut Cluster) {
    for at in 0..cluster.len() {
        let wanted = certificates(cluster).certificate(&node_name(at));
        wait_for("a node to show its new certificate", || {
            let mut client = cluster.try_client(at).ok()?;
            client.try_call(&["PING"]).ok()?;
            (client.shown()? == wanted).then_some(())
        });
    }
}

fn issue_all(cluster: &mut Cluster) {
    let nodes = cluster.len();
    let certificates = certificates(cluster);
    for at in 0..nodes {
        certificates.issue_node(&node_name(at));
    }
    certificates.issue_own();
}

#[test]
fn all_certificates_and_the_authority_are_replaced_under_load() {
    let mut cluster = Cluster::start_secure(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "3"]);
    cluster.wait_until_whole("t", 3);
    let load = Load::start(&mut cluster);
    load.go_on(200);

    // All certificates, of the same authority.
    certificates(&mut cluster).issue_client("old");
    issue_all(&mut cluster);
    wait_until_shown(&mut cluster);
    load.go_on(200);

    // A file that is no certificate changes nothing.
    let own = format!("{}.crt", node_name(0));
    let good = std::fs::read(certificates(&mut cluster).path(&own)).unwrap();
    certificates(&mut cluster).put(&own, b"no certificate");
    wait_for("word of it in the log", || {
        cluster.logs().contains("cannot be used").then_some(())
    });
    assert!(cluster.try_client(0).unwrap().try_call(&["PING"]).is_ok());
    certificates(&mut cluster).put(&own, &good);
    load.go_on(100);

    // Everybody believes both authorities, then has a certificate of the new one, then believes that alone.
    certificates(&mut cluster).replace_authority();
    certificates(&mut cluster).believe(&[0, 1]);
    certificates(&mut cluster).issue_client("new");
    let new = certificates(&mut cluster).dialer_of(Some("new"));
    for at in 0..cluster.len() {
        wait_for("a node to believe the new authority", || {
            lets_in(&cluster, at, Some(&new)).then_some(())
        });
    }
    load.go_on(200);
    issue_all(&mut cluster);
    wait_until_shown(&mut cluster);
    load.go_on(200);
    let old = certificates(&mut cluster).dialer_of(Some("old"));
    assert!(lets_in(&cluster, 0, Some(&old)), "it is believed as yet");
    certificates(&mut cluster).believe(&[1]);
    for at in 0..cluster.len() {
        wait_for("a node to believe the old authority no more", || {
            (!lets_in(&cluster, at, Some(&old))).then_some(())
        });
    }
    load.go_on(200);
    let calls = load.end();
    println!("{calls} calls without an error");

    // Nodes meet by the new ones alone.
    cluster.kill(0);
    cluster.launch(0);
    cluster.wait_until_formed();
    cluster.wait_until_whole("t", 3);
}

#[test]
fn nodes_of_one_machine_make_certificates_for_themselves() {
    let home = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::start_at_home(&[0, 1, 2], 1, home.path());
    cluster.create_table("t", &["REPLICAS", "3"]);
    cluster.wait_until_whole("t", 3);
    let made = home.path().join("brickyard/certificates");
    let names = std::fs::read_dir(&made).unwrap().count();
    assert_eq!(names, 3, "the authority, one certificate and its key");
    // A node without them is a stranger.
    let stranger = cluster.add();
    wait_for("word of a stranger", || {
        let is_told = cluster.logs().contains("somebody was not let in");
        is_told.then_some(())
    });
    assert!(cluster.try_client(0).unwrap().try_call(&["PING"]).is_ok());
    cluster.kill(stranger);
}
