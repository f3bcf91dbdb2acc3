//! What the console answers to whom, without a browser.

use brickyard_e2e::certificates::Certificates;
use brickyard_e2e::client::Client;
use brickyard_e2e::deadline::{PATIENCE, wait_for};
use brickyard_e2e::http::{Answer, Site};
use brickyard_e2e::process::run;
use brickyard_e2e::server::{Setup, brickyard, program};
use serde_json::{Value, json};

const OWN: (&str, &str) = ("X-Brickyard-Console", "1");

/// A command of somebody, who may have a cookie.
fn ask(site: &Site, cookie: &str, order: &Value) -> Answer {
    let headers = [OWN, ("Cookie", cookie)];
    site.ask("POST", "/console/run", &headers, &order.to_string())
}

fn reply(site: &Site, cookie: &str, words: &[&str]) -> Value {
    let answer = ask(site, cookie, &json!({ "command": words }));
    assert_eq!(answer.status, 200, "{words:?}: {}", answer.body);
    answer.json()["reply"].clone()
}

fn try_sign_in(site: &Site, user: &str, password: &str) -> Answer {
    let body = json!({ "user": user, "password": password }).to_string();
    site.ask("POST", "/console/session", &[OWN], &body)
}

/// The cookie of somebody who has signed in.
fn sign_in(site: &Site, user: &str, password: &str) -> String {
    let answer = try_sign_in(site, user, password);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let cookie = answer.header("set-cookie").expect("a cookie");
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/console"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert_eq!(cookie.contains("; Secure"), site.tls.is_some(), "{cookie}");
    let (pair, _) = cookie.split_once(';').expect("attributes");
    pair.to_owned()
}

#[test]
fn page_is_in_the_program_and_lets_the_browser_ask_nobody_else() {
    let server = Setup::brickyard(1).start();
    let site = Site::local(server.http_port());
    let page = site.get("/console/", &[]);
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").expect("a policy");
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let files = page.body.split("=\"/console/").skip(1);
    let files: Vec<&str> = files.filter_map(|it| it.split('"').next()).collect();
    assert!(
        files.contains(&"console.js") && files.contains(&"console.css"),
        "{files:?}"
    );
    for file in files {
        let answer = site.get(&format!("/console/{file}"), &[]);
        assert_eq!(answer.status, 200, "{file}");
        assert!(answer.header("content-security-policy").is_some(), "{file}");
        let kind = answer.header("content-type").expect("a type");
        assert!(
            kind.contains("javascript") || kind.contains("css") || kind.contains("svg"),
            "{kind}"
        );
    }
    // A browser is led there, a program is not.
    let browser = site.get("/", &[("Accept", "text/html,application/xhtml+xml")]);
    assert_eq!(
        (browser.status, browser.header("location")),
        (307, Some("/console/"))
    );
    assert!(site.get("/", &[]).body.starts_with("brickyard"));
    assert_eq!(site.get("/console/nowhere", &[]).status, 404);
}

#[test]
fn reads_are_for_everybody_where_there_are_no_users_and_writes_for_who_has_signed_in() {
    let server = Setup::brickyard(2).start();
    let site = Site::local(server.http_port());
    let mut client = server.connect();
    client.must(&["SET", "greeting", "hello"]);
    client.must(&[&b"SET"[..], b"bytes", b"\xff\x00"]);
    assert_eq!(
        reply(&site, "", &["GETRANGE", "greeting", "0", "-1"]),
        "hello"
    );
    assert_eq!(
        reply(&site, "", &["GETRANGE", "bytes", "0", "-1"]),
        json!({ "base64": "/wA=" })
    );
    assert_eq!(reply(&site, "", &["STRLEN", "nothing"]), 0);
    assert_eq!(reply(&site, "", &["TABLE", "LIST"]), json!(["default"]));
    let refused = ask(&site, "", &json!({ "command": ["SET", "greeting", "bye"] }));
    assert_eq!(refused.status, 401, "{}", refused.body);
    // Each brick has its own slow log; there is no third one.
    for (brick, status) in [(0, 200), (1, 200), (2, 502)] {
        let order = json!({ "command": ["SLOWLOG", "LEN"], "brick": brick });
        assert_eq!(ask(&site, "", &order).status, status, "brick {brick}");
    }
    // Nobody is asked for a password where there is none.
    let cookie = sign_in(&site, "default", "whatever");
    for word in ["FLUSHALL", "SHUTDOWN", "SELECT", "MULTI", "KEYS", "AUTH"] {
        let refused = ask(&site, &cookie, &json!({ "command": [word, "1"] }));
        assert_eq!(refused.status, 403, "{word}: {}", refused.body);
    }
    assert_eq!(reply(&site, &cookie, &["SET", "greeting", "bye"]), "OK");
    assert_eq!(client.line("GET greeting").text(), "bye");
    assert_eq!(client.line("EXISTS greeting").as_integer(), Some(1));
    let order = json!({ "command": ["DEL", { "base64": "Ynl0ZXM=" }] });
    assert_eq!(ask(&site, &cookie, &order).json()["reply"], 1);
    // Where the browser is, and what it is.
    let clients = reply(&site, &cookie, &["CLIENT", "LIST"]);
    let clients = clients.as_str().expect("a list");
    assert!(
        clients.contains("name=console") && clients.contains("addr=127.0.0.1:"),
        "{clients}"
    );
    for body in [
        "",
        "[]",
        "{\"command\": 1}",
        "{\"command\": [{\"base64\": \"*\"}]}",
    ] {
        let refused = site.ask("POST", "/console/run", &[OWN], body);
        assert_eq!(refused.status, 400, "{body}");
    }
    let long = "x".repeat(2 << 20);
    let refused = ask(&site, &cookie, &json!({ "command": ["SET", "long", long] }));
    assert_eq!(refused.status, 413);
}

