//! A real node in this process: real sockets, a real directory.

use brickyard_server::config::{Config, Fields, HttpListen, hash_password};
use brickyard_server::config::{Origin, UserEntry};
use brickyard_server::{RunningNode, Signals, StartError};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

fn config(data: &Path, bricks: u32) -> Config {
    let fields = Fields {
        listen: "127.0.0.1:0".parse().expect("an address"),
        http: HttpListen::Auto,
        data: data.display().to_string(),
        bricks,
        segment_bytes: brickyard_server::config::ByteSize::mebibytes(4),
        ..Fields::default()
    };
    Config {
        fields,
        ..Config::default()
    }
}

fn start(config: &Config) -> RunningNode {
    RunningNode::start(config, Signals::Ignore).expect("the node starts")
}

fn stop(node: RunningNode) {
    node.stopper().stop();
    node.wait();
}

struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connected");
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .expect("a timeout");
        Self(BufReader::new(stream))
    }

    fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).expect("sent");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a reply");
        line.trim_end().to_owned()
    }

    /// The first line of the reply, with the value of a bulk string behind it.
    fn call(&mut self, command: &str) -> String {
        self.send(format!("{command}\r\n").as_bytes());
        let line = self.line();
        match line
            .strip_prefix('$')
            .and_then(|len| len.parse::<usize>().ok())
        {
            Some(len) => {
                let mut value = vec![0; len + 2];
                self.0.read_exact(&mut value).expect("a value");
                String::from_utf8_lossy(&value[..len]).into_owned()
            }
            None => line,
        }
    }
}

fn http(address: Option<SocketAddr>, path: &str) -> (u16, String) {
    http_with(address, path, "")
}

fn http_with(address: Option<SocketAddr>, path: &str, header: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address.expect("HTTP is on")).expect("connected");
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n{header}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .expect("a status");
    (status, body.to_owned())
}

#[test]
fn keeps_what_was_written_over_a_restart() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = config(directory.path(), 1);
    let node = start(&config);
    let mut client = Client::connect(node.addresses().node);
    assert_eq!(client.call("PING"), "+PONG");
    assert_eq!(client.call("SET key value"), "+OK");
    assert_eq!(client.call("GET key"), "value");
    for number in 0..1000 {
        client.send(format!("SET key:{number} {number}\r\n").as_bytes());
    }
    for _ in 0..1000 {
        assert_eq!(client.line(), "+OK");
    }
    stop(node);

    let node = start(&config);
    let mut client = Client::connect(node.addresses().node);
    assert_eq!(client.call("GET key"), "value");
    assert_eq!(client.call("DBSIZE"), ":1001");
    assert_eq!(client.call("GET key:999"), "999");
    stop(node);
}

#[test]
fn node_port_serves_every_key_and_brick_ports_their_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let node = start(&config(directory.path(), 3));
    let addresses = node.addresses().clone();
    let mut client = Client::connect(addresses.node);
    for number in 0..100 {
        assert_eq!(client.call(&format!("SET key:{number} v{number}")), "+OK");
    }
    // Connections are handed out in turn: these are on other bricks.
    for _ in 0..3 {
        let mut other = Client::connect(addresses.node);
        for number in 0..100 {
            assert_eq!(
                other.call(&format!("GET key:{number}")),
                format!("v{number}")
            );
        }
    }
    let mut served = 0;
    for address in &addresses.bricks {
        let mut brick = Client::connect(*address);
        for number in 0..100 {
            let reply = brick.call(&format!("GET key:{number}"));
            match reply.strip_prefix("-MOVED ") {
                Some(target) => {
                    let port: u16 = target
                        .rsplit(':')
                        .next()
                        .and_then(|port| port.parse().ok())
                        .expect(target);
                    assert!(
                        addresses.bricks.iter().any(|brick| brick.port() == port),
                        "{target}"
                    );
                }
                None => {
                    assert_eq!(reply, format!("v{number}"));
                    served += 1;
                }
            }
        }
    }
    assert_eq!(served, 100, "each key has one brick");
    stop(node);
}

#[test]
fn tables_survive_and_every_brick_knows_them() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = config(directory.path(), 2);
    let node = start(&config);
    let mut client = Client::connect(node.addresses().node);
    assert_eq!(client.call("TABLE CREATE orders DURABILITY fsync"), "+OK");
    for _ in 0..2 {
        let mut other = Client::connect(node.addresses().node);
        assert_eq!(other.call("TABLE USE orders"), "+OK");
        assert_eq!(other.call("SET order 1"), "+OK");
    }
    stop(node);
    let node = start(&config);
    let mut client = Client::connect(node.addresses().node);
    assert_eq!(client.call("EXISTS order"), ":0");
    assert_eq!(client.call("TABLE USE orders"), "+OK");
    assert_eq!(client.call("GET order"), "1");
    stop(node);
}

