use crate::testing::MemoryKeyspace;
use brickyard_types::UnixMillis;

fn filled() -> MemoryKeyspace {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("HSET h a 1 b 2 c 3");
    keyspace
}

fn pass(keyspace: &mut MemoryKeyspace, millis: u64) {
    keyspace.now = UnixMillis(keyspace.now.0 + millis);
}

#[test]
fn a_field_goes_when_its_time_is_over_and_the_others_stay() {
    let mut keyspace = filled();
    assert_eq!(
        keyspace.run_line("HPEXPIRE h 100 FIELDS 2 a nosuch"),
        "*2\r\n:1\r\n:-2\r\n"
    );
    pass(&mut keyspace, 100);
    assert_eq!(keyspace.run_line("HEXISTS h a"), ":1\r\n");
    pass(&mut keyspace, 1);
    assert_eq!(keyspace.run_line("HEXISTS h a"), ":0\r\n");
    assert_eq!(keyspace.run_line("HLEN h"), ":2\r\n");
    assert_eq!(
        keyspace.run_line("HGETALL h"),
        "*4\r\n$1\r\nb\r\n$1\r\n2\r\n$1\r\nc\r\n$1\r\n3\r\n"
    );
    assert_eq!(keyspace.run_line("HSETNX h a 9"), ":1\r\n");
    assert_eq!(keyspace.run_line("HTTL h FIELDS 1 a"), "*1\r\n:-1\r\n");
}

#[test]
fn a_key_goes_with_its_last_field() {
    let mut keyspace = filled();
    keyspace.run_line("HPEXPIRE h 100 FIELDS 2 a b");
    keyspace.run_line("HPEXPIRE h 300 FIELDS 1 c");
    // It is the key's own expiry that is told, and it has none.
    assert_eq!(keyspace.run_line("PTTL h"), ":-1\r\n");
    assert_eq!(keyspace.run_line("PERSIST h"), ":0\r\n");
    pass(&mut keyspace, 301);
    assert_eq!(keyspace.run_line("EXISTS h"), ":0\r\n");
}

#[test]
fn the_keys_own_expiry_and_the_fields_do_not_disturb_one_another() {
    let mut keyspace = filled();
    assert_eq!(keyspace.run_line("PEXPIRE h 1000"), ":1\r\n");
    keyspace.run_line("HPEXPIRE h 400 FIELDS 3 a b c");
    assert_eq!(keyspace.run_line("PTTL h"), ":1000\r\n");
    assert_eq!(keyspace.run_line("PEXPIRE h 2000 GT"), ":1\r\n");
    assert_eq!(keyspace.run_line("PTTL h"), ":2000\r\n");
    keyspace.run_line("HPERSIST h FIELDS 1 c");
    pass(&mut keyspace, 401);
    assert_eq!(keyspace.run_line("HKEYS h"), "*1\r\n$1\r\nc\r\n");
    assert_eq!(keyspace.run_line("PTTL h"), ":1599\r\n");
    keyspace.run_line("HPEXPIRE h 5000 FIELDS 1 c");
    pass(&mut keyspace, 1_600);
    assert_eq!(keyspace.run_line("EXISTS h"), ":0\r\n");
    // A copy has both.
    let mut keyspace = filled();
    keyspace.run_line("PEXPIRE h 1000");
    keyspace.run_line("HPEXPIRE h 400 FIELDS 3 a b c");
    keyspace.run_line("COPY h i");
    keyspace.run_line("RENAME i j");
    assert_eq!(keyspace.run_line("PTTL j"), ":1000\r\n");
    assert_eq!(keyspace.run_line("HPTTL j FIELDS 1 a"), "*1\r\n:400\r\n");
    keyspace.run_line("PERSIST j");
    assert_eq!(keyspace.run_line("PTTL j"), ":-1\r\n");
    pass(&mut keyspace, 401);
    assert_eq!(keyspace.run_line("EXISTS j"), ":0\r\n");
}

#[test]
fn conditions_are_about_each_field() {
    let mut keyspace = filled();
    keyspace.run_line("HPEXPIRE h 500 FIELDS 1 a");
    for (request, outcome) in [
        ("HPEXPIRE h 900 NX FIELDS 2 a b", "*2\r\n:0\r\n:1\r\n"),
        ("HPEXPIRE h 800 XX FIELDS 2 a c", "*2\r\n:1\r\n:0\r\n"),
        (
            "HPEXPIRE h 850 GT FIELDS 3 a b c",
            "*3\r\n:1\r\n:0\r\n:0\r\n",
        ),
        (
            "HPEXPIRE h 840 LT FIELDS 3 a b c",
            "*3\r\n:1\r\n:1\r\n:1\r\n",
        ),
        ("HPEXPIRE h 0 FIELDS 1 b", "*1\r\n:2\r\n"),
        ("HPERSIST h FIELDS 3 a b c", "*3\r\n:1\r\n:-2\r\n:1\r\n"),
        ("HPERSIST h FIELDS 1 a", "*1\r\n:-1\r\n"),
        ("HEXPIRE nosuch 5 FIELDS 2 a b", "*2\r\n:-2\r\n:-2\r\n"),
        ("HTTL nosuch FIELDS 1 a", "*1\r\n:-2\r\n"),
    ] {
        assert_eq!(keyspace.run_line(request), outcome, "{request}");
    }
}

