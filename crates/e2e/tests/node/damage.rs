//! Bytes flipped in the middle of a segment: found, reported with segment and offset, never served.

use brickyard_e2e::random::Random;
use brickyard_e2e::server::{Server, Setup, brickyard};
use std::fs;
use std::path::{Path, PathBuf};

const KEYS: usize = 2_000;
const VALUE_BYTES: usize = 500;

/// The number of the key whose value is damaged: in the middle, so that later records are whole.
const VICTIM: usize = KEYS / 2;

fn key(number: usize) -> String {
    format!("key:{number}")
}

fn values() -> Vec<Vec<u8>> {
    let mut random = Random::new(42);
    (0..KEYS).map(|_| random.bytes(VALUE_BYTES)).collect()
}

fn fill(server: &Server, prologue: &[&[&str]], values: &[Vec<u8>]) {
    let mut client = server.connect();
    for request in prologue {
        client.must(request);
    }
    for (number, value) in values.iter().enumerate() {
        assert!(
            client
                .call(&[b"SET", key(number).as_bytes(), value])
                .is_ok()
        );
    }
}

/// All files under a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the data folder is there") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            found.extend(files(&path))
        } else {
            found.push(path)
        }
    }
    found
}

/// Flips one bit inside `value` wherever it is on the disk; returns the segment's file and the offset.
fn damage(data: &Path, value: &[u8]) -> (PathBuf, usize) {
    for path in files(data) {
        let mut bytes = fs::read(&path).expect("a data file can be read");
        let Some(at) = bytes
            .windows(value.len())
            .position(|window| window == value)
        else {
            continue;
        };
        let middle = at + value.len() / 2;
        bytes[middle] ^= 0x10;
        fs::write(&path, bytes).expect("a data file can be written");
        return (path, middle);
    }
    panic!("no file holds the value");
}

/// Numbers in `text` that could be an offset of the damaged record: at most `offset`, and not further
/// before it than a record is long.
fn names_offset(text: &str, offset: usize) -> bool {
    let begin = offset.saturating_sub(VALUE_BYTES + 200);
    text.split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|number| number.parse::<usize>().ok())
        .any(|number| (begin..=offset).contains(&number))
}

fn assert_reported(text: &str, segment: &Path, offset: usize, who: &str) {
    let number: u64 = segment
        .file_stem()
        .and_then(|stem| stem.to_str())
        .and_then(|stem| stem.parse().ok())
        .expect("segments are called by their number");
    assert!(
        text.contains("damage"),
        "{who} does not speak of damage:\n{text}"
    );
    let names_segment = text
        .split(|letter: char| !letter.is_ascii_digit())
        .any(|digits| digits.parse() == Ok(number));
    assert!(
        names_segment,
        "{who} does not name segment {number}:\n{text}"
    );
    assert!(
        names_offset(text, offset),
        "{who} names no offset near {offset}:\n{text}"
    );
}

fn damage_is_found_and_never_served(prologue: &[&[&str]]) {
    let values = values();
    let mut server = Setup::brickyard(1).start();
    fill(&server, prologue, &values);
    server.stop();
    let data = server.data();
    let folder = data.to_str().expect("a plain path");

    let sound = brickyard(&["inspect", folder, "--verify"]);
    assert!(
        sound.status.success(),
        "a sound log does not verify:\n{}",
        sound.text()
    );

    let (segment, offset) = damage(&data, &values[VICTIM]);
    let inspected = brickyard(&["inspect", folder, "--verify"]);
    assert!(
        !inspected.status.success(),
        "damage verifies:\n{}",
        inspected.text()
    );
    assert_reported(
        &inspected.text(),
        &segment,
        offset,
        "brickyard inspect --verify",
    );

    let before = server.log().len();
    match server.try_restart() {
        Ok(()) => {
            assert_reported(
                &server.log()[before..],
                &segment,
                offset,
                "the restarted server",
            );
            let mut client = server.connect();
            for request in prologue.iter().filter(|request| request[1] == "USE") {
                client.must(request);
            }
            for (number, value) in values.iter().enumerate() {
                let reply = client.call(&["GET", &key(number)]);
                // A key of a damaged partition may be refused; what is served must be what was written.
                let is_honest = reply.is_error() || reply.as_bytes() == Some(value);
                assert!(is_honest, "{} was answered with {reply}", key(number));
                assert!(
                    number != VICTIM || reply.is_error(),
                    "the damaged value was served"
                );
            }
        }
        // Refusing to start is honest too, if it says why.
        Err(_) => assert_reported(
            &server.log()[before..],
            &segment,
            offset,
            "the refused start",
        ),
    }
}

#[test]
fn damage_in_a_ram_table_is_found_at_restart() {
    damage_is_found_and_never_served(&[]);
}

