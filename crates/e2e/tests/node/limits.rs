//! What a user may take of a node: operations and bytes a second, connections; over all its ports.

use crate::users::hash;
use brickyard_e2e::client::Client;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::server::{Server, Setup};
use brickyard_e2e::value::Value;
use std::fs;
use std::time::Instant;

/// A server whose user `ann` has these rules besides, and who made her.
fn start(rules: &str) -> (Server, Client) {
    let server = Setup::brickyard(2).start();
    let mut root = server.connect();
    let made = format!("ACL SETUSER ann on >secret ~* +@all {rules}");
    root.must(&made.split(' ').collect::<Vec<_>>());
    (server, root)
}

fn login(mut client: Client) -> Client {
    wait_for("the login", || {
        let reply = client.try_call(&["AUTH", "ann", "secret"]).ok()?;
        reply.is_ok().then_some(())
    });
    client
}

/// A client at the node's port, and one at each brick's.
fn everywhere(server: &Server) -> Vec<Client> {
    let bricks = (0..2).map(|brick| server.connect_brick(brick));
    std::iter::once(server.connect())
        .chain(bricks)
        .map(login)
        .collect()
}

fn is_limit(reply: &Value) -> bool {
    reply.is_error_with("LIMIT user 'ann'")
}

/// How often a field of `INFO` was counted.
fn counted(root: &mut Client, field: &str) -> u64 {
    let info = root.line("INFO stats").text();
    let line = info.lines().find_map(|line| line.strip_prefix(field));
    let value = line.and_then(|line| line.strip_prefix(':'));
    value
        .and_then(|value| value.trim().parse().ok())
        .unwrap_or_else(|| panic!("no {field} in {info}"))
}

#[test]
fn operations_a_second_are_the_nodes_whoever_asks_where() {
    const RATE: f64 = 1_000.0;
    const WANTED: u64 = 2_000;
    let (server, mut root) = start("limit:ops=1000");
    let mut anns = everywhere(&server);
    let begin = Instant::now();
    let (mut accepted, mut refused, mut others) = (0, 0, 0);
    while accepted < WANTED {
        for ann in &mut anns {
            let pipeline = "PING\r\n".repeat(10);
            ann.send_raw(pipeline.as_bytes()).expect("sent");
            for _ in 0..10 {
                let reply = ann.receive().expect("a reply");
                if reply.text() == "PONG" {
                    accepted += 1;
                } else {
                    assert!(is_limit(&reply), "{reply}");
                    refused += 1;
                }
            }
        }
        // Who has no limit is never refused, and nor is what is said of it.
        assert_eq!(root.line("PING").text(), "PONG");
        others += 1;
    }
    let elapsed = begin.elapsed().as_secs_f64();
    // Whatever the machine did meanwhile: no more than the rate and a burst.
    let most = elapsed.mul_add(RATE, RATE / 10.0);
    println!(
        "{accepted} operations in {elapsed:.3} s, {refused} refused; {most:.0} would be too many; {others} of others"
    );
    assert!(accepted as f64 <= most + 1.0, "{accepted} in {elapsed} s");
    assert!(refused > 0);
    assert_eq!(counted(&mut root, "refused_limit"), refused);
}

#[test]
fn bytes_a_second_are_those_of_requests_and_replies() {
    const RATE: f64 = 2_000_000.0;
    const VALUE: usize = 50_000;
    const WANTED: usize = 80;
    let (server, mut root) = start("limit:bytes=2000000");
    root.must(&["SET", "k", &"v".repeat(VALUE)]);
    let mut anns = [login(server.connect()), login(server.connect())];
    let begin = Instant::now();
    let (mut read, mut written, mut refused) = (0, 0, 0);
    while read + written < WANTED {
        let reply = anns[0].call(&["GET", "k"]);
        match is_limit(&reply) {
            true => refused += 1,
            false => read += usize::from(reply.text().len() == VALUE),
        }
        let reply = anns[1].call(&["SET", "k", &"w".repeat(VALUE)]);
        match is_limit(&reply) {
            true => refused += 1,
            false => written += usize::from(reply.is_ok()),
        }
    }
    let elapsed = begin.elapsed().as_secs_f64();
    let bytes = ((read + written) * VALUE) as f64;
    // A burst, and what was admitted before it was known how long: one request and its reply of each connection.
    let most = elapsed.mul_add(RATE, RATE / 10.0) + (2 * VALUE) as f64;
    println!(
        "{read} reads and {written} writes, {bytes} bytes, in {elapsed:.3} s, {refused} refused; {most:.0} would be too many"
    );
    assert!(bytes <= most, "{bytes} in {elapsed} s");
    assert!(refused > 0);
    assert_eq!(root.call(&["GET", "k"]).text().len(), VALUE);
}

