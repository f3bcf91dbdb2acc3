use crate::args::OwnedArgs;
use crate::testing::MemoryKeyspace;
use brickyard_types::UnixMillis;
use brickyard_wire::Protocol;

fn dump(keyspace: &mut MemoryKeyspace, key: &str) -> Vec<u8> {
    let request: OwnedArgs = ["DUMP", key].iter().collect();
    let reply = keyspace.run(Protocol::Resp2, &request);
    let begin = reply.windows(2).position(|it| it == b"\r\n").unwrap() + 2;
    reply[begin..reply.len() - 2].to_vec()
}

fn restore(keyspace: &mut MemoryKeyspace, words: &[&[u8]]) -> String {
    let request: OwnedArgs = [&[&b"RESTORE"[..]], words].concat().iter().collect();
    String::from_utf8(keyspace.run(Protocol::Resp2, &request)).unwrap()
}

#[test]
fn what_was_dumped_comes_back() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("SET s value");
    keyspace.run_line("HSET h a 1 b 2");
    keyspace.run_line("HPEXPIRE h 500 FIELDS 1 b");
    for (key, copy) in [("s", "t"), ("h", "i")] {
        let payload = dump(&mut keyspace, key);
        assert_eq!(
            restore(&mut keyspace, &[copy.as_bytes(), b"0", &payload]),
            "+OK\r\n"
        );
        assert_eq!(dump(&mut keyspace, copy), payload);
        let taken = restore(&mut keyspace, &[copy.as_bytes(), b"0", &payload]);
        assert_eq!(taken, "-BUSYKEY Target key name already exists.\r\n");
    }
    assert_eq!(keyspace.run_line("GET t"), "$5\r\nvalue\r\n");
    assert_eq!(
        keyspace.run_line("HPTTL i FIELDS 2 a b"),
        "*2\r\n:-1\r\n:500\r\n"
    );
    // Of another type, with an expiry.
    let payload = dump(&mut keyspace, "h");
    restore(&mut keyspace, &[b"s", b"700", &payload, b"REPLACE"]);
    assert_eq!(keyspace.run_line("TYPE s"), "+hash\r\n");
    assert_eq!(keyspace.run_line("PTTL s"), ":700\r\n");
    let at = (keyspace.now.0 + 900).to_string();
    restore(
        &mut keyspace,
        &[b"s", at.as_bytes(), &payload, b"replace", b"absttl"],
    );
    assert_eq!(keyspace.run_line("PTTL s"), ":900\r\n");
    assert_eq!(keyspace.run_line("DUMP nosuch"), "$-1\r\n");
}

#[test]
fn a_hash_of_which_nothing_is_left_makes_no_key() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("HSET h a 1");
    keyspace.run_line("HPEXPIRE h 500 FIELDS 1 a");
    let payload = dump(&mut keyspace, "h");
    keyspace.now = UnixMillis(keyspace.now.0 + 501);
    keyspace.run_line("SET i 1");
    assert_eq!(
        restore(&mut keyspace, &[b"i", b"0", &payload, b"REPLACE"]),
        "+OK\r\n"
    );
    assert_eq!(keyspace.run_line("EXISTS i"), ":0\r\n");
}

#[test]
fn what_is_no_payload_is_refused_in_the_words_of_redis() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("HSET h a 1 b 2");
    let whole = dump(&mut keyspace, "h");
    let mut flipped = whole.clone();
    flipped[3] ^= 1;
    let wrong = "-ERR DUMP payload version or checksum are wrong\r\n";
    assert_eq!(restore(&mut keyspace, &[b"k", b"0", &flipped]), wrong);
    assert_eq!(restore(&mut keyspace, &[b"k", b"0", b""]), wrong);
    // A field twice.
    let twice = brickyard_rdb::dump_hash([(&b"a"[..], &b"1"[..], None); 2].into_iter());
    let bad = "-ERR Bad data format\r\n";
    assert_eq!(restore(&mut keyspace, &[b"k", b"0", &twice]), bad);
    let none = brickyard_rdb::dump_hash(std::iter::empty());
    assert_eq!(restore(&mut keyspace, &[b"k", b"0", &none]), bad);
    for (words, error) in [
        (
            &[&b"k"[..], b"-1", &whole][..],
            "ERR Invalid TTL value, must be >= 0",
        ),
        (
            &[b"k", b"x", &whole],
            "ERR value is not an integer or out of range",
        ),
        (
            &[b"k", b"0", &whole, b"IDLETIME", b"-1"],
            "ERR Invalid IDLETIME value, must be >= 0",
        ),
        (
            &[b"k", b"0", &whole, b"FREQ", b"256"],
            "ERR Invalid FREQ value, must be >= 0 and <= 255",
        ),
        (&[b"k", b"0", &whole, b"more"], "ERR syntax error"),
    ] {
        assert_eq!(restore(&mut keyspace, words), format!("-{error}\r\n"));
    }
    assert_eq!(keyspace.run_line("EXISTS k"), ":0\r\n");
}
