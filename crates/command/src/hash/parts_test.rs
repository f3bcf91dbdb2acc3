use super::*;
use crate::args::OwnedArgs;
use crate::testing::MemoryKeyspace;
use brickyard_wire::Protocol;

/// One in which a hash with more bytes than that has parts.
fn keyspace(whole_bytes_max: usize) -> MemoryKeyspace {
    let mut it = MemoryKeyspace::default();
    it.whole_bytes_max = Some(whole_bytes_max);
    it.has_timed_parts = true;
    it
}

fn large() -> MemoryKeyspace {
    keyspace(64)
}

/// Runs a request in both; the replies must agree.
fn both(
    whole: &mut MemoryKeyspace,
    parted: &mut MemoryKeyspace,
    request: &OwnedArgs,
    is_ordered: bool,
) {
    let replies = [whole, parted].map(|it| {
        let reply = it.run(Protocol::Resp2, request);
        let reply = String::from_utf8_lossy(&reply).into_owned();
        if is_ordered {
            return vec![reply];
        }
        let mut lines: Vec<String> = reply.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    });
    assert_eq!(replies[0], replies[1], "{:?}", request.as_args());
}

fn line(text: &str) -> OwnedArgs {
    text.split(' ').collect()
}

/// Whatever commands come, a hash in parts answers as one that is one value, and has the parts that its head says.
#[test]
fn a_hash_in_parts_is_the_hash_that_it_was() {
    let mut random = 7_u64;
    let mut draw = move |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let (mut whole, mut parted) = (MemoryKeyspace::default(), large());
    let mut most = 0;
    for step in 0..6_000 {
        // It grows for a while, and shrinks for a while.
        let grows = step / 500 % 2 == 0;
        let field = draw(150);
        let request = match draw(20) {
            0..=5 if grows => line(&format!(
                "HSET h f{field} {}",
                "v".repeat(draw(30) as usize)
            )),
            6..=7 if grows => line(&format!(
                "HSET h f{field} a f{} bb f{} ccc",
                field + 1,
                draw(150)
            )),
            0..=7 => line(&format!("HDEL h f{field} f{} f{}", field + 1, draw(150))),
            8 => line(&format!("HINCRBY h n{} 3", field % 5)),
            9 => line(&format!("HINCRBYFLOAT h x{} 0.5", field % 5)),
            10 => line(&format!("HSETNX h f{field} nx")),
            11 => line(&format!("HGETDEL h FIELDS 2 f{field} f{}", draw(150))),
            12 => line(&format!("HMGET h f{field} f{} f{field}", draw(150))),
            13 => line(&format!("HSTRLEN h f{field}")),
            14 => line(&format!("HEXISTS h f{field}")),
            15 => line("HLEN h"),
            16 => line(&format!("HGET h f{field}")),
            17 => line(&format!("HTTL h FIELDS 1 f{field}")),
            18 if draw(8) == 0 => line(&format!("HPEXPIRE h 100000 FIELDS 1 f{field}")),
            18 => line("HPERSIST h FIELDS 3 f1 f2 f3"),
            _ if draw(40) == 0 => {
                line(["DEL h", "RENAME h g", "COPY g h REPLACE", "SET h x"][draw(4) as usize])
            }
            _ => line("PEXPIRE h 100000"),
        };
        let is_string = whole.run_line("TYPE h") == "+string\r\n";
        if is_string {
            both(&mut whole, &mut parted, &line("DEL h"), true);
        }
        // A rename of what is not there fails in both.
        both(&mut whole, &mut parted, &request, true);
        if whole.run_line("TYPE h") == "+hash\r\n" {
            both(&mut whole, &mut parted, &line("HGETALL h"), false);
            both(&mut whole, &mut parted, &line("PTTL h"), true);
            scan_all(&mut parted, &mut whole);
        }
        let (_, live) = parted.parts();
        most = most.max(live);
    }
    assert!(most > 20, "no hash had more than {most} parts");
}

/// A scan over all pages has every field once.
fn scan_all(parted: &mut MemoryKeyspace, whole: &mut MemoryKeyspace) {
    let (mut found, mut cursor) = (Vec::new(), "0".to_owned());
    loop {
        let reply = parted.run_line(&format!("HSCAN h {cursor} COUNT 5 NOVALUES"));
        let lines: Vec<&str> = reply.lines().collect();
        cursor = lines[2].to_owned();
        found.extend(
            lines[4..]
                .iter()
                .skip(1)
                .step_by(2)
                .map(|&it| it.to_owned()),
        );
        if cursor == "0" {
            break;
        }
    }
    let keys = whole.run_line("HKEYS h");
    let mut all: Vec<String> = keys.lines().skip(2).step_by(2).map(str::to_owned).collect();
    all.sort();
    found.sort();
    assert_eq!(found, all);
}

