use crate::keyspace::{Keyspace, NewValue};
use crate::testing::MemoryKeyspace;
use brickyard_types::ValueType;

#[test]
fn a_field_that_is_named_again_and_again_is_reserved_for() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("HSET h f 0123456789 g x");
    let once = keyspace.run_line("HMGET h f g");
    assert_eq!(once, "*2\r\n$10\r\n0123456789\r\n$1\r\nx\r\n");
    assert_eq!(keyspace.reserved, 0);
    let names = ["f"; 9].join(" ");
    let often = keyspace.run_line(&format!("HMGET h {names}"));
    assert_eq!(often.matches("0123456789").count(), 9);
    // What it has more than the hash.
    assert!(
        (60..90).contains(&keyspace.reserved),
        "{}",
        keyspace.reserved
    );
}

#[test]
fn many_fields_of_many_are_found() {
    let mut keyspace = MemoryKeyspace::default();
    let pairs: Vec<String> = (0..300).map(|n| format!("f{n} v{n}")).collect();
    keyspace.run_line(&format!("HSET h {}", pairs.join(" ")));
    let names: Vec<String> = (0..600).step_by(2).map(|n| format!("f{n}")).collect();
    let reply = keyspace.run_line(&format!("HMGET h {}", names.join(" ")));
    assert_eq!(reply.matches("$-1").count(), 150);
    assert!(reply.contains("\r\nv298\r\n$-1\r\n"));
}

#[test]
fn a_value_that_is_no_hash_is_an_error_and_no_half_reply() {
    let mut keyspace = MemoryKeyspace::default();
    // Two fields are announced, and one is there.
    let value: [&[u8]; 2] = [&[1, 0, 2, 0, 0, 0], &[1, 1, b'a', b'b']];
    let put = NewValue {
        value: &value,
        expires_at: None,
        value_type: ValueType::Hash,
    };
    keyspace.put(b"h", put).unwrap();
    for request in ["HGETALL h", "HKEYS h", "HVALS h"] {
        let reply = keyspace.run_line(request);
        assert!(reply.starts_with("-DAMAGED"), "{request}: {reply}");
    }
    assert_eq!(keyspace.run_line("HGET h a"), "$1\r\nb\r\n");
    assert_eq!(keyspace.run_line("DEL h"), ":1\r\n");
}
