//! Chosen sequences that random ones would rarely make, each compared with a real Redis.

use brickyard_e2e::binary;
use brickyard_e2e::client::Client;
use brickyard_e2e::server::{Server, ServerKind, Setup};
use brickyard_e2e::value::Value;

struct Twins {
    redis: Server,
    brickyard: Server,
}

impl Twins {
    fn start(what: &str) -> Option<Self> {
        let redis = Setup::redis(ServerKind::Redis, what)?;
        Some(Self {
            redis: redis.start(),
            brickyard: Setup::brickyard(2).start(),
        })
    }

    /// Plays lines to both and compares each reply.
    fn compare(&self, lines: &[&str]) {
        let mut expected = self.redis.connect();
        let mut got = self.brickyard.connect();
        for client in [&mut expected, &mut got] {
            client.must(&["FLUSHALL"]);
        }
        for line in lines {
            let (expected, got) = (expected.line(line), got.line(line));
            assert_eq!(
                got.to_string(),
                expected.to_string(),
                "(left: ours, right: Redis) after {line}"
            );
        }
    }
}

#[test]
fn times_of_expiry_are_exact() {
    let Some(twins) = Twins::start("scripted comparison") else {
        return;
    };
    twins.compare(&[
        "SET k v PXAT 4102444800123",
        "PEXPIRETIME k",
        "EXPIRETIME k",
        "GETEX k EXAT 4102444801",
        "PEXPIRETIME k",
        "APPEND k w",
        "PEXPIRETIME k",
        "SETRANGE k 5 x",
        "INCR k",
        "PEXPIRETIME k",
        "SET k 5 KEEPTTL",
        "INCRBY k 2",
        "PEXPIRETIME k",
        "COPY k k{k}",
        "SET {k}a 1 EXAT 4102444800",
        "RENAME {k}a {k}b",
        "PEXPIRETIME {k}b",
        "COPY {k}b {k}c",
        "PEXPIRETIME {k}c",
        "EXPIREAT {k}c 4102444799 GT",
        "EXPIREAT {k}c 4102444799 LT",
        "EXPIREAT {k}c 4102444801 LT",
        "EXPIREAT {k}c 4102444801 XX",
        "EXPIREAT {k}c 4102444801 NX",
        "PEXPIRETIME {k}c",
        "PERSIST {k}c",
        "PERSIST {k}c",
        "EXPIREAT {k}c 4102444801 GT",
        "EXPIREAT {k}c 4102444801 LT",
        "EXPIRETIME {k}c",
        "SET {k}c 1",
        "EXPIRETIME {k}c",
        "SET {k}c 1 EXAT 1",
        "EXISTS {k}c",
        "SET {k}c 1 GET EXAT 1",
        "GETEX {k}b PXAT 1",
        "EXISTS {k}b",
        "EXPIREAT nosuch 4102444800",
        "BITFIELD k INCRBY u8 0 1",
        "PEXPIRETIME k",
        "SETBIT k 3 1",
        "PEXPIRETIME k",
        "GETSET k 1",
        "PEXPIRETIME k",
    ]);
}

#[test]
fn encodings_of_fresh_values_are_those_of_redis() {
    let Some(twins) = Twins::start("comparison of encodings") else {
        return;
    };
    let long = "x".repeat(45);
    let short = "x".repeat(44);
    let lines = [
        "SET k 1".to_owned(),
        "SET k -9223372036854775808".to_owned(),
        "SET k 9223372036854775808".to_owned(),
        "SET k 01".to_owned(),
        "SET k abc".to_owned(),
        format!("SET k {short}"),
        format!("SET k {long}"),
    ];
    for line in &lines {
        twins.compare(&[line, "OBJECT ENCODING k"]);
    }
}