#[test]
fn times_are_told_as_they_were_asked_for() {
    let mut keyspace = filled();
    let now = keyspace.now.0;
    keyspace.run_line("HEXPIRE h 10 FIELDS 1 a");
    keyspace.run_line(&format!("HEXPIREAT h {} FIELDS 1 b", now / 1000 + 20));
    keyspace.run_line(&format!("HPEXPIREAT h {} FIELDS 1 c", now + 1));
    let reply = keyspace.run_line("HTTL h FIELDS 3 a b c");
    // A part of a second counts as one.
    assert_eq!(reply, "*3\r\n:10\r\n:20\r\n:1\r\n");
    let reply = keyspace.run_line("HPEXPIRETIME h FIELDS 2 a c");
    assert_eq!(
        reply,
        format!("*2\r\n:{}\r\n:{}\r\n", now + 10_000, now + 1)
    );
    let reply = keyspace.run_line("HEXPIRETIME h FIELDS 1 a");
    assert_eq!(
        reply,
        format!("*1\r\n:{}\r\n", (now + 10_000).div_ceil(1000))
    );
}

#[test]
fn requests_that_are_wrong_are_refused_in_the_words_of_redis() {
    let mut keyspace = filled();
    for (request, error) in [
        (
            "HEXPIRE h 5 FIELDS 2 a",
            "ERR The `numfields` parameter must match the number of arguments",
        ),
        (
            "HEXPIRE h 5 FIELDS 0 a",
            "ERR Parameter `numFields` should be greater than 0",
        ),
        (
            "HEXPIRE h 5 NX a 1 a",
            "ERR Mandatory argument FIELDS is missing or not at the right position",
        ),
        (
            "HEXPIRE h -5 FIELDS 1 a",
            "ERR invalid expire time, must be >= 0",
        ),
        (
            "HEXPIRE h x FIELDS 1 a",
            "ERR value is not an integer or out of range",
        ),
        (
            "HEXPIRE h 9223372036854775807 FIELDS 1 a",
            "ERR invalid expire time in 'hexpire' command",
        ),
        (
            "HTTL h FIELDS 2 a",
            "ERR The `numfields` parameter must match the number of arguments",
        ),
        (
            "HGETEX h EX 0 FIELDS 1 a",
            "ERR invalid expire time in 'hgetex' command",
        ),
        ("HGETEX h NX 5 FIELDS 1 a", "ERR syntax error"),
        ("HSETEX h EX 5 PX 5 FIELDS 1 a 1", "ERR syntax error"),
    ] {
        assert_eq!(
            keyspace.run_line(request),
            format!("-{error}\r\n"),
            "{request}"
        );
    }
    keyspace.run_line("SET s 1");
    for request in [
        "HEXPIRE s 5 FIELDS 1 a",
        "HTTL s FIELDS 1 a",
        "HGETEX s FIELDS 1 a",
    ] {
        assert!(
            keyspace.run_line(request).starts_with("-WRONGTYPE"),
            "{request}"
        );
    }
}

#[test]
fn hgetex_reads_and_changes() {
    let mut keyspace = filled();
    let reply = keyspace.run_line("HGETEX h PX 100 FIELDS 2 a nosuch");
    assert_eq!(reply, "*2\r\n$1\r\n1\r\n$-1\r\n");
    assert_eq!(keyspace.run_line("HPTTL h FIELDS 1 a"), "*1\r\n:100\r\n");
    assert_eq!(
        keyspace.run_line("HGETEX h FIELDS 1 a"),
        "*1\r\n$1\r\n1\r\n"
    );
    assert_eq!(keyspace.run_line("HPTTL h FIELDS 1 a"), "*1\r\n:100\r\n");
    keyspace.run_line("HGETEX h PERSIST FIELDS 1 a");
    assert_eq!(keyspace.run_line("HPTTL h FIELDS 1 a"), "*1\r\n:-1\r\n");
    assert_eq!(
        keyspace.run_line("HGETEX h PXAT 1 FIELDS 1 a"),
        "*1\r\n$1\r\n1\r\n"
    );
    assert_eq!(keyspace.run_line("HEXISTS h a"), ":0\r\n");
}