#[test]
fn damage_in_a_disk_table_is_found() {
    damage_is_found_and_never_served(&[
        &["TABLE", "CREATE", "cold", "MEDIUM", "disk"],
        &["TABLE", "USE", "cold"],
    ]);
}

/// A value of a `disk` table that goes bad while the server runs is noticed when it is read.
#[test]
fn damage_under_a_running_server_is_never_served() {
    let values = values();
    let server = Setup::brickyard(1).start();
    fill(
        &server,
        &[
            &[
                "TABLE",
                "CREATE",
                "cold",
                "MEDIUM",
                "disk",
                "MAXMEMORY",
                "200kb",
            ],
            &["TABLE", "USE", "cold"],
        ],
        &values,
    );
    let (segment, offset) = damage(&server.data(), &values[0]);
    let mut client = server.connect();
    client.must(&["TABLE", "USE", "cold"]);
    let reply = client.call(&["GET", &key(0)]);
    // Right from the cache is fine; wrong from the disk never is.
    assert!(
        reply.is_error() || reply.as_bytes() == Some(&values[0]),
        "a damaged value was served"
    );
    if reply.is_error() {
        assert_reported(&reply.text(), &segment, offset, "the error reply");
    }
    for (number, value) in values.iter().enumerate().skip(1) {
        let reply = client.call(&["GET", &key(number)]);
        assert_eq!(
            reply.as_bytes(),
            Some(&value[..]),
            "{} is not damaged",
            key(number)
        );
    }
}

/// A torn tail is no damage: a crash leaves it, the restart cuts it, nothing acknowledged is in it.
#[test]
fn torn_tail_is_cut_and_everything_before_it_is_served() {
    let values = values();
    let mut server = Setup::brickyard(1).start();
    fill(&server, &[], &values);
    server.kill();
    let last = files(&server.data())
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "seg"))
        .max()
        .expect("there is a segment");
    let bytes = fs::read(&last).expect("a segment can be read");
    let tail = values[KEYS - 1].clone();
    let end = bytes
        .windows(tail.len())
        .position(|window| window == tail)
        .expect("the last value");
    fs::write(&last, &bytes[..end + 10]).expect("a segment can be cut");
    server.restart();
    let mut client = server.connect();
    for (number, value) in values.iter().enumerate().take(KEYS - 1) {
        let reply = client.call(&["GET", &key(number)]);
        assert_eq!(
            reply.as_bytes(),
            Some(&value[..]),
            "{} was written whole",
            key(number)
        );
    }
    assert!(
        client.call(&["GET", &key(KEYS - 1)]).is_null(),
        "half a record was served"
    );
}

/// Keys of the test of what damage costs, and how many it may cost: some partitions' worth.
const MANY: usize = 20_000;
const COST_MAX: usize = MANY / 50;

fn short(number: usize) -> String {
    format!("value of {number}.")
}

/// Flips bytes of the record that holds a value, each a distance from where the record's header starts.
fn flip(path: &Path, number: usize, places: &[usize]) {
    let mut bytes = fs::read(path).expect("a segment can be read");
    let (name, value) = (key(number), short(number));
    let body = format!("{name}{value}");
    let found = bytes
        .windows(body.len())
        .position(|it| it == body.as_bytes());
    let header = found.expect("the segment has the record") - 48;
    for place in places {
        bytes[header + place] ^= 0x08;
    }
    fs::write(path, bytes).expect("a segment can be written");
}

/// One node, and nobody to ask. What is known to be whole is served: a wrong header costs the keys of the partition whose ops
/// it lacks, a rotten value those of its own.
#[test]
fn damage_costs_the_keys_that_it_can_have_touched() {
    let mut server = Setup::brickyard(1).start();
    let mut client = server.connect();
    for number in 0..MANY {
        assert!(client.call(&["SET", &key(number), &short(number)]).is_ok());
    }
    drop(client);
    server.kill();
    let segments = files(&server.data()).into_iter();
    let mut segments = segments.filter(|path| path.extension().is_some_and(|it| it == "seg"));
    let segment = segments.next().expect("a segment");
    // Table and partition of one record; a byte of the value of another.
    flip(&segment, MANY / 2, &[21, 24]);
    flip(&segment, MANY / 2 + MANY / 10, &[48 + 12]);
    server.try_restart().expect("the server starts");

    let mut client = server.connect();
    let mut refused = Vec::new();
    for number in 0..MANY {
        let reply = client.call(&["GET", &key(number)]);
        if reply.is_error_with("DAMAGED") {
            refused.push(number);
        } else {
            assert_eq!(reply.text(), short(number), "{}", key(number));
        }
    }
    assert!(refused.contains(&(MANY / 2)), "its record is lost");
    assert!(
        refused.contains(&(MANY / 2 + MANY / 10)),
        "its value is lost"
    );
    let count = refused.len();
    assert!(
        count < COST_MAX,
        "{count} keys are refused for two that are lost"
    );
}