#[test]
fn transactions_fail_as_those_of_redis_do() {
    let Some(twins) = Twins::start("scripted comparison") else {
        return;
    };
    twins.compare(&["MULTI", "SET k", "SET k v", "EXEC", "GET k"]);
    twins.compare(&["MULTI", "NOSUCH k", "SET k v", "EXEC", "GET k", "EXEC"]);
    twins.compare(&[
        "SET k abc",
        "MULTI",
        "SET k v",
        "INCR k",
        "GET k",
        "EXEC",
        "GET k",
    ]);
    twins.compare(&["MULTI", "MULTI", "SET k 1", "EXEC"]);
    twins.compare(&["MULTI", "WATCH k", "SET k 1", "EXEC"]);
    twins.compare(&[
        "DISCARD", "EXEC", "MULTI", "EXEC", "MULTI", "DISCARD", "DISCARD",
    ]);
    twins.compare(&["WATCH k", "SET k 1", "MULTI", "SET k 2", "EXEC", "GET k"]);
    twins.compare(&[
        "WATCH k", "SET k 1", "UNWATCH", "MULTI", "SET k 2", "EXEC", "GET k",
    ]);
    twins.compare(&["WATCH k", "DEL k", "MULTI", "SET k 2", "EXEC", "GET k"]);
    twins.compare(&[
        "SET k 1",
        "WATCH k",
        "EXPIREAT k 1",
        "MULTI",
        "SET k 2",
        "EXEC",
        "GET k",
    ]);
    twins.compare(&[
        "SET k 1", "WATCH k", "FLUSHALL", "MULTI", "SET k 2", "EXEC", "GET k",
    ]);
    twins.compare(&["WATCH k", "FLUSHALL", "MULTI", "SET k 2", "EXEC", "GET k"]);
    twins.compare(&["MULTI", "EXEC now", "EXEC"]);
    twins.compare(&[
        "MULTI",
        "SET {k}a 1",
        "INCR {k}a",
        "RENAME {k}a {k}b",
        "MGET {k}a {k}b",
        "DEL {k}b",
        "EXEC",
    ]);
    twins.compare(&["MULTI", "PING", "ECHO hello", "SET k 1", "EXEC"]);
    twins.compare(&["MULTI", "SET k 1", "RESET", "GET k", "EXEC"]);
}

/// `WATCH` sees what happened on another connection, and only to the watched keys.
#[test]
fn watches_notice_other_connections() {
    let Some(twins) = Twins::start("scripted comparison") else {
        return;
    };
    let play = |server: &Server| -> Vec<String> {
        let mut one = server.connect();
        let mut other = server.connect();
        let mut replies = Vec::new();
        let interferences: &[&[&str]] = &[
            &["SET", "{w}a", "1"],
            &["SET", "{w}b", "1"],
            &["DEL", "{w}a"],
            &["APPEND", "{w}a", "x"],
            &["EXPIREAT", "{w}a", "4102444800"],
            &["PERSIST", "{w}a"],
            &["GET", "{w}a"],
            &["TOUCH", "{w}a"],
            &["RENAME", "{w}a", "{w}c"],
            &["COPY", "{w}c", "{w}a"],
            &["FLUSHDB"],
            &["SETBIT", "{w}a", "1", "0"],
            &["GETEX", "{w}a", "EXAT", "4102444800"],
            &["SET", "{w}a", "2", "NX"],
        ];
        for interference in interferences {
            one.must(&["WATCH", "{w}a"]);
            replies.push(other.call(interference).to_string());
            one.must(&["MULTI"]);
            one.call(&["INCR", "{w}count"]);
            replies.push(one.call(&["EXEC"]).to_string());
        }
        replies
    };
    assert_eq!(play(&twins.brickyard), play(&twins.redis));
}

/// Everything that `COMMAND INFO` says and clients route by, for each command that both know.
#[test]
fn command_table_agrees_with_redis() {
    let Some(twins) = Twins::start("comparison of the command table") else {
        return;
    };
    let mut redis = twins.redis.connect();
    let mut brickyard = twins.brickyard.connect();
    let ours = brickyard.line("COMMAND");
    let mut compared = 0;
    for entry in ours.items().expect("a list of commands") {
        let entry = entry.items().expect("a command");
        let name = entry[0].text();
        let theirs = redis.call(&["COMMAND", "INFO", &name]);
        let Some(theirs) = theirs.items().and_then(|items| items[0].items()) else {
            // Brickyard's own, or newer than this Redis.
            continue;
        };
        compared += 1;
        assert_eq!(entry.len(), theirs.len(), "fields of {name}");
        // Name, arity, first key, last key, step.
        for field in [0, 1, 3, 4, 5] {
            assert_eq!(
                entry[field].to_string(),
                theirs[field].to_string(),
                "field {field} of {name}"
            );
        }
        let flags = sorted(&entry[2]);
        assert_eq!(flags, sorted(&theirs[2]), "flags of {name}");
        assert_eq!(
            sorted(&entry[6]),
            sorted(&theirs[6]),
            "categories of {name}"
        );
    }
    assert!(compared > 80, "only {compared} commands were compared");
    assert_eq!(
        brickyard.line("COMMAND COUNT").as_integer(),
        ours.items()
            .and_then(|items| i64::try_from(items.len()).ok())
    );
}