/// What a command costs goes by what it touches.
#[test]
fn a_command_writes_the_parts_that_it_touches() {
    let mut it = keyspace(2_048);
    for field in 0..3_000 {
        it.run_line(&format!("HSET h field:{field} value:{field}"));
    }
    let (all, live) = it.parts();
    assert_eq!(all, live, "parts of values that are gone");
    assert!(live > 50, "{live} parts");
    it.written = 0;
    it.run_line("HSET h field:77 other");
    assert!(it.written < 2_048, "{} bytes for one field", it.written);
    it.written = 0;
    it.run_line("HINCRBY h n 1");
    assert!(it.written < 4_096, "{} bytes for one new field", it.written);
}

#[test]
fn a_hash_that_becomes_small_is_one_value_again() {
    let mut it = large();
    for field in 0..40 {
        it.run_line(&format!("HSET h f{field} value{field}"));
    }
    assert!(it.parts().1 > 4);
    for field in 2..40 {
        it.run_line(&format!("HDEL h f{field}"));
    }
    assert_eq!(it.parts(), (0, 0));
    assert_eq!(it.run_line("HGET h f1"), "$6\r\nvalue1\r\n");
    it.run_line("HDEL h f0 f1");
    assert_eq!(it.run_line("EXISTS h"), ":0\r\n");
}

/// Where an earlier program is among the nodes.
#[test]
fn a_field_with_an_expiry_makes_it_one_value_where_it_must() {
    let mut it = large();
    it.has_timed_parts = false;
    for field in 0..40 {
        it.run_line(&format!("HSET h f{field} value{field}"));
    }
    it.run_line("HEXPIRE h 100 FIELDS 1 f3");
    assert_eq!(it.parts().1, 0);
    assert_eq!(
        it.run_line("HTTL h FIELDS 2 f3 f4"),
        "*2\r\n:100\r\n:-1\r\n"
    );
    it.run_line("HPERSIST h FIELDS 1 f3");
    assert!(it.parts().1 > 4);
    assert_eq!(it.run_line("HLEN h"), ":40\r\n");
}

#[test]
fn parts_that_are_not_there_are_damage() {
    let mut it = large();
    for field in 0..40 {
        it.run_line(&format!("HSET h f{field} value{field}"));
    }
    it.lose_parts();
    for request in [
        "HGET h f1",
        "HGETALL h",
        "HSET h f1 x",
        "HDEL h f1",
        "HSCAN h 0",
        "HRANDFIELD h",
    ] {
        let reply = it.run_line(request);
        assert!(reply.starts_with("-DAMAGED"), "{request}: {reply}");
    }
    // What says how to go on holds.
    assert_eq!(it.run_line("DEL h"), ":1\r\n");
    assert_eq!(it.run_line("HSET h f1 x"), ":1\r\n");
}

/// A part with a field that belongs into another one is refused, not dealt again.
#[test]
fn a_field_that_is_in_another_part_is_damage() {
    let mut it = large();
    for field in 0..40 {
        it.run_line(&format!("HSET h f{field} value{field}"));
    }
    it.swap_parts();
    for request in ["HSET h f1 x f2 y f3 z", "HDEL h f1 f2 f3 f4"] {
        let reply = it.run_line(request);
        assert!(reply.starts_with("-DAMAGED"), "{request}: {reply}");
    }
}

/// Whatever a value has for bytes, reading it as parts ends in an answer.
#[test]
fn heads_and_parts_of_any_bytes_are_refused_or_read() {
    let mut random = 3_u64;
    for _ in 0..20_000 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let len = (random >> 33) as usize % 40;
        let bytes: Vec<u8> = (0..len)
            .map(|at| match at {
                0 => 1 + (random >> 40) as u8 % 2,
                1 => 0,
                _ => (random >> (at % 8 * 8)) as u8 % 4,
            })
            .collect();
        let _ = Head::read(&bytes);
        if let Ok(fields) = Fields::of_part(&bytes) {
            assert!(fields.count() <= bytes.len());
        }
        let head = Head {
            fields: 2,
            value: 1,
            parts: 1,
            bytes: 10,
            times: None,
        };
        let mut whole = Whole::new(head);
        let _ = whole.add(&bytes).and_then(|()| whole.finish());
    }
}

