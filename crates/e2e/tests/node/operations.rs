//! What an operator relies on: health, metrics, a graceful stop, checkpoints.

use brickyard_e2e::client::Client;
use brickyard_e2e::deadline::{PATIENCE, try_wait_for, wait_for};
use brickyard_e2e::process::run;
use brickyard_e2e::server::{Server, Setup, program};
use brickyard_e2e::skip;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Status and body of a `GET`.
fn get(port: u16, path: &str) -> (u16, String) {
    get_with(port, path, "")
}

/// The same with a line of the head.
fn get_with(port: u16, path: &str, line: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("HTTP is served");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{line}Connection: close\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .expect("the request is sent");
    let mut text = String::new();
    stream
        .read_to_string(&mut text)
        .expect("the answer is text");
    let status = text
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .expect("a status line");
    let body = text
        .split_once("\r\n\r\n")
        .map(|(_, body)| body.to_owned())
        .unwrap_or_default();
    (status, body)
}

#[test]
fn node_has_huge_pages_once_it_is_large() {
    let own = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if !own.lines().any(|line| line == "THP_enabled:\t1") {
        let reason =
            "this process may not have them, or runs on Linux before 5.0, which does not say so";
        return skip::announce("huge pages", reason);
    }
    let mut server = Setup::brickyard(1).start();
    let may = |server: &mut Server| server.process().may_have_huge_pages();
    assert!(!may(&mut server), "an empty node has them");
    let mut client = server.connect();
    let value = vec![b'v'; 1 << 20];
    for number in 0..48 {
        let reply = client.call(&[b"SET", format!("k{number}").as_bytes(), &value]);
        assert!(reply.is_ok(), "{reply}");
    }
    wait_for("a large node to have huge pages", || {
        client.line("PING");
        may(&mut server).then_some(())
    });
    server.restart();
    let mut client = server.connect();
    assert_eq!(client.line("DBSIZE").as_integer(), Some(48));
    wait_for("a node that is large again to have huge pages", || {
        client.line("PING");
        may(&mut server).then_some(())
    });
}

#[test]
fn health_and_metrics_are_served() {
    let server = Setup::brickyard(2).start();
    let port = server.http_port();
    assert_eq!(get(port, "/livez").0, 200);
    assert_eq!(get(port, "/readyz").0, 200);
    assert_eq!(get(port, "/nowhere").0, 404);
    let mut client = server.connect();
    for number in 0..100 {
        client.must(&["SET", &format!("k{number}"), "v"]);
    }
    let metrics = wait_for("the metrics to count the keys", || {
        let (status, body) = get(port, "/metrics");
        assert_eq!(status, 200);
        let keys: f64 = body
            .lines()
            .filter(|line| line.contains("keys") && !line.starts_with('#'))
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .sum();
        (keys >= 100.0).then_some(body)
    });
    for line in metrics
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        let value = line.rsplit(' ').next().unwrap_or_default();
        assert!(value.parse::<f64>().is_ok(), "no sample: {line}");
        assert!(
            line.starts_with(|letter: char| letter.is_ascii_lowercase()),
            "no name: {line}"
        );
    }
}

