//! Merging, refusing and printing of the configuration.

use super::*;
use std::time::Duration;

fn load(
    text: &str,
    environment: &[(&str, &str)],
    flags: &[(&'static str, &str)],
) -> Result<Loaded, Problems> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("brickyard.toml");
    std::fs::write(&path, text).expect("the file can be written");
    Loaded::from_sources(&Sources {
        file: Some(path),
        environment: environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        flags: flags
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect(),
    })
}

fn problems(text: &str) -> Vec<Problem> {
    load(text, &[], &[]).expect_err("it must be refused").0
}

const HASH: &str = "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$\
                    c29tZWhhc2hzb21laGFzaHNvbWVoYXNoc29tZWhhc2g";

#[test]
fn defaults_are_valid() {
    let loaded = Loaded::from_sources(&Sources::default()).expect("defaults");
    assert_eq!(loaded.config, Config::default());
    assert_eq!(loaded.config.listen.port(), 6379);
    assert_eq!(loaded.config.brick_address(2).port(), 6382);
    let http = loaded.config.http_address(false).expect("in range");
    assert_eq!(http.map(|address| address.port()), Some(7379));
}

#[test]
fn later_sources_win_and_origins_say_which() {
    let loaded = load(
        "# a comment\nmaxclients = 1\nsync_interval = \"5s\"\nsegment_bytes = \"16MiB\"\n",
        &[
            ("BRICKYARD_MAXCLIENTS", "2"),
            ("BRICKYARD_SYNC_INTERVAL", "250ms"),
        ],
        &[("maxclients", "3")],
    )
    .expect("valid");
    assert_eq!(loaded.config.maxclients, 3);
    assert_eq!(loaded.config.sync_interval, Duration::from_millis(250));
    assert_eq!(loaded.config.segment_bytes, ByteSize::mebibytes(16));
    assert_eq!(
        loaded.origins["maxclients"],
        Origin::Flag("maxclients".to_owned())
    );
    assert_eq!(
        loaded.origins["sync_interval"],
        Origin::Environment("BRICKYARD_SYNC_INTERVAL".to_owned())
    );
    assert!(matches!(
        loaded.origins["segment_bytes"],
        Origin::File { line: 4, .. }
    ));
    assert!(!loaded.origins.contains_key("listen"));
}

#[test]
fn unknown_key_names_its_line_and_the_nearest_one() {
    let found = problems("listen = \"127.0.0.1:1\"\nmax_clients = 5\n");
    assert_eq!(found.len(), 1);
    assert!(matches!(
        found[0].origin,
        Some(Origin::File { line: 2, .. })
    ));
    assert_eq!(found[0].field, "max_clients");
    assert_eq!(found[0].remedy, "did you mean 'maxclients'?");
}

#[test]
fn unknown_variable_is_a_warning() {
    let loaded = load(
        "",
        &[("BRICKYARD_SERVICE_HOST", "10.0.0.1"), ("PATH", "/")],
        &[],
    );
    let warnings = loaded.expect("valid").warnings;
    assert_eq!(
        warnings,
        ["environment variable BRICKYARD_SERVICE_HOST is not a setting and is ignored"]
    );
}

#[test]
fn every_problem_is_told_at_once() {
    let found = problems(
        "maxclients = \"many\"\nsegment_bytes = 5\nrunway_bytes = \"9MiB\"\ninline_append_max = \"2MiB\"\nsync_interval = \"9h\"\nsync_bytes = 0\nlisten = \"0.0.0.0:70\"\n",
    );
    let fields: Vec<&str> = found.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "maxclients",
            "listen",
            "listen",
            "segment_bytes",
            "runway_bytes",
            "inline_append_max",
            "sync_interval",
            "sync_bytes",
            "peer_cert"
        ]
    );
    let text = Problems(found).to_string();
    assert!(
        text.starts_with("the configuration has 9 problems:\n"),
        "{text}"
    );
    assert!(text.contains("maxclients = \"many\""), "{text}");
    assert!(
        text.contains("write a whole number from 0 to 4294967295"),
        "{text}"
    );
}

#[test]
fn text_that_is_not_toml_names_the_line() {
    let found = problems("listen = \"127.0.0.1:1\"\n\nbricks = = 2\n");
    assert!(
        matches!(found[0].origin, Some(Origin::File { line: 3, .. })),
        "{found:?}"
    );
}

#[test]
fn missing_file_is_refused() {
    let sources = Sources {
        file: Some("/nowhere/brickyard.toml".into()),
        ..Sources::default()
    };
    let text = Loaded::from_sources(&sources)
        .expect_err("no such file")
        .to_string();
    assert!(text.contains("/nowhere/brickyard.toml"), "{text}");
}