/// The same with fields that expire, in a time that goes on, and whatever removes them.
#[test]
fn fields_of_a_hash_in_parts_expire_as_those_of_one_value_do() {
    let mut random = 11_u64;
    let mut draw = move |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let (mut whole, mut parted) = (MemoryKeyspace::default(), large());
    let (mut most, mut gone) = (0, 0);
    for step in 0..12_000 {
        let grows = step / 500 % 2 == 0;
        // Now and then all fields have an expiry, and the key ends with the last one.
        let all_are_timed = step / 1_000 % 3 == 2;
        let (field, other) = (draw(120), draw(120));
        let time = 1 + draw(400);
        let request = match draw(24) {
            0..=4 if grows && all_are_timed => line(&format!(
                "HSETEX h PX {time} FIELDS 2 f{field} a f{other} bbbb"
            )),
            0..=4 if grows => line(&format!(
                "HSET h f{field} {} f{other} b",
                "v".repeat(draw(20) as usize)
            )),
            5..=8 => line(&format!(
                "HPEXPIRE h {time} FIELDS 3 f{field} f{other} f{}",
                draw(120)
            )),
            9 => line(&format!("HPEXPIRE h {time} GT FIELDS 1 f{field}")),
            10 => line(&format!("HPERSIST h FIELDS 2 f{field} f{other}")),
            11 => line(&format!("HGETEX h PX {time} FIELDS 2 f{field} f{other}")),
            12 => line(&format!("HGETEX h PERSIST FIELDS 1 f{field}")),
            13 => line(&format!("HSETEX h KEEPTTL FIELDS 1 f{field} kept")),
            14 => line(&format!("HSETEX h FXX PX {time} FIELDS 1 f{field} xx")),
            15 => line(&format!("HSETEX h NX PX {time} FIELDS 1 f{field} nx")),
            16 => line(&format!("HINCRBY h n{} 3", field % 5)),
            17 => line(&format!("HPEXPIRE h {time} FIELDS 1 n{}", field % 5)),
            18 => line(&format!("HDEL h f{field} f{other} f{}", draw(120))),
            19 => line(&format!("HMGET h f{field} f{other} f{}", draw(120))),
            20 => line(&format!("HPTTL h FIELDS 3 f{field} f{other} n1")),
            21 => line(["PEXPIRE h 300", "PERSIST h", "PEXPIRE h 100000"][draw(3) as usize]),
            22 => line(["RENAME h g", "COPY g h REPLACE"][draw(2) as usize]),
            _ => line(&format!("HGET h f{field}")),
        };
        both(&mut whole, &mut parted, &request, true);
        if draw(4) == 0 {
            let later = draw(30);
            whole.now.0 += later;
            parted.now.0 += later;
        }
        match draw(6) {
            0 => prune(&mut parted, b"h", 1 + draw(4) as u32)
                .map(drop)
                .unwrap(),
            1 => drop_due(&mut parted, b"h", [0, draw(40) as u32].into_iter()).unwrap(),
            _ => {}
        }
        let reads = ["HLEN h", "PTTL h", "EXISTS h", "TYPE h"];
        reads
            .iter()
            .for_each(|it| both(&mut whole, &mut parted, &line(it), true));
        gone += u32::from(whole.run_line("EXISTS h") == ":0\r\n");
        if whole.run_line("TYPE h") == "+hash\r\n" {
            both(&mut whole, &mut parted, &line("HGETALL h"), false);
            scan_all(&mut parted, &mut whole);
        }
        let (_, live) = parted.parts();
        most = most.max(live);
    }
    assert!(most > 20, "no hash had more than {most} parts");
    assert!(gone > 50, "the hash ended {gone} times");
}

/// A round of pruning removes all that is over, some parts at a time, and knows what expires next.
#[test]
fn pruning_removes_what_is_over() {
    let mut it = large();
    for field in 0..400 {
        it.run_line(&format!("HSET h f{field} value{field}"));
        let time = if field % 2 == 0 { 100 } else { 5_000 };
        it.run_line(&format!("HPEXPIRE h {time} FIELDS 1 f{field}"));
    }
    it.run_line("HSET h stays here");
    assert!(it.parts().1 > 50);
    it.now.0 += 1_000;
    let (mut steps, written) = (1, it.written);
    while prune(&mut it, b"h", 8).unwrap() {
        steps += 1;
    }
    assert!(steps > 5, "{steps} steps");
    assert!(it.written > written);
    let head = Head::read(it.value(b"h").unwrap()).unwrap();
    assert_eq!(head.fields, 201, "{head:?}");
    assert!(!head.may_have_due(it.now), "{head:?}");
    // The next ones are over, and the round after them.
    it.now.0 += 5_000;
    assert_eq!(it.run_line("HLEN h"), ":1\r\n");
    while prune(&mut it, b"h", 8).unwrap() {}
    assert_eq!(
        it.run_line("HGETALL h"),
        "*2\r\n$5\r\nstays\r\n$4\r\nhere\r\n"
    );
    assert_eq!(it.parts(), (0, 0), "it is one value again");
}

/// A command that gives one field of many an expiry writes the part that has it.
#[test]
fn an_expiry_costs_what_it_touches() {
    let mut it = keyspace(2_048);
    for field in 0..3_000 {
        it.run_line(&format!("HSET h field:{field} value:{field}"));
    }
    it.written = 0;
    it.run_line("HEXPIRE h 100 FIELDS 1 field:77");
    assert!(it.written < 2_048, "{} bytes for one field", it.written);
    it.now.0 += 200_000;
    assert_eq!(it.run_line("HGET h field:77"), "$-1\r\n");
    assert_eq!(it.run_line("HLEN h"), ":2999\r\n");
}