/// Who has none of the tokens learns from HTTP that the node lives and whether it serves, and nothing else.
#[test]
fn http_with_tokens_is_for_those_who_have_one() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), "an-old-token-of-ours\nthe-new-token-of-ours\n").expect("written");
    let path = file.path().to_str().expect("a plain path");
    let server = Setup::brickyard(1)
        .arguments(&["--http-tokens", path])
        .start();
    let port = server.http_port();
    assert_eq!(get(port, "/livez"), (200, "ok\n".to_owned()));
    assert_eq!(get(port, "/readyz").0, 200);
    let wrong = "Authorization: Bearer the-new-token-of-others\r\n";
    let right = "Authorization: Bearer the-new-token-of-ours\r\n";
    for path in ["/", "/health", "/metrics", "/status"] {
        let refused = get(port, path);
        assert_eq!(refused.0, 401, "{path}");
        assert!(refused.1.starts_with("a token is needed"), "{}", refused.1);
        assert_eq!(get_with(port, path, wrong), refused, "{path}");
        assert_eq!(get_with(port, path, right).0, 200, "{path}");
    }
    // Not even which paths there are.
    assert_eq!(get(port, "/nowhere").0, 401);
    assert_eq!(get_with(port, "/nowhere", right).0, 404);

    let address = format!("127.0.0.1:{port}");
    let status = |token: Option<&str>| {
        let mut command = program();
        command
            .args(["status", "--http", &address])
            .env_remove("BRICKYARD_HTTP_TOKEN");
        command.envs(token.map(|it| ("BRICKYARD_HTTP_TOKEN", it)));
        run(&mut command, b"", PATIENCE).expect("status ends")
    };
    let finished = status(None);
    assert!(!finished.status.success());
    assert!(
        finished.text().contains("BRICKYARD_HTTP_TOKEN"),
        "{}",
        finished.text()
    );
    let finished = status(Some("the-new-token-of-others"));
    assert!(!finished.status.success());
    // Such as `$(cat file)` of one with a line end too many.
    wait_for("the status of a whole node", || {
        let finished = status(Some("an-old-token-of-ours\n"));
        finished.status.success().then_some(())
    });
}

/// The status of a `GET /` on a connection that goes on.
fn ask_again(stream: &mut TcpStream, token: &str) -> u16 {
    let request =
        format!("GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .expect("the request is sent");
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("an answer");
        answer.extend_from_slice(&byte);
    }
    let head = String::from_utf8(answer).expect("text");
    let line = |name: &str| {
        let mut lines = head.lines();
        lines
            .find_map(|line| line.strip_prefix(name))
            .map(str::to_owned)
    };
    let length = line("content-length: ").and_then(|it| it.parse().ok());
    let mut body = vec![0; length.expect("a length")];
    stream.read_exact(&mut body).expect("a body");
    let code = line("HTTP/1.1 ").and_then(|it| it.get(..3)?.parse().ok());
    code.expect("a status line")
}

/// Tokens are put in and taken out while the node runs; a file that cannot be used changes nothing.
#[test]
fn tokens_are_read_again_without_a_restart() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let write = |text: &str| std::fs::write(file.path(), text).expect("written");
    write("an-old-token-of-ours\n");
    let path = file.path().to_str().expect("a plain path");
    let mut server = Setup::brickyard(1)
        .arguments(&["--http-tokens", path])
        .start();
    let port = server.http_port();
    let may = |token: &str| {
        let header = format!("Authorization: Bearer {token}\r\n");
        get_with(port, "/metrics", &header).0 == 200
    };
    assert!(may("an-old-token-of-ours") && !may("the-new-token-of-ours"));
    let mut kept = TcpStream::connect(("127.0.0.1", port)).expect("HTTP is served");
    kept.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    assert_eq!(ask_again(&mut kept, "an-old-token-of-ours"), 200);

    // By itself.
    write("an-old-token-of-ours\nthe-new-token-of-ours\n");
    wait_for("the new token to be known", || {
        may("the-new-token-of-ours").then_some(())
    });
    assert!(may("an-old-token-of-ours"));

    write("the-new-token-of-ours\nshort\n");
    server.process().signal("HUP");
    let faulty = "HTTP goes by the tokens of before: the files have changed and cannot be used";
    let line = wait_for("the log to say what is wrong", || {
        let log = server.log();
        log.lines()
            .find(|line| line.contains(faulty))
            .map(str::to_owned)
    });
    // Where, what, and what to do; and no token.
    for part in [
        path,
        "line 2 is too short",
        "put a token of 16 bytes or more",
    ] {
        assert!(line.contains(part), "no {part:?} in {line}");
    }
    assert!(!line.contains("token-of-ours"), "{line}");
    assert!(may("an-old-token-of-ours") && may("the-new-token-of-ours"));

    // Told to, at once; also on a connection that is there.
    write("the-new-token-of-ours\n");
    server.process().signal("HUP");
    wait_for("the old token to be refused", || {
        (!may("an-old-token-of-ours")).then_some(())
    });
    assert!(may("the-new-token-of-ours"));
    assert_eq!(ask_again(&mut kept, "an-old-token-of-ours"), 401);
    assert_eq!(ask_again(&mut kept, "the-new-token-of-ours"), 200);
}

