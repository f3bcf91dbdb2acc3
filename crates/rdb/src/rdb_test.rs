//! Snapshots: every form of length, every type, every damage; and what a real server writes.

use super::{Item, RdbError, RdbField, RdbReader, RdbRecord, RdbValue, crc64};
use std::{
    collections::BTreeMap,
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// A snapshot with these bytes between its beginning and its end.
fn snapshot(magic: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = [magic.as_bytes(), body, &[0xff]].concat();
    let sum = crc64::update(0, &bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

fn read(bytes: &[u8]) -> Result<Vec<Item>, RdbError> {
    let mut reader = RdbReader::new(bytes)?;
    let mut items = Vec::new();
    loop {
        match reader.next_item()? {
            Item::End => return Ok(items),
            item => items.push(item),
        }
    }
}

fn record(key: &[u8], value: &[u8]) -> Item {
    Item::Record(RdbRecord {
        database: 0,
        key: key.to_vec(),
        value: RdbValue::String(value.to_vec()),
        expires_at: None,
    })
}

/// A value of a type, under the key `k`, and the string `s` behind it.
fn value(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind, 1, b'k'], body, &[0, 1, b's', 1, b'v']].concat()
}

#[test]
fn every_form_of_length_and_string_is_read() {
    let long = vec![b'x'; 300];
    let forms: [(Vec<u8>, Vec<u8>); 8] = [
        (vec![2, b'h', b'i'], b"hi".to_vec()),
        ([&[0x41, 0x2c], &long[..]].concat(), long.clone()),
        ([&[0x80, 0, 0, 1, 0x2c], &long[..]].concat(), long.clone()),
        (
            [&[0x81, 0, 0, 0, 0, 0, 0, 1, 0x2c], &long[..]].concat(),
            long,
        ),
        (vec![0xc0, 0xff], b"-1".to_vec()),
        (vec![0xc1, 0x00, 0x80], b"-32768".to_vec()),
        (vec![0xc2, 0xff, 0xff, 0xff, 0x7f], b"2147483647".to_vec()),
        (vec![0xc3, 4, 7, 0, b'a', 0x80, 0], b"aaaaaaa".to_vec()),
    ];
    for (bytes, text) in forms {
        let body = [&[0, 1, b'k'], &bytes[..]].concat();
        let items = read(&snapshot("REDIS0011", &body)).unwrap();
        assert_eq!(items, [record(b"k", &text)], "{bytes:?}");
    }
}

#[test]
fn expiry_and_database_are_those_before_the_key() {
    let mut body = vec![0xfa, 1, b'a', 1, b'b', 0xfe, 3, 0xfb, 2, 1, 0xfc];
    body.extend(1234_u64.to_le_bytes());
    body.extend([0xf8, 9, 0, 1, b'k', 1, b'v', 0xfd]);
    body.extend(7_u32.to_le_bytes());
    body.extend([0xf9, 9, 0, 1, b'l', 1, b'w', 0, 1, b'm', 1, b'x']);
    let items = read(&snapshot("REDIS0009", &body)).unwrap();
    let expected = [
        (b"k", b"v", Some(1234)),
        (b"l", b"w", Some(7000)),
        (b"m", b"x", None),
    ];
    let expected = expected.map(|(key, value, expires_at)| {
        Item::Record(RdbRecord {
            database: 3,
            key: key.to_vec(),
            value: RdbValue::String(value.to_vec()),
            expires_at,
        })
    });
    assert_eq!(
        items[0],
        Item::Announced {
            database: 3,
            keys: 2
        }
    );
    assert_eq!(items[1..], expected);
}

#[test]
fn other_types_are_passed_over_and_named() {
    let stream_end = [0, 0, 0].to_vec();
    let group = [
        &[1, 1, b'g', 0, 0, 5, 1][..],
        &[0; 24],
        &[1, 1, 1, b'c'],
        &[0; 16],
        &[1],
        &[0; 16],
    ]
    .concat();
    let stream = [&[1, 1, b'n', 1, b'l', 1, 1, 1, 0, 0, 0, 0, 1][..], &group].concat();
    let cases: Vec<(u8, Vec<u8>, &str)> = vec![
        (1, vec![2, 1, b'a', 0xc0, 1], "list"),
        (18, vec![1, 2, 1, b'a'], "list"),
        (14, vec![1, 1, b'a'], "list"),
        (10, vec![1, b'a'], "list"),
        (2, vec![1, 1, b'a'], "set"),
        (11, vec![1, b'a'], "set"),
        (20, vec![1, b'a'], "set"),
        (3, vec![2, 1, b'a', 253, 1, b'b', 1, b'1'], "sorted set"),
        (5, [&[1, 1, b'a'][..], &[0; 8]].concat(), "sorted set"),
        (17, vec![1, b'a'], "sorted set"),
        // A zipmap, of Redis before 2.6.
        (9, vec![1, b'a'], "hash"),
        (15, [&[0][..], &stream_end, &[0]].concat(), "stream"),
        (21, stream, "stream"),
        (
            7,
            vec![5, 1, 9, 5, 1, b'a', 4, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            "module value",
        ),
    ];
    for (kind, body, name) in cases {
        let items = read(&snapshot("REDIS0012", &value(kind, &body)));
        let items = items.unwrap_or_else(|error| panic!("type {kind}: {error}"));
        let other = Item::Other {
            database: 0,
            kind: name,
        };
        assert_eq!(items, [other, record(b"s", b"v")], "type {kind}");
    }
}

#[test]
fn hashes_of_every_shape_are_read() {
    let pair = |expires_at| RdbField {
        name: b"a".to_vec(),
        value: b"b".to_vec(),
        expires_at,
    };
    let timed = [&7_u64.to_le_bytes()[..], &[1, 5, 1, b'a', 1, b'b']].concat();
    let behind = [&[1, 1, b'a', 1, b'b'][..], &9_u64.to_le_bytes()].concat();
    let for_ever = [&[1, 1, b'a', 1, b'b'][..], &[0xff; 8]].concat();
    let cases = [
        ("REDIS0012", 4, vec![1, 1, b'a', 1, b'b'], None),
        ("REDIS0012", 24, timed, Some(11)),
        ("REDIS0012", 22, vec![1, 5, 1, b'a', 1, b'b'], Some(5)),
        // The same number is another shape to Valkey.
        ("VALKEY080", 22, behind, Some(9)),
        ("VALKEY080", 22, for_ever, None),
    ];
    for (magic, kind, body, expires_at) in cases {
        let items = read(&snapshot(magic, &value(kind, &body))).unwrap();
        let hash = Item::Record(RdbRecord {
            database: 0,
            key: b"k".to_vec(),
            value: RdbValue::Hash(vec![pair(expires_at)]),
            expires_at: None,
        });
        assert_eq!(items, [hash, record(b"s", b"v")], "type {kind}");
    }
}

#[test]
fn a_hash_that_is_too_long_is_told_and_passed_over() {
    let long = vec![b'x'; 40 << 20];
    let text = [&[0x80][..], &(long.len() as u32).to_be_bytes(), &long].concat();
    let body = [&[2, 1, b'a'][..], &text, &[1, b'b'], &text].concat();
    let items = read(&snapshot("REDIS0012", &value(4, &body))).unwrap();
    let too_long = Item::TooLong {
        database: 0,
        bytes: (80 << 20) + 2,
    };
    assert_eq!(items, [too_long, record(b"s", b"v")]);
}

#[test]
fn damage_is_told_with_its_offset() {
    let good = snapshot("REDIS0011", &[0, 1, b'k', 1, b'v']);
    let mut wrong_sum = good.clone();
    *wrong_sum.last_mut().unwrap() ^= 1;
    let cases = [
        (b"REDIS0099".to_vec(), "byte 0"),
        (b"SHOPPINGS".to_vec(), "byte 0"),
        (good[..11].to_vec(), "ends at byte 11"),
        (wrong_sum, "byte 15: its checksum"),
        (snapshot("REDIS0011", &[99, 1, b'k']), "the type 99"),
        (
            snapshot("REDIS0011", &[0, 1, b'k', 0xff]),
            "byte 12: a string of the form 63",
        ),
        (
            snapshot("REDIS0011", &[0, 1, b'k', 0x90]),
            "byte 12: a length that begins with 0x90",
        ),
        (
            snapshot("REDIS0011", &[0, 1, b'k', 0xc3, 2, 9, 0, b'a']),
            "shorter than announced",
        ),
    ];
    for (bytes, told) in cases {
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn lengths_that_are_lies_take_no_memory() {
    let huge = [0x81, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    for kind in [0, 1, 4, 18, 21] {
        let body = [&[kind, 1, b'k'], &huge[..]].concat();
        let told = read(&snapshot("REDIS0011", &body));
        assert!(told.is_err(), "{told:?}");
    }
    let packed = [
        &[0, 1, b'k', 0xc3, 2],
        &huge[..],
        &[0, b'a', 0, 1, b's', 1, b'v'],
    ]
    .concat();
    let items = read(&snapshot("REDIS0011", &packed)).unwrap();
    assert!(
        matches!(items[..], [Item::TooLong { .. }, Item::Record(_)]),
        "{items:?}"
    );
}

#[test]
fn bytes_behind_the_end_are_left_to_the_stream() {
    let mut bytes = snapshot("REDIS0011", &[0, 1, b'k', 1, b'v']);
    bytes.extend(b"*1\r\n");
    let mut reader = RdbReader::new(&bytes[..]).unwrap();
    while reader.next_item().unwrap() != Item::End {}
    assert_eq!(reader.offset(), bytes.len() as u64 - 4);
    assert_eq!(reader.into_rest().0, b"*1\r\n");
}

#[test]
fn no_flipped_byte_makes_a_panic_or_another_snapshot() {
    let mut body = value(21, &[0, 1, 1, 1, 0, 0, 0, 0, 0, 0]);
    body.extend(value(3, &[1, 1, b'a', 253]));
    body.extend([
        0xfe, 1, 0xfb, 1, 0, 0, 1, b'z', 0xc3, 4, 7, 0, b'a', 0x80, 0,
    ]);
    let good = snapshot("REDIS0011", &body);
    read(&good).unwrap();
    for at in 0..good.len() {
        for flip in 1..=255 {
            let mut bytes = good.clone();
            bytes[at] ^= flip;
            let is_digit = at < 9;
            let result = read(&bytes);
            // The version's digits are summed too: only another file has another right sum.
            assert!(
                result.is_err() || is_digit,
                "byte {at} ^ {flip}: {result:?}"
            );
        }
    }
    for len in 0..good.len() {
        assert!(read(&good[..len]).is_err(), "cut at {len}");
    }
}

/// A server that writes snapshots, or `None` where there is none on the machine.
struct Server {
    child: Child,
    socket: UnixStream,
}

impl Server {
    fn start(program: &str, folder: &Path) -> Option<Self> {
        let path = folder.join("socket");
        let child = Command::new(program)
            .args(["--port", "0", "--save", "", "--unixsocket"])
            .arg(&path)
            .arg("--dir")
            .arg(folder)
            .stdout(Stdio::null())
            .spawn();
        let Ok(mut child) = child else {
            eprintln!("skipped: snapshots of a real server; install {program}");
            return None;
        };
        let begin = Instant::now();
        loop {
            if let Ok(socket) = UnixStream::connect(&path) {
                return Some(Self { child, socket });
            }
            if begin.elapsed() > Duration::from_secs(30) {
                let _ = child.kill();
                panic!("{program} does not come up");
            }
            std::thread::yield_now();
        }
    }

    fn call(&mut self, words: &[&[u8]]) {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            request.extend(format!("${}\r\n", word.len()).bytes());
            request.extend_from_slice(word);
            request.extend_from_slice(b"\r\n");
        }
        self.socket.write_all(&request).unwrap();
        let mut reply = [0; 512];
        let count = self.socket.read(&mut reply).unwrap();
        assert!(
            count > 0 && reply[0] != b'-',
            "{}",
            String::from_utf8_lossy(&reply[..count])
        );
    }

    fn line(&mut self, line: &str) {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        self.call(&words);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn snapshots_of_a_real_server_are_read() {
    for program in ["redis-server", "valkey-server"] {
        let folder = tempfile::tempdir().unwrap();
        let Some(mut server) = Server::start(program, folder.path()) else {
            continue;
        };
        let mut expected: BTreeMap<Vec<u8>, (RdbValue, Option<u64>)> = BTreeMap::new();
        let texts = [
            b"".to_vec(),
            b"7".to_vec(),
            b"-300".to_vec(),
            b"70000".to_vec(),
            b"12345678901234567890".to_vec(),
            b"abc".repeat(5000),
            (0..=255).cycle().take(70_000).collect(),
        ];
        for (number, text) in texts.iter().enumerate() {
            let key = format!("string:{number}").into_bytes();
            server.call(&[b"SET", &key, text]);
            expected.insert(key, (RdbValue::String(text.clone()), None));
        }
        server.line("SET timed v PXAT 4102444800123");
        let timed = RdbValue::String(b"v".to_vec());
        expected.insert(b"timed".to_vec(), (timed, Some(4_102_444_800_123)));
        let fields = |names: &mut dyn Iterator<Item = String>| {
            let mut names: Vec<String> = names.collect();
            names.sort();
            let field = |name: String| RdbField {
                name: name.into_bytes(),
                value: b"v".to_vec(),
                expires_at: None,
            };
            RdbValue::Hash(names.into_iter().map(field).collect())
        };
        let one = fields(&mut std::iter::once("f".to_owned()));
        expected.insert(b"hash".to_vec(), (one, None));
        let many = fields(&mut (0..600).map(|number| format!("element:{number}")));
        expected.insert(b"long-hash".to_vec(), (many, None));
        for line in [
            "RPUSH list a b 7",
            "SADD ints 1 2 3",
            "SADD set a b",
            "ZADD sorted 1 a 2.5 b",
            "HSET hash f v",
            "XADD stream 1-1 f v",
            "XADD stream 1-2 f v",
            "XGROUP CREATE stream group 0",
            "XREADGROUP GROUP group one STREAMS stream >",
            "PFADD string:hll a b",
            "SELECT 2",
            "SET elsewhere v",
            "SELECT 0",
        ] {
            server.line(line);
        }
        for number in 0..600 {
            let text = format!("element:{number}");
            server.call(&[b"RPUSH", b"long-list", text.as_bytes()]);
            server.call(&[
                b"ZADD",
                b"long-sorted",
                number.to_string().as_bytes(),
                text.as_bytes(),
            ]);
            server.call(&[b"HSET", b"long-hash", text.as_bytes(), b"v"]);
            server.call(&[b"SADD", b"long-set", text.as_bytes()]);
        }
        server.line("SAVE");
        let items = read(&std::fs::read(folder.path().join("dump.rdb")).unwrap()).unwrap();
        let mut others = BTreeMap::new();
        let mut found = BTreeMap::new();
        let mut elsewhere = 0;
        for item in items {
            match item {
                Item::Record(mut it) if it.database == 0 => {
                    // A hash table has no order.
                    if let RdbValue::Hash(fields) = &mut it.value {
                        fields.sort_by(|one, other| one.name.cmp(&other.name));
                    }
                    found.insert(it.key, (it.value, it.expires_at));
                }
                Item::Record(it) => elsewhere += it.database,
                Item::Other { kind, .. } => *others.entry(kind).or_insert(0) += 1,
                Item::Announced { .. } | Item::TooLong { .. } | Item::End => {}
            }
        }
        assert!(found.remove(&b"string:hll"[..]).is_some());
        assert_eq!(found, expected, "{program}");
        assert_eq!(elsewhere, 2);
        let counts = [("list", 2), ("set", 3), ("sorted set", 2), ("stream", 1)];
        assert_eq!(others, BTreeMap::from(counts), "{program}");
    }
}