#[test]
fn second_node_on_the_same_directory_or_port_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let first = config(directory.path(), 1);
    let node = start(&first);
    let error = RunningNode::start(&first, Signals::Ignore).expect_err("the directory is in use");
    assert!(
        error.to_string().contains("is in use by process"),
        "{error}"
    );

    let other = tempfile::tempdir().expect("a directory");
    let mut second = config(other.path(), 1);
    second.fields.listen = node.addresses().node;
    let error = RunningNode::start(&second, Signals::Ignore).expect_err("the port is in use");
    let text = error.to_string();
    assert!(
        text.contains("in use") && text.contains("the node port"),
        "{text}"
    );
    stop(node);
}

#[test]
fn number_of_bricks_is_fixed_by_the_directory() {
    let directory = tempfile::tempdir().expect("a directory");
    stop(start(&config(directory.path(), 2)));
    let error =
        RunningNode::start(&config(directory.path(), 3), Signals::Ignore).expect_err("refused");
    assert!(
        matches!(
            error,
            StartError::Bricks {
                asked: 3,
                have: 2,
                ..
            }
        ),
        "{error}"
    );
    let node = start(&config(directory.path(), 0));
    assert_eq!(node.addresses().bricks.len(), 2);
    stop(node);
}

#[test]
fn lost_catalog_is_not_replaced_by_an_empty_one() {
    let directory = tempfile::tempdir().expect("a directory");
    stop(start(&config(directory.path(), 1)));
    // The second is a copy of what the first one says.
    for file in ["control", "catalog"] {
        std::fs::remove_file(directory.path().join(file)).expect("removed");
    }
    let error =
        RunningNode::start(&config(directory.path(), 1), Signals::Ignore).expect_err("refused");
    assert!(
        matches!(error, StartError::CatalogMissing { bricks: 1, .. }),
        "{error}"
    );
}

#[test]
fn one_client_too_many_is_told_so() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut config = config(directory.path(), 1);
    config.fields.maxclients = 2;
    let node = start(&config);
    let mut first = Client::connect(node.addresses().node);
    let mut second = Client::connect(node.addresses().node);
    assert_eq!(first.call("PING"), "+PONG");
    assert_eq!(second.call("PING"), "+PONG");
    let mut third = Client::connect(node.addresses().node);
    assert_eq!(third.line(), "-ERR max number of clients reached");
    drop(first);
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    loop {
        // The node hears of the end of the first when its loop comes to it.
        let mut next = Client::connect(node.addresses().node);
        next.send(b"PING\r\n");
        if next.line() == "+PONG" {
            break;
        }
        assert!(
            std::time::Instant::now() < deadline,
            "the place is not given back"
        );
    }
    stop(node);
}

#[test]
fn too_large_request_is_refused_and_the_rest_is_served() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut config = config(directory.path(), 1);
    config.fields.request_bytes_max = brickyard_server::config::ByteSize::mebibytes(1);
    let node = start(&config);
    let mut client = Client::connect(node.addresses().node);
    let part = [b"$60000\r\n", &vec![b'x'; 60_000][..], b"\r\n"].concat();
    client.send(b"*1000\r\n$4\r\nMSET\r\n");
    let stream = client.0.get_mut();
    for _ in 0..999 {
        if stream.write_all(&part).is_err() {
            break;
        }
    }
    let mut other = Client::connect(node.addresses().node);
    assert_eq!(other.call("PING"), "+PONG");
    stop(node);
}

#[test]
fn health_metrics_and_status_are_served() {
    let directory = tempfile::tempdir().expect("a directory");
    let node = start(&config(directory.path(), 2));
    let address = node.addresses().http;
    let mut client = Client::connect(node.addresses().node);
    assert_eq!(client.call("SET a 1"), "+OK");
    assert_eq!(http(address, "/livez"), (200, "ok\n".to_owned()));
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while http(address, "/readyz") != (200, "ready\n".to_owned()) {
        assert!(std::time::Instant::now() < deadline, "not ready");
    }
    let (status, metrics) = http(address, "/metrics");
    assert_eq!(status, 200);
    for wanted in [
        "# TYPE brickyard_server_connections gauge",
        "brickyard_server_connections{brick=\"0\"} ",
        "brickyard_brick_commands_total{brick=\"1\"} ",
        "brickyard_brick_refused_total{brick=\"0\",reason=\"disk\"} 0",
        "brickyard_store_append_seconds_bucket{brick=\"0\",le=\"+Inf\"} ",
        "brickyard_table_keys{brick=\"0\",table=\"default\"} ",
        "brickyard_server_ready 1",
        "brickyard_brick_busy_ratio{brick=\"0\"} ",
        "brickyard_replication_replicas{table=\"default\",role=\"primary\"} ",
        "brickyard_control_is_leader 1",
        "brickyard_control_lease_held 1",
    ] {
        assert!(
            metrics.contains(wanted),
            "{wanted} is missing in\n{metrics}"
        );
    }
    let (status, text) = http(address, "/status");
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(status, 200);
    assert_eq!(value["phase"], "ready");
    assert_eq!(value["tables"][0]["name"], "default");
    assert_eq!(value["bricks"].as_array().map(Vec::len), Some(2));
    assert_eq!(http(address, "/nothing").0, 404);
    stop(node);
}