#[test]
fn table_that_is_chosen_holds_for_one_command() {
    let server = Setup::brickyard(1).start();
    let site = Site::local(server.http_port());
    let mut client = server.connect();
    client.must(&["TABLE", "CREATE", "orders"]);
    client.must(&["TABLE", "USE", "orders"]);
    client.must(&["SET", "key", "of orders"]);
    for cookie in [String::new(), sign_in(&site, "default", "any")] {
        let on = |table: Option<&str>| {
            let order = json!({ "command": ["GETRANGE", "key", "0", "-1"], "table": table });
            ask(&site, &cookie, &order).json()["reply"].clone()
        };
        assert_eq!(on(Some("orders")), "of orders");
        assert_eq!(on(None), "");
        assert_eq!(on(Some("default")), "");
        let refused = on(Some("nowhere"));
        assert!(
            refused["error"]
                .as_str()
                .is_some_and(|it| it.contains("nowhere")),
            "{refused}"
        );
        assert_eq!(on(Some("orders")), "of orders", "the session goes on");
    }
    let map = site.get("/console/map/orders", &[]).json();
    let partitions = map["partitions"].as_array().expect("partitions");
    assert!(partitions.iter().all(|it| it[1] == "in_sync"), "{map}");
    assert_eq!(site.get("/console/map/nowhere", &[]).status, 404);
}

/// What a page of another origin, or of a name that was made to lead here, can have done.
#[test]
fn other_origins_are_refused() {
    let server = Setup::brickyard(1).start();
    let site = Site::local(server.http_port());
    let cookie = sign_in(&site, "default", "any");
    let order = json!({ "command": ["SET", "a", "b"] }).to_string();
    let status = |headers: &[(&str, &str)]| {
        let all = [&[("Cookie", cookie.as_str())], headers].concat();
        site.ask("POST", "/console/run", &all, &order).status
    };
    let (own, other) = (format!("http://{}", site.name()), "http://evil.example");
    assert_eq!(status(&[OWN, ("Origin", &own)]), 200);
    assert_eq!(status(&[]), 403);
    assert_eq!(status(&[("Origin", &own)]), 403);
    assert_eq!(status(&[OWN, ("Origin", other)]), 403);
    assert_eq!(status(&[OWN, ("Origin", "null")]), 403);
    assert_eq!(status(&[OWN, ("Sec-Fetch-Site", "cross-site")]), 403);
    for (method, path) in [("POST", "/console/session"), ("DELETE", "/console/session")] {
        let body = json!({ "user": "default", "password": "any" }).to_string();
        assert_eq!(site.ask(method, path, &[], &body).status, 403, "{method}");
        let foreign = [OWN, ("Origin", other)];
        assert_eq!(
            site.ask(method, path, &foreign, &body).status,
            403,
            "{method}"
        );
    }
    // A name that somebody else made lead here is its own origin, and has no cookie.
    let read = json!({ "command": ["STRLEN", "a"] }).to_string();
    let rebound = [
        OWN,
        ("Host", "evil.example:80"),
        ("Origin", "http://evil.example:80"),
    ];
    assert_eq!(
        site.ask("POST", "/console/run", &rebound, &read).status,
        401
    );
    assert_eq!(site.ask("POST", "/console/run", &[OWN], &read).status, 200);
}

