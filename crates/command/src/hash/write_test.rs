use crate::args::OwnedArgs;
use crate::keyspace::Keyspace;
use crate::testing::MemoryKeyspace;
use brickyard_types::UnixMillis;
use brickyard_wire::Protocol;

#[test]
fn fields_stay_in_the_order_in_which_they_came() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("HSET h a 1 b 2 c 3");
    keyspace.run_line("HSET h b 9 d 4");
    keyspace.run_line("HDEL h a");
    keyspace.run_line("HSET h a 5");
    let reply = keyspace.run_line("HKEYS h");
    assert_eq!(reply, "*4\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\na\r\n");
}

#[test]
fn many_fields_of_one_request_are_each_found() {
    let mut keyspace = MemoryKeyspace::default();
    let pairs = |value: &str| {
        let pairs: Vec<String> = (0..1_000).map(|n| format!("f{n} {value}{n}")).collect();
        pairs.join(" ")
    };
    assert_eq!(
        keyspace.run_line(&format!("HSET h {}", pairs("a"))),
        ":1000\r\n"
    );
    let again = format!("HSET h {} new 1 new 2", pairs("b"));
    assert_eq!(keyspace.run_line(&again), ":1\r\n");
    assert_eq!(keyspace.run_line("HLEN h"), ":1001\r\n");
    assert_eq!(keyspace.run_line("HGET h f999"), "$4\r\nb999\r\n");
    assert_eq!(keyspace.run_line("HGET h new"), "$1\r\n2\r\n");
    let names: Vec<String> = (0..1_000).map(|n| format!("f{n} f{n}")).collect();
    let request = format!("HDEL h {}", names.join(" "));
    assert_eq!(keyspace.run_line(&request), ":1000\r\n");
    assert_eq!(
        keyspace.run_line("HGETALL h"),
        "*2\r\n$3\r\nnew\r\n$1\r\n2\r\n"
    );
}

#[test]
fn a_hash_without_fields_is_no_key() {
    let mut keyspace = MemoryKeyspace::default();
    for request in [
        "HDEL h f g",
        "HGETDEL h FIELDS 1 f",
        "HPEXPIREAT h 1 FIELDS 1 f",
    ] {
        keyspace.run_line("HSET h f 1");
        keyspace.run_line(request);
        assert_eq!(keyspace.run_line("EXISTS h"), ":0\r\n", "{request}");
        assert_eq!(keyspace.run_line("TYPE h"), "+none\r\n");
    }
}

#[test]
fn a_hash_that_would_be_too_long_is_refused_and_stays() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.value_bytes_max = 100;
    keyspace.run_line("HSET h f 0123456789");
    let long = "x".repeat(90);
    let reply = keyspace.run_line(&format!("HSET h g {long}"));
    assert!(reply.starts_with("-ERR the fields of one hash"), "{reply}");
    assert_eq!(
        keyspace.run_line("HGETALL h"),
        "*2\r\n$1\r\nf\r\n$10\r\n0123456789\r\n"
    );
}

#[test]
fn hsetex_sets_all_or_nothing() {
    let mut keyspace = MemoryKeyspace::default();
    let at = keyspace.now.0 + 5_000;
    keyspace.run_line("HSET h a 1");
    assert_eq!(keyspace.run_line("HSETEX h FNX FIELDS 2 a 2 b 3"), ":0\r\n");
    assert_eq!(keyspace.run_line("HSETEX h FXX FIELDS 2 a 2 b 3"), ":0\r\n");
    assert_eq!(keyspace.run_line("HLEN h"), ":1\r\n");
    assert_eq!(
        keyspace.run_line("HSETEX h PX 5000 FIELDS 2 a 2 b 3"),
        ":1\r\n"
    );
    let times = format!("*2\r\n:{at}\r\n:{at}\r\n");
    assert_eq!(keyspace.run_line("HPEXPIRETIME h FIELDS 2 a b"), times);
    assert_eq!(
        keyspace.run_line("HSETEX h FXX KEEPTTL FIELDS 1 a 4"),
        ":1\r\n"
    );
    assert_eq!(keyspace.run_line("HPEXPIRETIME h FIELDS 2 a b"), times);
    // Without a word about it the field has no expiry any more; nor with HSET.
    assert_eq!(keyspace.run_line("HSETEX h FIELDS 1 a 5"), ":1\r\n");
    assert_eq!(keyspace.run_line("HSET h b 5"), ":0\r\n");
    assert_eq!(
        keyspace.run_line("HTTL h FIELDS 2 a b"),
        "*2\r\n:-1\r\n:-1\r\n"
    );
    assert_eq!(keyspace.run_line("HSETEX h EXAT 1 FIELDS 1 a 5"), ":1\r\n");
    assert_eq!(keyspace.run_line("HEXISTS h a"), ":0\r\n");
}

