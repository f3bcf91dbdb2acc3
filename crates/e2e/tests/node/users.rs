//! Users: who may come in, where they start, what they may do with which table.

use brickyard_e2e::client::Client;
use brickyard_e2e::deadline::PATIENCE;
use brickyard_e2e::process::run;
use brickyard_e2e::server::{Server, Setup, program};
use std::fs;

/// The hash of a password, as an operator makes it.
pub(crate) fn hash(password: &str) -> String {
    let finished = run(
        program().args(["config", "hash-password"]),
        password.as_bytes(),
        PATIENCE,
    )
    .expect("hash-password ends");
    assert!(finished.status.success(), "{}", finished.text());
    finished
        .stdout
        .lines()
        .find(|line| line.contains("$argon2"))
        .and_then(|line| {
            line.split(['"', ' '])
                .find(|word| word.starts_with("$argon2"))
        })
        .unwrap_or_else(|| panic!("no hash in {}", finished.text()))
        .to_owned()
}

/// A server with an administrator, a shop bound to its table, and someone who only reads.
fn start() -> (Server, tempfile::NamedTempFile) {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let users = [
        ("default", "root-secret", "", "\"*\"", "\"*\"", "\"*\""),
        (
            "shop",
            "shop-secret",
            "table = \"orders\"\n",
            "\"orders\", \"cart*\"",
            "\"orders\"",
            "",
        ),
        ("reader", "reader-secret", "", "\"*\"", "", ""),
    ];
    let mut text = String::new();
    for (name, password, table, read, write, admin) in users {
        let hash = hash(password);
        text += &format!(
            "[[user]]\nname = \"{name}\"\npassword_hash = \"{hash}\"\n{table}read = [{read}]\nwrite = [{write}]\nadmin = [{admin}]\n"
        );
    }
    fs::write(file.path(), text).expect("the file can be written");
    let path = file.path().to_str().expect("a plain path").to_owned();
    // Readiness is polled without a password: -NOAUTH is an answer too, so Setup waits for the log in.
    let server = Setup::brickyard(2)
        // With users and no certificates there is no port for nodes.
        .arguments(&["--config", &path, "--peer-port", "0"])
        .start();
    let mut admin = login(&server, "default", "root-secret");
    admin.must(&["TABLE", "CREATE", "orders"]);
    admin.must(&["TABLE", "CREATE", "carts"]);
    (server, file)
}

fn login(server: &Server, user: &str, password: &str) -> Client {
    let mut client = server.connect();
    client.must(&["AUTH", user, password]);
    client
}

#[test]
fn nothing_is_served_before_authentication() {
    let (server, _file) = start();
    for port in [server.port(), server.brick_port(0)] {
        let mut client = Client::connect(port);
        for request in [
            "GET k",
            "SET k v",
            "PING",
            "INFO",
            "CLUSTER SLOTS",
            "TABLE LIST",
            "MULTI",
            "CLIENT ID",
        ] {
            let reply = client.line(request);
            assert!(
                reply.is_error_with("NOAUTH Authentication required."),
                "{request}: {reply}"
            );
        }
        let reply = client.line("AUTH wrong");
        assert!(reply.is_error_with("WRONGPASS"), "{reply}");
        let reply = client.line("AUTH nobody wrong");
        assert!(reply.is_error_with("WRONGPASS"), "{reply}");
        let reply = client.line("HELLO 3 AUTH default wrong");
        assert!(reply.is_error_with("WRONGPASS"), "{reply}");
        assert!(client.line("GET k").is_error_with("NOAUTH"));
        // A password alone is that of the user `default`.
        client.must(&["AUTH", "root-secret"]);
        assert_eq!(client.line("PING").text(), "PONG");
    }
}

#[test]
fn hello_authenticates_and_pipelined_requests_wait_for_it() {
    let (server, _file) = start();
    let mut client = server.connect();
    client
        .send_raw(
            b"HELLO 3 AUTH shop shop-secret SETNAME till\r\nSET k v\r\nGET k\r\nCLIENT GETNAME\r\n",
        )
        .expect("the handshake is sent");
    assert!(client.receive().expect("HELLO's reply").pairs().is_some());
    assert!(client.receive().expect("SET's reply").is_ok());
    assert_eq!(client.receive().expect("GET's reply").text(), "v");
    assert_eq!(client.receive().expect("the name").text(), "till");
}