fn hash(password: &str) -> String {
    let mut command = program();
    command.args(["config", "hash-password"]);
    let finished = run(&mut command, password.as_bytes(), PATIENCE).expect("hash-password ends");
    let words = finished.stdout.split(['"', ' ', '\n']);
    let mut hashes = words.filter(|word| word.starts_with("$argon2"));
    hashes.next().expect("a hash").to_owned()
}

/// Users and tokens, under TLS: nothing without either, what the user may and no more, nothing after signing out.
#[test]
fn users_and_tokens_hold_under_tls() {
    let mut certificates = Certificates::new();
    certificates.issue_node("node");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = folder.path().join("brickyard.toml");
    let mut text = String::new();
    for (user, password, write) in [
        ("default", "root-secret", "\"*\""),
        ("reader", "reader-secret", ""),
    ] {
        text += &format!(
            "[[user]]\nname = \"{user}\"\npassword_hash = \"{}\"\nread = [\"*\"]\nwrite = [{write}]\nadmin = [{write}]\n",
            hash(password)
        );
    }
    std::fs::write(&config, text).expect("written");
    let tokens = folder.path().join("tokens");
    std::fs::write(&tokens, "a-token-of-ours-alone\n").expect("written");
    let path = |path: &std::path::Path| path.to_str().expect("a plain path").to_owned();
    let (crt, key) = (certificates.path("node.crt"), certificates.path("node.key"));
    let arguments = [
        format!("--config={}", path(&config)),
        format!("--http-tokens={}", path(&tokens)),
        format!("--client-cert={}", path(&crt)),
        format!("--client-key={}", path(&key)),
        "--peer-port".to_owned(),
        "0".to_owned(),
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let dialer = certificates.dialer_of(None);
    let server = Setup::brickyard(2)
        .arguments(&arguments)
        .tls(dialer.clone())
        .start();
    let site = Site {
        tls: Some(dialer.clone()),
        ..Site::local(server.http_port())
    };
    let read = json!({ "command": ["DBSIZE"] });
    let page = site.get("/console/", &[]);
    assert_eq!(page.status, 200);
    assert!(page.header("strict-transport-security").is_some());
    for path in [
        "/console/status",
        "/console/figures",
        "/console/map/default",
    ] {
        assert_eq!(site.get(path, &[]).status, 401, "{path}");
    }
    assert_eq!(ask(&site, "", &read).status, 401);
    let token = ("Authorization", "Bearer a-token-of-ours-alone");
    assert_eq!(site.get("/console/status", &[token]).status, 200);
    // A token is no user.
    let answer = site.ask("POST", "/console/run", &[OWN, token], &read.to_string());
    let said = answer.json()["reply"]["error"].to_string();
    assert!(said.contains("NOAUTH"), "{said}");

    for (user, password) in [("default", "wrong"), ("nobody", "root-secret"), ("", "")] {
        let refused = try_sign_in(&site, user, password);
        assert_eq!(refused.status, 401, "{user}");
        assert_eq!(refused.header("set-cookie"), None);
        assert!(refused.body.contains("WRONGPASS"), "{}", refused.body);
    }
    let reader = sign_in(&site, "reader", "reader-secret");
    assert_eq!(
        site.get("/console/status", &[("Cookie", &reader)]).status,
        200
    );
    assert_eq!(reply(&site, &reader, &["DBSIZE"]), 0);
    let refused = reply(&site, &reader, &["SET", "a", "b"]);
    assert!(
        refused["error"]
            .as_str()
            .is_some_and(|it| it.starts_with("NOPERM")),
        "{refused}"
    );
    // The user's name, or nothing, in the place of a default: the default user.
    let root = sign_in(&site, "", "root-secret");
    assert_eq!(reply(&site, &root, &["SET", "a", "b"]), "OK");
    assert_eq!(reply(&site, &root, &["ACL", "WHOAMI"]), "default");
    assert_eq!(reply(&site, &reader, &["ACL", "WHOAMI"]), "reader");
    let mut second = root.clone();
    second.replace_range(second.len() - 1.., "x");
    assert_eq!(ask(&site, &second, &read).status, 401);

    let out = site.ask("DELETE", "/console/session", &[OWN, ("Cookie", &root)], "");
    assert_eq!(out.status, 200);
    assert_eq!(ask(&site, &root, &read).status, 401, "signed out");
    assert_eq!(ask(&site, &reader, &read).status, 200);

    // Who is shut out as a client is shut out here: the session is that connection.
    let mut client =
        Client::try_connect_by("127.0.0.1", server.port(), Some(&dialer)).expect("a client");
    client.must(&["AUTH", "default", "root-secret"]);
    let killed = client.line("CLIENT KILL USER reader");
    assert!(killed.as_integer().is_some_and(|it| it > 0), "{killed}");
    wait_for("the reader's session to end", || {
        let looked = site.get("/console/status", &[("Cookie", &reader)]);
        (looked.status == 401).then_some(())
    });
    assert_eq!(ask(&site, &reader, &read).status, 401);
}

#[test]
fn console_can_be_left_out_and_is_where_clients_show_certificates() {
    let server = Setup::brickyard(1).arguments(&["--console", "off"]).start();
    let site = Site::local(server.http_port());
    assert_eq!(site.get("/console/", &[]).status, 404);
    assert_eq!(site.get("/", &[("Accept", "text/html")]).status, 200);
    // Its clients show certificates, and a browser at HTTP's port has none.
    let mut certificates = Certificates::new();
    certificates.issue_node("node");
    let client = ["--client-cert", "--client-key", "--client-ca"];
    let files = ["node.crt", "node.key", "ca.crt"];
    let mut arguments: Vec<String> = client
        .into_iter()
        .zip(files)
        .map(|(flag, file)| format!("{flag}={}", certificates.path(file).display()))
        .collect();
    for (how, status) in [("auto", 404), ("on", 200)] {
        arguments.push(format!("--console={how}"));
        let own: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let server = Setup::brickyard(1)
            .arguments(&own)
            .tls(certificates.dialer())
            .start();
        let tls = Some(certificates.dialer_of(None));
        let site = Site {
            tls,
            ..Site::local(server.http_port())
        };
        assert_eq!(site.get("/console/", &[]).status, status, "{how}");
        if status == 200 {
            let read = ask(&site, "", &json!({ "command": ["DBSIZE"] }));
            assert_eq!(read.status, 401, "{}", read.body);
        }
        arguments.pop();
    }
}

#[test]
fn sessions_are_bounded() {
    let server = Setup::brickyard(1).start();
    let site = Site::local(server.http_port());
    let first = sign_in(&site, "default", "any");
    assert_eq!(reply(&site, &first, &["DBSIZE"]), 0);
    for _ in 0..64 {
        let _ = sign_in(&site, "default", "any");
    }
    let refused = ask(&site, &first, &json!({ "command": ["SET", "a", "b"] }));
    assert_eq!(refused.status, 401, "64 others were used since");
    let mut client = server.connect();
    wait_for("the connections of sessions that ended to end", || {
        let clients = client.line("CLIENT LIST").text().to_owned();
        (clients.matches("name=console").count() == 64).then_some(())
    });
}

/// Where the operator has said how; by the rights of whoever asks, and in that command's words.
#[test]
fn backup_is_begun_by_who_may_export_the_table() {
    let places = tempfile::tempdir().expect("a directory");
    let command = format!("brickyard backup create {}", places.path().display());
    let server = Setup::brickyard(2)
        .arguments(&["--console-backup", &command])
        .start();
    let site = Site::local(server.http_port());
    let mut client = server.connect();
    client.must(&["SET", "greeting", "hello"]);
    client.must(&["ACL", "SETUSER", "eve", "on", ">secret", "~*", "+@read"]);
    let begin = |cookie: &str, body: &Value| {
        let headers = [OWN, ("Cookie", cookie)];
        site.ask("POST", "/console/backups", &headers, &body.to_string())
    };
    let order = json!({ "table": "default" });
    assert_eq!(begin("", &order).status, 401);
    let eve = sign_in(&site, "eve", "secret");
    let refused = begin(&eve, &order);
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert!(refused.body.contains("NOPERM"), "{}", refused.body);
    let cookie = sign_in(&site, "default", "any");
    assert_eq!(begin(&cookie, &json!({})).status, 400);
    let refused = begin(&cookie, &json!({ "table": "no --such" }));
    assert_eq!(refused.status, 403, "{}", refused.body);
    let begun = begin(&cookie, &order);
    assert_eq!(begun.status, 200, "{}", begun.body);
    let last = wait_for("the backup's end", || {
        let seen = site.get("/console/backups", &[("Cookie", &cookie)]).json();
        let last = seen["last"].clone();
        (!last["ended_ms"].is_null()).then_some(last)
    });
    assert_eq!(last["is_made"], true, "{last}");
    let said = last["said"].as_str().expect("a line");
    assert!(said.contains("of table default: 1 records"), "{said}");
    // What it was is told to nobody else.
    let seen = site.get("/console/backups", &[]).json();
    assert_eq!(
        (&seen["is_configured"], &seen["last"]),
        (&json!(true), &Value::Null)
    );
    let place = places.path().to_str().expect("a plain path");
    let verified = brickyard(&["backup", "verify", place]);
    assert!(
        verified.stdout.contains("is whole: 1 records"),
        "{verified:?}"
    );
}