#[test]
fn public_address_needs_users_or_insecure() {
    let public = "listen = \"192.0.2.1:6379\"\n";
    assert!(problems(public)[0].why.contains("there are no users"));
    load(&format!("{public}insecure = true\n"), &[], &[]).expect("accepted");
    let user =
        format!("{public}[[user]]\nname = \"a\"\npassword_hash = \"{HASH}\"\nread = \"*\"\n");
    let loaded = load(&user, &[], &[]).expect("accepted");
    assert_eq!(loaded.config.users[0].read, ["*"]);
    assert_eq!(loaded.config.http_address(true), Ok(None));
}

#[test]
fn port_for_nodes_needs_certificates_where_there_are_users() {
    let user = format!("[[user]]\nname = \"a\"\npassword_hash = \"{HASH}\"\nread = \"*\"\n");
    let certificates = "peer_cert = \"n.crt\"\npeer_key = \"n.key\"\npeer_ca = \"ca.crt\"\n";
    // Alone it has no such port.
    let alone = load(&user, &[], &[]).expect("accepted");
    assert_eq!(alone.config.peer_address(true), None);
    for address in ["", "listen = \"192.0.2.1:6379\"\n"] {
        let joins = format!("{address}join = \"192.0.2.2:6379\"\n");
        let found = problems(&format!("{joins}{user}"));
        assert_eq!(found[0].field, "peer_cert");
        assert!(found[0].remedy.contains("brickyard cert init"), "{found:?}");
        for accepted in [
            format!("{joins}{certificates}{user}"),
            format!("{joins}insecure = true\n{user}"),
        ] {
            let loaded = load(&accepted, &[], &[]).expect("accepted");
            assert!(loaded.config.peer_address(true).is_some());
        }
    }
    let found = problems("peer_cert = \"n.crt\"\npeer_key = \"n.key\"\n");
    assert_eq!(found[0].field, "peer_ca");
}

#[test]
fn unspecified_address_needs_an_advertised_one() {
    let base = "listen = \"0.0.0.0:6379\"\ninsecure = true\n";
    assert!(problems(base)[0].remedy.contains("set advertise"));
    assert_eq!(
        problems(&format!("{base}advertise = \"0.0.0.0\"\n"))[0].field,
        "advertise"
    );
    assert_eq!(
        problems(&format!("{base}advertise = \"db:6379\"\n"))[0].field,
        "advertise"
    );
    let loaded = load(&format!("{base}advertise = \"db.example.com\"\n"), &[], &[]);
    assert_eq!(
        loaded.expect("valid").config.advertised_host(),
        "db.example.com"
    );
}

#[test]
fn users_are_checked_together() {
    let found = problems(&format!(
        "[[user]]\nname = \"a\"\npassword_hash = \"secret\"\nread = [\"*\"]\n\
         [[user]]\nname = \"a\"\npassword_hash = \"{HASH}\"\npasword = \"x\"\n"
    ));
    let fields: Vec<&str> = found.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "user.pasword",
            "user.password_hash",
            "user.name",
            "user.read, write, admin"
        ]
    );
    assert!(
        matches!(found[1].origin, Some(Origin::File { line: 1, .. })),
        "{found:?}"
    );
}

#[test]
fn unknown_key_of_a_user_names_the_nearest_one() {
    for (key, near) in [
        ("reed", "read"),
        ("password", "password_hash"),
        ("tabel", "table"),
    ] {
        let found = problems(&format!("[[user]]\nname = \"a\"\n{key} = \"x\"\n"));
        assert_eq!(found[0].field, format!("user.{key}"));
        assert_eq!(found[0].remedy, format!("did you mean '{near}'?"));
    }
}

#[test]
fn ports_must_not_meet() {
    assert_eq!(
        problems("brick_port = 6370\nbricks = 16\n")[0].field,
        "brick_port"
    );
    assert_eq!(
        problems("http = \"127.0.0.1:6381\"\nbricks = 4\n")[0].field,
        "http"
    );
    assert_eq!(
        problems("listen = \"127.0.0.1:65530\"\nbricks = 9\n").len(),
        2
    );
}