#[test]
fn oversized_requests_are_refused_before_authentication() {
    let (server, _file) = start();
    let mut client = server.connect();
    client.send_raw(b"*20\r\n").expect("sent");
    let answer = client.receive_to_end().expect("the connection is closed");
    let text = String::from_utf8_lossy(&answer);
    assert!(
        text.starts_with("-ERR Protocol error: unauthenticated multibulk length"),
        "{text}"
    );
    let mut client = server.connect();
    client
        .send_raw(b"*2\r\n$4\r\nAUTH\r\n$100000\r\n")
        .expect("sent");
    let answer = client.receive_to_end().expect("the connection is closed");
    let text = String::from_utf8_lossy(&answer);
    assert!(
        text.starts_with("-ERR Protocol error: unauthenticated bulk length"),
        "{text}"
    );
}

#[test]
fn a_user_starts_in_its_table_and_stays_within_its_rights() {
    let (server, _file) = start();
    let mut shop = login(&server, "shop", "shop-secret");
    shop.must(&["SET", "k", "of the shop"]);
    let mut admin = login(&server, "default", "root-secret");
    assert!(
        admin.call(&["GET", "k"]).is_null(),
        "the shop wrote into the default table"
    );
    admin.must(&["TABLE", "USE", "orders"]);
    assert_eq!(admin.call(&["GET", "k"]).text(), "of the shop");

    for request in [
        "TABLE CREATE mine",
        "TABLE DROP orders CONFIRM orders",
        "CONFIG SET maxclients 1",
        "SHUTDOWN",
    ] {
        let reply = shop.line(request);
        assert!(reply.is_error_with("NOPERM"), "{request}: {reply}");
    }
    // FLUSHALL is about all tables that the user may write, and no other.
    admin.must(&["TABLE", "USE", "default"]);
    admin.must(&["SET", "k", "of everyone"]);
    shop.must(&["FLUSHALL"]);
    assert!(shop.call(&["GET", "k"]).is_null());
    assert_eq!(admin.call(&["GET", "k"]).text(), "of everyone");
    // Allowed to read, not to write.
    shop.must(&["TABLE", "USE", "carts"]);
    assert!(shop.call(&["GET", "k"]).is_null());
    for request in [
        "SET k v",
        "DEL k",
        "INCR k",
        "EXPIRE k 10",
        "FLUSHDB",
        "MSET a 1 b 2",
    ] {
        let reply = shop.line(request);
        assert!(reply.is_error_with("NOPERM"), "{request}: {reply}");
    }
    // Neither: refused, and the connection closed, since some clients would go on regardless.
    let reply = shop.line("TABLE USE default");
    assert!(reply.is_error_with("NOPERM"), "{reply}");
    shop.receive_to_end()
        .expect("a refused TABLE USE closes the connection");
}

#[test]
fn a_reader_reads_everything_and_writes_nothing() {
    let (server, _file) = start();
    login(&server, "default", "root-secret").must(&["SET", "k", "v"]);
    let mut reader = login(&server, "reader", "reader-secret");
    assert_eq!(reader.line("GET k").text(), "v");
    assert_eq!(reader.line("MGET k k").items().map(<[_]>::len), Some(2));
    for request in [
        "SET k w",
        "GETDEL k",
        "GETEX k PERSIST",
        "APPEND k x",
        "RENAME {k}a {k}b",
        "COPY {k}a {k}b",
    ] {
        let reply = reader.line(request);
        assert!(reply.is_error_with("NOPERM"), "{request}: {reply}");
    }
    reader.must(&["MULTI"]);
    let reply = reader.line("SET k w");
    assert!(reply.is_error_with("NOPERM"), "{reply}");
    assert!(reader.line("EXEC").is_error_with("EXECABORT"));
    assert_eq!(reader.line("GET k").text(), "v");
}

#[test]
fn reset_logs_out() {
    let (server, _file) = start();
    let mut client = login(&server, "default", "root-secret");
    assert_eq!(client.line("RESET").text(), "RESET");
    assert!(client.line("GET k").is_error_with("NOAUTH"));
}