fn sorted(value: &Value) -> Vec<String> {
    let mut words: Vec<String> = value
        .items()
        .unwrap_or_default()
        .iter()
        .map(Value::text)
        .collect();
    words.sort();
    words
}

/// Commands of Redis that Brickyard does not have are refused as any unknown command is.
#[test]
fn commands_of_other_types_are_unknown() {
    let brickyard = Setup::brickyard(1).start();
    let mut client = brickyard.connect();
    for (request, expected) in [
        (
            "LPUSH k v",
            "ERR unknown command 'LPUSH', with args beginning with: 'k' 'v' ",
        ),
        (
            "sadd k f v",
            "ERR unknown command 'sadd', with args beginning with: 'k' 'f' 'v' ",
        ),
        (
            "SWAPDB 0 1",
            "ERR unknown command 'SWAPDB', with args beginning with: '0' '1' ",
        ),
    ] {
        assert_eq!(
            client.line(request),
            Value::Error(expected.into()),
            "{request}"
        );
    }
}

/// Valkey's compare-and-set commands, which Redis 7 does not have.
#[test]
fn compare_and_set_does_what_valkey_documents() {
    let server = Setup::brickyard(2).start();
    let mut client = server.connect();
    assert!(client.line("SET k new IFEQ old").is_null());
    assert_eq!(client.line("EXISTS k"), Value::Integer(0));
    client.must(&["SET", "k", "old", "EXAT", "4102444800"]);
    assert!(client.line("SET k new IFEQ other").is_null());
    assert!(client.line("SET k new IFEQ old").is_ok());
    assert_eq!(client.line("GET k").text(), "new");
    assert_eq!(client.line("TTL k"), Value::Integer(-1));
    assert_eq!(client.line("SET k newer IFEQ nope GET").text(), "new");
    assert_eq!(client.line("GET k").text(), "new");
    assert_eq!(client.line("SET k newer IFEQ new GET").text(), "new");
    assert_eq!(client.line("GET k").text(), "newer");
    assert!(client.line("SET k v IFEQ newer EXAT 4102444800").is_ok());
    assert_eq!(client.line("EXPIRETIME k"), Value::Integer(4_102_444_800));
    assert!(
        client
            .line("SET k v IFEQ v NX")
            .is_error_with("ERR syntax error")
    );
    assert!(
        client
            .line("SET k v XX IFEQ v")
            .is_error_with("ERR syntax error")
    );
    assert_eq!(client.line("DELIFEQ k nope"), Value::Integer(0));
    assert_eq!(client.line("DELIFEQ k v"), Value::Integer(1));
    assert_eq!(client.line("DELIFEQ k v"), Value::Integer(0));
}

/// The values that other rooms of the server publish: names that clients ask for by CONFIG GET.
#[test]
fn configuration_names_are_those_that_clients_ask_for() {
    let server = Setup::brickyard(1).start();
    let mut client = server.connect();
    for name in [
        "save",
        "appendonly",
        "maxmemory",
        "maxmemory-policy",
        "databases",
        "timeout",
        "maxclients",
    ] {
        let reply = client.call(&["CONFIG", "GET", name]);
        let pairs = reply.pairs().unwrap_or_default();
        assert!(
            pairs.iter().any(|(key, _)| key.text() == name),
            "CONFIG GET {name}: {reply}"
        );
    }
    let several = client.line("CONFIG GET max* save");
    assert!(
        several.pairs().is_some_and(|pairs| pairs.len() >= 3),
        "{several}"
    );
}