/// A stopping server finishes what it has begun, says so with its status, and keeps everything.
#[test]
fn sigterm_stops_gracefully_and_loses_nothing() {
    let mut server = Setup::brickyard(2).start();
    let mut client = server.connect();
    for number in 0..1_000 {
        client.must(&["SET", &format!("k{number}"), &number.to_string()]);
    }
    server.stop();
    assert!(
        Client::try_connect(server.port()).is_err(),
        "a stopped server still listens"
    );
    server.restart();
    let mut client = server.connect();
    for number in 0..1_000 {
        assert_eq!(
            client.call(&["GET", &format!("k{number}")]).text(),
            number.to_string()
        );
    }
}

#[test]
fn shutdown_stops_as_sigterm_does() {
    for request in [
        &["SHUTDOWN"][..],
        &["SHUTDOWN", "SAVE"],
        &["SHUTDOWN", "NOSAVE"],
    ] {
        let mut server = Setup::brickyard(2).start();
        let mut client = server.connect();
        client.must(&["SET", "k", "v"]);
        client.send(request).expect("the request is sent");
        let rest = client.receive_to_end().expect("the connection is closed");
        assert!(
            rest.is_empty(),
            "SHUTDOWN was answered with {}",
            rest.escape_ascii()
        );
        assert!(server.process().wait().success(), "{}", server.log());
        server.restart();
        assert_eq!(server.connect().line("GET k").text(), "v");
    }
}

#[test]
fn checkpoints_answer_as_saving_does() {
    let server = Setup::brickyard(2).start();
    let mut client = server.connect();
    client.must(&["SET", "k", "v"]);
    assert!(client.line("SAVE").is_ok());
    let reply = client.line("BGSAVE");
    assert!(reply.text().starts_with("Background saving"), "{reply}");
    let saved = client.line("LASTSAVE").as_integer().expect("a time");
    assert!(saved > 1_500_000_000, "{saved}");
    assert_eq!(client.line("GET k").text(), "v");
}

#[test]
fn info_has_the_fields_that_exporters_read() {
    let server = Setup::brickyard(2).start();
    let mut client = server.connect();
    client.must(&["SET", "k", "v"]);
    client.line("GET k");
    client.line("GET nosuch");
    let fields = [
        "redis_version:",
        "redis_mode:",
        "os:",
        "tcp_port:",
        "uptime_in_seconds:",
        "run_id:",
        "loading:0",
        "connected_clients:",
        "used_memory:",
        "used_memory_human:",
        "maxmemory:",
        "total_commands_processed:",
        "total_connections_received:",
        "keyspace_hits:1",
        "keyspace_misses:1",
        "expired_keys:",
        "role:master",
        "master_repl_offset:",
        "connected_slaves:0",
        "cluster_enabled:0",
        "db0:keys=1,",
    ];
    // Bricks publish their counters now and then, not with every command.
    let mut text = String::new();
    let complete = try_wait_for(Duration::from_secs(10), || {
        text = client.line("INFO").text();
        let has = |field: &&str| text.lines().any(|line| line.starts_with(*field));
        fields.iter().all(has).then_some(())
    });
    let missing: Vec<&&str> = fields
        .iter()
        .filter(|field| !text.lines().any(|line| line.starts_with(**field)))
        .collect();
    assert!(complete.is_some(), "no {missing:?} in\n{text}");
    let mut brick = server.connect_brick(0);
    assert!(brick.line("INFO").text().contains("cluster_enabled:1"));
    let section = client.line("INFO replication").text();
    assert!(
        section.contains("role:master") && !section.contains("used_memory:"),
        "{section}"
    );
}

#[test]
fn one_slow_start_is_never_half_a_server() {
    // Every port answers as soon as the node port does.
    for _ in 0..3 {
        let server = Setup::brickyard(3).start();
        for brick in 0..3 {
            assert_eq!(server.connect_brick(brick).line("PING").text(), "PONG");
        }
        assert_eq!(get(server.http_port(), "/readyz").0, 200);
        assert_eq!(server.connect().line("DBSIZE").text(), ":0");
    }
}
