use super::*;
use crate::value::RdbField;

fn field(name: &str, value: &str, expires_at: Option<u64>) -> RdbField {
    RdbField {
        name: name.into(),
        value: value.into(),
        expires_at,
    }
}

fn dumped(fields: &[RdbField]) -> Vec<u8> {
    let fields = fields.iter();
    dump_hash(fields.map(|it| (&it.name[..], &it.value[..], it.expires_at)))
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).unwrap());
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

/// A payload with another type or body, and the sum that belongs to it.
fn payload(kind: u8, body: &[u8], version: u16) -> Vec<u8> {
    finish([&[kind], body].concat(), version)
}

#[test]
fn values_come_back_as_they_went() {
    for len in [0, 1, 63, 64, 16_383, 16_384, 70_000] {
        let text = vec![b'x'; len];
        let dumped = dump_string(&text);
        assert_eq!(restore(&dumped), Ok(RdbValue::String(text)));
    }
    let plain = vec![field("a", "1", None), field("", "", None)];
    assert_eq!(dumped(&plain)[0], 4);
    assert_eq!(restore(&dumped(&plain)), Ok(RdbValue::Hash(plain)));
    let timed = vec![
        field("a", "1", Some(1_700_000_000_005)),
        field("b", "2", None),
        field("c", "3", Some(1_700_000_000_000)),
    ];
    assert_eq!(dumped(&timed)[0], 24);
    assert_eq!(restore(&dumped(&timed)), Ok(RdbValue::Hash(timed)));
}

#[test]
fn what_servers_write_is_read() {
    // DUMP of `SET k 12` and of `HSET k f v n 12 m -3000`, by Redis 7.0.15.
    let integer = hex("00 c0 0c 0a 00 3c 2a f8 51 5c 04 bc d5");
    let text = match restore(&integer) {
        Ok(RdbValue::String(text)) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(text, b"12");
    let listpack =
        hex("10 18 18000000 0600 816602 817602 816e02 0c01 816d02 d44802 ff 0a00 2366d7c643ab432d");
    let fields = vec![
        field("f", "v", None),
        field("n", "12", None),
        field("m", "-3000", None),
    ];
    assert_eq!(restore(&listpack), Ok(RdbValue::Hash(fields)));
    let ziplist = [
        &[0_u8; 10][..],
        &[0, 1, b'f', 3, 0xfe, 0x80],
        &[3, 1, b'g', 3, 0xf3],
        &[0xff],
    ]
    .concat();
    let body = [&[ziplist.len() as u8], &ziplist[..]].concat();
    let fields = vec![field("f", "-128", None), field("g", "2", None)];
    assert_eq!(restore(&payload(13, &body, 9)), Ok(RdbValue::Hash(fields)));
    let timed = [
        &[0_u8; 6][..],
        &[0x81, b'f', 2, 0x81, b'v', 2, 0xf4],
        &1_700_000_000_000_u64.to_le_bytes(),
        &[9, 0x81, b'g', 2, 0x81, b'w', 2, 0, 1, 0xff],
    ]
    .concat();
    let body = [
        &1_700_000_000_000_u64.to_le_bytes()[..],
        &[timed.len() as u8],
        &timed[..],
    ]
    .concat();
    let fields = vec![
        field("f", "v", Some(1_700_000_000_000)),
        field("g", "w", None),
    ];
    assert_eq!(restore(&payload(25, &body, 12)), Ok(RdbValue::Hash(fields)));
}

#[test]
fn damage_is_refused() {
    let whole = dumped(&[field("name", "value", Some(5))]);
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        assert_eq!(
            restore(&bytes),
            Err(PayloadError::VersionOrChecksum),
            "{at}"
        );
        assert_eq!(restore(&whole[..at]), Err(PayloadError::VersionOrChecksum));
    }
    let later = payload(0, &[0], VERSION_MAX as u16 + 1);
    assert_eq!(restore(&later), Err(PayloadError::VersionOrChecksum));
    // Sums that are right do not make sense of these.
    let bodies: [(u8, &[u8]); 9] = [
        (0, &[]),
        (0, &[5, b'a']),
        (0, &[1, b'a', b'b']),
        (1, &[0]),
        (4, &[0x81, 255, 255, 255, 255, 255, 255, 255, 255]),
        (16, &[3, 1, 2, 3]),
        (16, &[8, 0, 0, 0, 0, 0, 0, 0xbf, 0xff]),
        (16, &[9, 0, 0, 0, 0, 0, 0, 1, 1, 0xff]),
        (13, &[12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x3f]),
    ];
    for (kind, body) in bodies {
        assert_eq!(
            restore(&payload(kind, body, 10)),
            Err(PayloadError::Format),
            "{kind} {body:?}"
        );
    }
}