#[test]
fn users_have_passwords_and_rights() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut config = config(directory.path(), 1);
    let mut user = UserEntry::at(Origin::Default);
    user.name = "reader".to_owned();
    user.password_hash = Some(hash_password(b"secret").expect("hashed"));
    user.read = vec!["*".to_owned()];
    config.users.push(user);
    let node = start(&config);
    let mut client = Client::connect(node.addresses().node);
    assert!(client.call("GET a").starts_with("-NOAUTH"));
    assert!(client.call("AUTH reader wrong").starts_with("-WRONGPASS"));
    assert!(client.call("AUTH nobody secret").starts_with("-WRONGPASS"));
    assert_eq!(client.call("AUTH reader secret"), "+OK");
    assert_eq!(client.call("EXISTS a"), ":0");
    assert!(client.call("SET a 1").starts_with("-NOPERM"));
    stop(node);
}

#[test]
fn client_may_stop_the_node() {
    let directory = tempfile::tempdir().expect("a directory");
    let node = start(&config(directory.path(), 2));
    let mut client = Client::connect(node.addresses().node);
    assert_eq!(client.call("SET a 1"), "+OK");
    client.send(b"SHUTDOWN\r\n");
    node.wait();
    let node = start(&config(directory.path(), 2));
    let mut client = Client::connect(node.addresses().node);
    assert_eq!(client.call("GET a"), "1");
    stop(node);
}

#[test]
fn temporary_directory_is_removed() {
    let parent = tempfile::tempdir().expect("a directory");
    let mut config = config(parent.path(), 1);
    config.fields.temporary = true;
    let node = start(&config);
    let mut client = Client::connect(node.addresses().node);
    let dir = {
        client.send(b"CONFIG GET dir\r\n");
        let lines: Vec<String> = (0..5).map(|_| client.line()).collect();
        lines[4].clone()
    };
    assert!(Path::new(&dir).is_dir(), "{dir}");
    stop(node);
    assert!(!Path::new(&dir).exists(), "{dir}");
}

#[test]
fn damaged_value_is_reported_and_not_served_and_others_are() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = config(directory.path(), 1);
    let node = start(&config);
    let mut client = Client::connect(node.addresses().node);
    for key in ["before", "victim", "behind"] {
        assert_eq!(client.call(&format!("SET {key} value-of-{key}")), "+OK");
    }
    stop(node);
    let segment = directory.path().join("brick-0/000001.seg");
    let mut bytes = std::fs::read(&segment).expect("a segment");
    let wanted = b"value-of-victim";
    let at = bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
        .expect("a record");
    bytes[at] ^= 0x20;
    std::fs::write(&segment, bytes).expect("written");

    let node = start(&config);
    let (_, status) = http(node.addresses().http, "/status");
    assert!(status.contains("segment 1 offset"), "{status}");
    let mut client = Client::connect(node.addresses().node);
    let refused = client.call("GET victim");
    assert!(refused.starts_with('-'), "{refused}");
    assert_eq!(client.call("GET behind"), "value-of-behind");
    assert_eq!(client.call("SET victim new"), "+OK");
    assert_eq!(client.call("GET victim"), "new");
    stop(node);
}

#[test]
fn with_tokens_http_answers_probes_and_those_who_have_one() {
    let dir = tempfile::tempdir().expect("a directory");
    let tokens = dir.path().join("tokens");
    std::fs::write(&tokens, "an-old-token-of-ours\nthe-new-token-of-ours\n").expect("written");
    let mut config = config(&dir.path().join("data"), 1);
    config.fields.http_tokens = tokens.display().to_string();
    let node = start(&config);
    let address = node.addresses().http;
    assert_eq!(http(address, "/livez").0, 200);
    assert_ne!(http(address, "/readyz").0, 401);
    for path in ["/", "/health", "/metrics", "/status", "/nowhere"] {
        let (status, body) = http(address, path);
        assert_eq!(status, 401, "{path}");
        assert!(!body.contains("default"), "{body}");
        let wrong = "Authorization: Bearer another-token-altogether\r\n";
        assert_eq!(http_with(address, path, wrong).0, 401, "{path}");
        for token in ["an-old-token-of-ours", "the-new-token-of-ours"] {
            let header = format!("Authorization: Bearer {token}\r\n");
            assert_ne!(http_with(address, path, &header).0, 401, "{path}");
        }
    }
    stop(node);
    std::fs::write(&tokens, "short\n").expect("written");
    let refused = RunningNode::start(&config, Signals::Ignore);
    assert!(matches!(refused, Err(StartError::Tokens(_))), "{refused:?}");
}