#[test]
fn printed_configuration_reads_back_the_same() {
    let text = format!(
        "listen = \"127.0.0.1:7000\"\nidle_timeout = \"90s\"\nvalue_bytes_max = 12345\n\
         default_durability = \"fsync\"\nhttp = \"off\"\nlog_level = 'info,brickyard_store=debug'\n\
         [[user]]\nname = \"a\"\npassword_hash = \"{HASH}\"\nwrite = [\"t*\"]\ntable = \"t1\"\n"
    );
    let first = load(&text, &[], &[]).expect("valid");
    let printed = print(&first);
    let second = load(&printed, &[], &[]).expect("printed text is valid");
    assert_eq!(first.config.fields, second.config.fields);
    assert_eq!(first.config.users[0].write, second.config.users[0].write);
    assert!(
        printed.contains("Unit: time. Origin: default."),
        "{printed}"
    );
    for field in FIELDS {
        assert!(
            printed.contains(&format!("\n{} = ", field.name)),
            "{}",
            field.name
        );
    }
    assert!(
        printed
            .lines()
            .all(|line| line.starts_with("password_hash") || line.len() <= 100)
    );
}

#[test]
fn sizes_and_times_read_what_they_write() {
    for text in ["64MiB", "1GiB", "3"] {
        let size = ByteSize::parse(text).expect(text);
        assert_eq!(size.to_string(), text);
    }
    assert_eq!(ByteSize::parse("1GB"), Ok(ByteSize(1_000_000_000)));
    assert_eq!(ByteSize::parse("1_000"), Ok(ByteSize(1_000)));
    for text in ["", "MiB", "-1", "1 elephant", "99999999999TiB", "1.5GB"] {
        assert!(ByteSize::parse(text).is_err(), "{text}");
    }
    for text in ["250ms", "10s", "7us"] {
        let time = Duration::parse(text).expect(text);
        assert_eq!(time.toml(), format!("\"{text}\""));
    }
    assert_eq!(Duration::parse("2h"), Ok(Duration::from_secs(7200)));
    for text in ["5", "", "s", "1w", "99999999999999999999s", "1.5s"] {
        assert!(Duration::parse(text).is_err(), "{text}");
    }
}

#[test]
fn nearest_name_is_near_or_none() {
    assert_eq!(source::nearest("brick"), Some("bricks"));
    assert_eq!(source::nearest("sync-interval"), Some("sync_interval"));
    assert_eq!(source::nearest("zzzzzzzzzzzzz"), None);
}

#[test]
fn hashed_password_verifies_and_others_do_not() {
    let hash = hash_password(b"open sesame").expect("hashed");
    assert!(verify_password(b"open sesame", &hash));
    assert!(!verify_password(b"open", &hash));
    assert!(!verify_password(b"open sesame", "not a hash"));
    assert!(hash_password(b"").is_err());
}

#[test]
fn what_a_cluster_cannot_be_like_is_refused() {
    let found = problems("expect = 3\nlease = \"1s\"\nlease_renew = \"900ms\"\npeer_port = 6380\n");
    let fields: Vec<&str> = found.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(fields, ["expect", "lease_renew", "peer_port"]);
    let found = problems("join = \"a:1,b:2\"\nexpect = 2\nroles = \"gateway\"\n");
    let fields: Vec<&str> = found.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(fields, ["roles"]);
    let loaded = load(
        "join = [\"a:1\", \"b:2\"]\nexpect = 3\nzone = \"east\"\n",
        &[],
        &[],
    );
    assert_eq!(loaded.expect("valid").config.join.0.len(), 2);
}

#[test]
fn certificates_of_their_own_are_for_nodes_of_one_machine() {
    assert!(load("peer_cert = \"auto\"\n", &[], &[]).is_ok());
    for more in [
        "peer_key = \"n.key\"\n",
        "listen = \"10.0.0.1:6379\"\ninsecure = true\n",
    ] {
        let found = problems(&format!("peer_cert = \"auto\"\n{more}"));
        assert_eq!(found.len(), 1, "{more}");
        assert_eq!(found[0].field, "peer_cert", "{more}");
    }
}

#[test]
fn clients_certificates_come_in_pairs_and_can_stand_for_users() {
    for (text, missing) in [
        ("client_cert = \"n.crt\"\n", "client_key"),
        ("client_key = \"n.key\"\n", "client_cert"),
        ("client_ca = \"ca.crt\"\n", "client_cert"),
    ] {
        let found = problems(text);
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(found[0].field, missing, "{text}");
    }
    let pair = "client_cert = \"n.crt\"\nclient_key = \"n.key\"\n";
    assert!(load(pair, &[], &[]).is_ok());
    let public = "listen = \"10.0.0.1:6379\"\npeer_cert = \"n.crt\"\npeer_key = \"n.key\"\npeer_ca = \"ca.crt\"\n";
    let found = problems(&format!("{public}{pair}"));
    assert_eq!(found.len(), 1, "a certificate of its own lets anybody in");
    assert_eq!(found[0].field, "listen");
    let guarded = format!("{public}{pair}client_ca = \"ca.crt\"\n");
    assert!(load(&guarded, &[], &[]).is_ok());
}