/// Valkey's words about the hash go with Redis's about its fields.
#[test]
fn hsetex_may_ask_for_a_hash_that_is_there_or_is_not() {
    let mut keyspace = MemoryKeyspace::default();
    for (request, reply) in [
        ("HSETEX h XX EX 10 FIELDS 1 a 1", ":0\r\n"),
        ("HSETEX h XX FNX FIELDS 1 a 1", ":0\r\n"),
        ("HSETEX h NX FXX FIELDS 1 a 1", ":0\r\n"),
        ("EXISTS h", ":0\r\n"),
        ("HSETEX h NX FNX EX 10 FIELDS 1 a 1", ":1\r\n"),
        ("HSETEX h NX FIELDS 1 b 2", ":0\r\n"),
        ("HSETEX h FXX xx FIELDS 1 a 3", ":1\r\n"),
        ("HGETALL h", "*2\r\n$1\r\na\r\n$1\r\n3\r\n"),
        ("HSETEX h NX XX FIELDS 1 a 1", "-ERR syntax error\r\n"),
        ("HSETEX h FNX FXX FIELDS 1 a 1", "-ERR syntax error\r\n"),
    ] {
        assert_eq!(keyspace.run_line(request), reply, "{request}");
    }
}

#[test]
fn arithmetic_keeps_a_fields_expiry() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("HSET h n 1 x 1.5");
    keyspace.run_line("HPEXPIRE h 5000 FIELDS 2 n x");
    keyspace.run_line("HINCRBY h n 4");
    keyspace.run_line("HINCRBYFLOAT h x 1");
    assert_eq!(
        keyspace.run_line("HPTTL h FIELDS 2 n x"),
        "*2\r\n:5000\r\n:5000\r\n"
    );
    assert_eq!(
        keyspace.run_line("HMGET h n x"),
        "*2\r\n$1\r\n5\r\n$3\r\n2.5\r\n"
    );
    keyspace.now = UnixMillis(keyspace.now.0 + 5_001);
    assert_eq!(keyspace.run_line("HINCRBY h n 4"), ":4\r\n");
}

/// What is written is replicated and synced, all of the hash.
#[test]
fn a_request_that_changes_no_field_writes_nothing() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("HSET h f 1 timed 2");
    keyspace.run_line("HPEXPIREAT h 2000000 FIELDS 1 timed");
    let written = keyspace.probe(b"h").unwrap();
    for request in [
        "HDEL h nosuch",
        "HSETNX h f 5",
        "HGETDEL h FIELDS 1 nosuch",
        "HSETEX h FNX FIELDS 1 f 5",
        "HSETEX h FXX FIELDS 1 nosuch 5",
        "HEXPIRE h 100 FIELDS 1 nosuch",
        "HEXPIRE h 100 XX FIELDS 1 f",
        "HPERSIST h FIELDS 2 f nosuch",
        "HGETEX h PERSIST FIELDS 1 f",
        "HGETEX h PXAT 2000000 FIELDS 2 timed nosuch",
    ] {
        keyspace.run_line(request);
        assert_eq!(keyspace.probe(b"h").unwrap(), written, "{request}");
    }
}

#[test]
fn a_value_on_disk_is_waited_for_before_anything_is_put() {
    for line in [
        "HSET h f 1",
        "HDEL h f",
        "HINCRBY h f 1",
        "HEXPIRE h 5 FIELDS 1 f",
    ] {
        let mut keyspace = MemoryKeyspace::default();
        keyspace.run_line("HSET h f 1 g 2");
        keyspace.cold.push(b"h".to_vec());
        let request: OwnedArgs = line.split(' ').collect();
        let mut out = Vec::new();
        let mut reply = brickyard_wire::Reply::new(&mut out, Protocol::Resp2);
        let outcome = keyspace.try_run(request.as_args(), &mut reply);
        assert_eq!(outcome, Err(crate::Failure::Suspend), "{line}");
        assert_eq!(keyspace.suspended, [b"h".to_vec()]);
    }
}