#[test]
fn connections_of_a_user_are_counted_over_all_ports_and_given_back() {
    let (server, mut root) = start("limit:connections=3");
    let mut anns = everywhere(&server);
    let mut fourth = server.connect_brick(1);
    for _ in 0..3 {
        let reply = fourth.call(&["AUTH", "ann", "secret"]);
        assert!(
            reply.is_error_with("LIMIT user 'ann' may have 3 connections to a node"),
            "{reply}"
        );
        assert_eq!(fourth.line("ACL WHOAMI").text(), "default");
    }
    // One that ends makes room, be it closed, killed, or somebody else by now.
    drop(anns.pop());
    let fourth = login(fourth);
    let id = anns[0].line("CLIENT ID").as_integer();
    let id = id.expect("a number").to_string();
    let killed = root.call(&["CLIENT", "KILL", "ID", &id]);
    assert_eq!(killed.as_integer(), Some(1));
    let mut fifth = login(server.connect());
    assert_eq!(fifth.line("RESET").text(), "RESET");
    let sixth = login(server.connect());
    assert!(is_limit(&fifth.call(&["AUTH", "ann", "secret"])));
    drop((fourth, sixth));
    // A higher limit counts at once.
    root.must(&["ACL", "SETUSER", "ann", "limit:connections=10"]);
    let _more: Vec<Client> = (0..7).map(|_| login(server.connect())).collect();
}

#[test]
fn limits_of_users_of_the_file_hold_and_wrong_ones_are_told() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let path = file.path().to_str().expect("a plain path").to_owned();
    let write = |limits: &str| {
        let text: String = [("root", ""), ("ann", limits)]
            .iter()
            .map(|(name, limits)| {
                let hash = hash("secret");
                format!("[[user]]\nname = \"{name}\"\npassword_hash = \"{hash}\"\nread = [\"*\"]\nadmin = [\"*\"]\n{limits}")
            })
            .collect();
        fs::write(file.path(), text).expect("the file can be written");
    };
    for (limits, why) in [
        ("max_ops = 20_000_000\n", "10,000,000 at most"),
        ("max_ops = \"many\"\n", "wrong type"),
        ("max_operations = 5\n", "no such key"),
    ] {
        write(limits);
        let finished = brickyard_e2e::server::brickyard(&["config", "check", "--config", &path]);
        assert!(!finished.status.success(), "{limits}");
        assert!(finished.text().contains(why), "{}", finished.text());
    }
    write("max_connections = 2\nmax_ops = 10\nmax_bytes = \"10MiB\"\n");
    let printed = brickyard_e2e::server::brickyard(&["config", "print", "--config", &path]);
    for line in [
        "max_connections = 2\n",
        "max_ops = 10\n",
        "max_bytes = \"10MiB\"\n",
    ] {
        assert!(printed.stdout.contains(line), "{line}: {}", printed.text());
    }
    let server = Setup::brickyard(1)
        .arguments(&["--config", &path, "--peer-port", "0"])
        .start();
    let mut ann = login(server.connect());
    let replies = (0..50).map(|_| ann.line("PING"));
    assert!(replies.filter(is_limit).count() > 0);
    let _second = login(server.connect_brick(0));
    assert!(is_limit(&server.connect().call(&["AUTH", "ann", "secret"])));
    let mut root = server.connect();
    root.must(&["AUTH", "root", "secret"]);
    let shown = root.line("ACL GETUSER ann").to_string();
    assert!(
        shown.contains("limit:connections=2 limit:ops=10 limit:bytes=10485760"),
        "{shown}"
    );
}