/// Requests of one connection and the replies that RESP3 gives them.
#[test]
fn hello_switches_the_forms_of_replies() {
    let Some(twins) = Twins::start("comparison of RESP3") else {
        return;
    };
    let play = |server: &Server| -> Vec<String> {
        let mut client: Client = server.connect();
        client.must(&["FLUSHALL"]);
        let mut replies = Vec::new();
        for protocol in ["2", "3", "2"] {
            assert!(client.call(&["HELLO", protocol]).pairs().is_some());
            for line in [
                "GET nosuch",
                "MGET nosuch nosuch",
                "SET k v NX GET",
                "LCS k k IDX",
                "CONFIG GET nosuch",
                "SCAN 0 COUNT 0",
            ] {
                replies.push(client.line(line).to_string());
            }
            for line in [
                "INFO server",
                "CLIENT LIST",
                "CLIENT INFO",
                "COMMAND DOCS GET",
            ] {
                replies.push(client.line(line).kind().to_owned());
            }
            client.must(&["WATCH", "k"]);
            server.connect().must(&["SET", "k", "v"]);
            client.must(&["MULTI"]);
            replies.push(client.line("EXEC").to_string());
            client.must(&["FLUSHALL"]);
        }
        replies
    };
    assert_eq!(play(&twins.brickyard), play(&twins.redis));
    assert!(binary::installed("redis-server").is_some());
}

/// Refusals in the words of 7.2, which name the user, also where the server beside is older; without passwords, which ours
/// never repeat.
fn in_words_of_72(reply: &Value, user: &str) -> String {
    let text = reply.to_string();
    let text = text.replace("This user has", &format!("User {user} has"));
    let text = text.replace("this user has", &format!("User {user} has"));
    let text = text.replace("<nothing", "<(redacted)");
    text.replace(
        &format!("User {user} has no permissions to access one of the keys used as arguments"),
        "No permissions to access a key",
    )
}

#[test]
fn users_are_made_and_refused_as_those_of_redis_are() {
    let Some(twins) = Twins::start("comparison of users") else {
        return;
    };
    let play = |server: &Server, tables: &str| -> Vec<String> {
        let mut root: Client = server.connect();
        let made = format!(
            "ACL SETUSER ann on nopass ~a:* %R~b:* resetchannels &ch +@read +set -strlen +config|get +multi +exec{tables}"
        );
        let mut replies = vec![root.line(&made).to_string()];
        for line in [
            "SET a:1 v",
            "SET b:1 v",
            "ACL WHOAMI",
            "ACL DRYRUN ann GET a:1",
            "ACL DRYRUN ann GET b:1",
            "ACL DRYRUN ann GET c",
            "ACL DRYRUN ann SET b:1 v",
            "ACL DRYRUN ann STRLEN a:1",
            "ACL DRYRUN ann DEL a:1",
            "ACL DRYRUN ann MGET a:1 c",
            "ACL DRYRUN ann CONFIG SET x y",
            "ACL DRYRUN nobody GET k",
            "ACL DRYRUN ann NOSUCH",
            "ACL DRYRUN ann GET",
            "ACL SETUSER ann +nosuch",
            "ACL SETUSER ann +@nosuch",
            "ACL SETUSER ann wat",
            "ACL SETUSER ann %Z~x",
            "ACL SETUSER ann <nothing",
            "ACL CAT nosuch",
            "ACL DELUSER default",
            "ACL DELUSER nobody",
            "ACL GENPASS 0",
            "ACL GENPASS abc",
            "ACL NOSUCH",
            "ACL GETUSER nobody",
        ] {
            replies.push(format!(
                "{line}: {}",
                in_words_of_72(&root.line(line), "ann")
            ));
        }
        let mut ann: Client = server.connect();
        for line in [
            "AUTH nobody x",
            "AUTH ann x",
            "ACL WHOAMI",
            "GET a:1",
            "GET b:1",
            "GET c",
            "SET a:1 w",
            "SET b:1 w",
            "DEL a:1",
            "STRLEN a:1",
            "MGET a:1 c",
            "CONFIG SET maxmemory 0",
            "MULTI",
            "GET a:1",
            "DEL a:1",
            "EXEC",
            "MULTI",
            "GET a:1",
            "EXEC",
        ] {
            replies.push(format!(
                "{line}: {}",
                in_words_of_72(&ann.line(line), "ann")
            ));
        }
        replies.push(root.line("ACL DELUSER ann nobody").to_string());
        replies
    };
    let (ours, theirs) = (play(&twins.brickyard, " alltables"), play(&twins.redis, ""));
    let both = ours.iter().zip(&theirs);
    let differ: Vec<_> = both.filter(|(ours, theirs)| ours != theirs).collect();
    assert!(differ.is_empty(), "(ours, Redis's): {differ:#?}");
    assert_eq!(ours.len(), theirs.len());
}
