//! Random requests, made of the arguments at which implementations differ.
//!
//! Left out, because the two are known to differ there (the front page of the crate's documentation
//! says why): `OBJECT ENCODING` of values that INCRBYFLOAT, or a SETBIT or BITFIELD that changed
//! nothing, has touched; `OBJECT REFCOUNT` of copies. A sequence has either those commands or
//! `OBJECT`, never both.

use super::arguments::{
    bit_offset, float, integer, key, milliseconds, option, seconds, unix_milliseconds,
    unix_seconds, value, word,
};
use super::random::Random;
use brickyard_command::OwnedArgs;

pub(crate) fn sequence(random: &mut Random, length: u64) -> Vec<OwnedArgs> {
    let is_about_floats = random.once_in(8);
    let looks_inside = random.once_in(4);
    (0..length)
        .map(|_| {
            let words = if is_about_floats {
                incrbyfloat(random)
            } else {
                request(random, looks_inside)
            };
            words.into_iter().collect()
        })
        .collect()
}

type Words = Vec<Vec<u8>>;

fn request(random: &mut Random, looks_inside: bool) -> Words {
    let range = if looks_inside { 80 } else { 105 };
    let mut words = match random.below(range) {
        _ if random.once_in(4) => hash(random),
        0..8 => set(random),
        8..12 => keyed(random, "get"),
        12..14 => with_value(random, "setnx"),
        14..16 => with_value(random, "getset"),
        16..19 => timed_value(random, "setex"),
        19..21 => timed_value(random, "psetex"),
        21..24 => getex(random),
        24..26 => keyed(random, "getdel"),
        26..28 => many_keys(random, "mget"),
        28..30 => pairs(random, "mset"),
        30..32 => pairs(random, "msetnx"),
        32..36 => with_value(random, "append"),
        36..38 => keyed(random, "strlen"),
        38..41 => ranged(random),
        41..44 => setrange(random),
        44..47 => keyed_any(random, &["incr", "decr"]),
        47..50 => with_integer(random, &["incrby", "decrby"]),
        50..55 => many_keys_any(random, &["del", "unlink", "exists", "touch"]),
        55..61 => expire(random),
        61..65 => keyed_any(random, &["ttl", "pttl", "expiretime", "pexpiretime"]),
        65..67 => keyed_any(random, &["persist", "type"]),
        67..71 => rename(random),
        71..73 => malformed(random),
        73..75 => bit_reads(random),
        75..77 => bitop(random),
        77..80 if looks_inside => object(random),
        77..80 => lcs(random),
        80..84 => copy(random),
        84..90 => incrbyfloat(random),
        90..95 => setbit(random),
        _ => bitfield(random),
    };
    // Names are found in any case.
    if random.once_in(8) {
        words[0].make_ascii_uppercase();
    }
    if random.once_in(60) {
        words.pop();
    }
    if random.once_in(60) {
        words.push(value(random));
    }
    if words.len() == 2 && words[0].eq_ignore_ascii_case(b"hrandfield") {
        words.push(word("0"));
    }
    if words.is_empty() {
        words.push(b"get".to_vec());
    }
    words
}

/// In any case, most often as documented.
fn keyed(random: &mut Random, name: &str) -> Words {
    vec![word(name), key(random)]
}

fn keyed_any(random: &mut Random, names: &[&str]) -> Words {
    let name = random.pick(names);
    keyed(random, name)
}

fn with_value(random: &mut Random, name: &str) -> Words {
    vec![word(name), key(random), value(random)]
}

fn with_integer(random: &mut Random, names: &[&str]) -> Words {
    vec![word(random.pick(names)), key(random), integer(random)]
}

fn many_keys(random: &mut Random, name: &str) -> Words {
    let mut words = vec![word(name)];
    words.extend((0..1 + random.below(4)).map(|_| key(random)));
    words
}

fn many_keys_any(random: &mut Random, names: &[&str]) -> Words {
    let name = random.pick(names);
    many_keys(random, name)
}

fn pairs(random: &mut Random, name: &str) -> Words {
    let mut words = vec![word(name)];
    for _ in 0..1 + random.below(3) {
        words.push(key(random));
        words.push(value(random));
    }
    words
}

/// A time to live: never one that would run out while a sequence runs.
/// A Unix time, past or far off.
fn expiry(random: &mut Random, words: &mut Words) {
    let (name, text) = match random.below(4) {
        0 => ("EX", seconds(random)),
        1 => ("PX", milliseconds(random)),
        2 => ("EXAT", unix_seconds(random)),
        _ => ("PXAT", unix_milliseconds(random)),
    };
    words.push(option(random, name));
    if !random.once_in(30) {
        words.push(text);
    }
}

fn set(random: &mut Random) -> Words {
    let mut words = with_value(random, "set");
    if random.once_in(5000) {
        words[2] = vec![b'v'; 1 << 20];
    }
    for _ in 0..random.below(4) {
        match random.below(8) {
            0 => words.push(option(random, "NX")),
            1 => words.push(option(random, "XX")),
            2 | 3 => words.push(option(random, "GET")),
            4 => words.push(option(random, "KEEPTTL")),
            5 if random.once_in(4) => words.push(option(random, "PERSIST")),
            6 if random.once_in(8) => words.push(value(random)),
            _ => expiry(random, &mut words),
        }
    }
    words
}

fn timed_value(random: &mut Random, name: &str) -> Words {
    let time = if name == "setex" {
        seconds(random)
    } else {
        milliseconds(random)
    };
    vec![word(name), key(random), time, value(random)]
}

fn getex(random: &mut Random) -> Words {
    let mut words = keyed(random, "getex");
    for _ in 0..random.below(3) {
        match random.below(6) {
            0 => words.push(option(random, "PERSIST")),
            1 if random.once_in(3) => words.push(option(random, "KEEPTTL")),
            _ => expiry(random, &mut words),
        }
    }
    words
}

fn ranged(random: &mut Random) -> Words {
    let name = random.pick(&["getrange", "substr"]);
    vec![word(name), key(random), integer(random), integer(random)]
}

fn setrange(random: &mut Random) -> Words {
    let offset = match random.below(8) {
        0 => integer(random),
        1 if random.once_in(40) => word("67108863"),
        1 => word(random.pick(&["67108864", "67108865", "536870912"])),
        _ => random.below(60).to_string().into_bytes(),
    };
    vec![word("setrange"), key(random), offset, value(random)]
}

fn expire(random: &mut Random) -> Words {
    let (name, time) = match random.below(4) {
        0 => ("expire", seconds(random)),
        1 => ("pexpire", milliseconds(random)),
        2 => ("expireat", unix_seconds(random)),
        _ => ("pexpireat", unix_milliseconds(random)),
    };
    let mut words = vec![word(name), key(random), time];
    for _ in 0..random.below(3) {
        let name = random.pick(&["NX", "XX", "GT", "LT", "gt", "AB"]);
        words.push(option(random, name));
    }
    words
}

fn rename(random: &mut Random) -> Words {
    vec![
        word(random.pick(&["rename", "renamenx"])),
        key(random),
        key(random),
    ]
}

fn copy(random: &mut Random) -> Words {
    let mut words = vec![word("copy"), key(random), key(random)];
    for _ in 0..random.below(3) {
        match random.below(4) {
            0 => {
                words.push(option(random, "DB"));
                words.push(word(random.pick(&[
                    "0",
                    "0",
                    "0",
                    "16",
                    "-1",
                    "x",
                    "4294967296",
                ])));
            }
            1 if random.once_in(4) => words.push(value(random)),
            _ => words.push(option(random, "REPLACE")),
        }
    }
    words
}

fn incrbyfloat(random: &mut Random) -> Words {
    if random.once_in(3) {
        return vec![word("set"), key(random), float(random)];
    }
    vec![word("incrbyfloat"), key(random), float(random)]
}

/// Edges of integers, but none that would make a value of many megabytes.
fn setbit(random: &mut Random) -> Words {
    let bit = match random.below(6) {
        0 => integer(random),
        _ => word(random.pick(&["0", "1"])),
    };
    vec![word("setbit"), key(random), bit_offset(random), bit]
}

fn bit_reads(random: &mut Random) -> Words {
    let mut words = match random.below(3) {
        0 => return vec![word("getbit"), key(random), bit_offset(random)],
        1 => keyed(random, "bitcount"),
        _ => {
            let mut words = keyed(random, "bitpos");
            words.push(if random.once_in(10) {
                integer(random)
            } else {
                word(random.pick(&["0", "1"]))
            });
            words
        }
    };
    let numbers = random.below(4);
    for _ in 0..numbers {
        words.push(if random.once_in(6) {
            integer(random)
        } else {
            (random.below(400) as i64 - 200).to_string().into_bytes()
        });
    }
    if random.once_in(2) {
        let unit = random.pick(&["BIT", "BYTE", "bit", "byte", "bits"]);
        words.push(option(random, unit));
    }
    words
}

fn bitop(random: &mut Random) -> Words {
    let name = random.pick(&["AND", "OR", "XOR", "NOT", "NAND"]);
    let mut words = vec![word("bitop"), option(random, name), key(random)];
    words.extend((0..1 + random.below(3)).map(|_| key(random)));
    words
}

fn bitfield(random: &mut Random) -> Words {
    let name = random.pick(&["bitfield", "bitfield", "bitfield", "bitfield_ro"]);
    let mut words = vec![word(name), key(random)];
    for _ in 0..random.below(4) {
        if random.once_in(3) {
            words.push(option(random, "OVERFLOW"));
            let overflow = random.pick(&["WRAP", "SAT", "FAIL", "wrap", "sat", "fail", "FALL"]);
            words.push(word(overflow));
        }
        let action = random.pick(&["GET", "SET", "INCRBY", "INCRBY"]);
        words.push(option(random, action));
        let encoding = if random.once_in(12) {
            word(random.pick(&[
                "u64", "i65", "u0", "i0", "i", "u", "x8", "u08", "i-1", "", "i8x",
            ]))
        } else {
            let bits = 1 + random.below(63);
            let sign = random.pick(&["i", "u"]);
            let bits = random.pick(&[&8, &64, &63, &1, &bits]);
            format!(
                "{sign}{}",
                if sign == "u" { (*bits).min(63) } else { *bits }
            )
            .into_bytes()
        };
        words.push(encoding);
        let offset = match random.below(10) {
            0 => bit_offset(random),
            1..4 => format!("#{}", random.below(6)).into_bytes(),
            4 if random.once_in(4) => word(random.pick(&[
                "#",
                "#-1",
                "#4611686018427387904",
                "#9223372036854775807",
                "##1",
            ])),
            _ => random.below(100).to_string().into_bytes(),
        };
        words.push(offset);
        if action != "GET" {
            words.push(integer(random));
        }
    }
    words
}

fn lcs(random: &mut Random) -> Words {
    let mut words = vec![word("lcs"), key(random), key(random)];
    for _ in 0..random.below(4) {
        match random.below(5) {
            0 => words.push(option(random, "LEN")),
            1 => words.push(option(random, "IDX")),
            2 => words.push(option(random, "WITHMATCHLEN")),
            3 => {
                words.push(option(random, "MINMATCHLEN"));
                words.push(integer(random));
            }
            _ if random.once_in(4) => words.push(value(random)),
            _ => {}
        }
    }
    words
}

fn object(random: &mut Random) -> Words {
    let name = random.pick(&[
        "ENCODING", "ENCODING", "ENCODING", "REFCOUNT", "IDLETIME", "FREQ", "OTHER",
    ]);
    vec![word("object"), option(random, name), key(random)]
}

/// Short enough for Redis to keep them in their order.
fn field(random: &mut Random) -> Vec<u8> {
    word(random.pick(&["f", "g", "h", "", "a b", "f\r\n\0", "12"]))
}

/// A sum of them has few digits.
fn short_float(random: &mut Random) -> Vec<u8> {
    word(random.pick(&[
        "1.5", "-0.25", "3", "1e2", "5.0e3", "-7", "0.1", "nan", "inf", "x", "", " 1", "1e-5",
    ]))
}

fn field_value(random: &mut Random) -> Vec<u8> {
    let mut value = match random.below(6) {
        0 => short_float(random),
        1 | 2 => integer(random),
        _ => value(random),
    };
    value.truncate(64);
    value
}

fn hash(random: &mut Random) -> Words {
    let key = key(random);
    let named = |name: &str| vec![word(name), key.clone()];
    let mut words = match random.below(30) {
        0..7 => {
            let mut words = named(random.pick(&["hset", "hset", "hmset"]));
            for _ in 0..1 + random.below(4) {
                words.extend([field(random), field_value(random)]);
            }
            return words;
        }
        7..9 => return [named("hsetnx"), vec![field(random), field_value(random)]].concat(),
        9..12 => named(random.pick(&["hget", "hexists", "hstrlen"])),
        12..15 => {
            let mut words = named(random.pick(&["hmget", "hdel", "hdel"]));
            words.extend((0..random.below(4)).map(|_| field(random)));
            words
        }
        15..20 => return named(random.pick(&["hlen", "hgetall", "hkeys", "hvals", "type"])),
        20..24 => {
            return [named("hincrby"), vec![field(random), integer(random)]].concat();
        }
        24..26 => {
            return [
                named("hincrbyfloat"),
                vec![field(random), short_float(random)],
            ]
            .concat();
        }
        26..28 => {
            let mut words = named("hscan");
            words.push(word(random.pick(&["0", "0", "0", "1", "-1", "x", ""])));
            for _ in 0..random.below(3) {
                match random.below(4) {
                    0 => words.extend([option(random, "COUNT"), integer(random)]),
                    1 => words.extend([option(random, "MATCH"), word("*")]),
                    2 => words.extend([option(random, "MATCH"), word("[fg]*")]),
                    _ if random.once_in(4) => words.push(value(random)),
                    _ => {}
                }
            }
            return words;
        }
        // What is drawn differs; what is refused does not.
        _ => {
            let mut words = named("hrandfield");
            words.push(word(random.pick(&["0", "x", "-9223372036854775808", "0"])));
            if random.once_in(2) {
                words.push(word(random.pick(&["WITHVALUES", "withvalues", "x"])));
            }
            return words;
        }
    };
    words.push(field(random));
    words
}

fn malformed(random: &mut Random) -> Words {
    let name = random.pick(&[
        "nosuchcommand",
        "gett",
        "",
        "get\r\nset",
        "a name that is longer than sixteen bytes",
        "ge\0t",
        "client",
        "object",
        "memory",
    ]);
    let mut words = vec![word(name)];
    for _ in 0..random.below(5) {
        words.push(match random.below(4) {
            0 => vec![b'y'; random.below(200) as usize],
            1 => word("line\r\nend\0hidden"),
            2 => word("help me"),
            _ => word(random.pick(&["a", "", "nosuchsubcommand"])),
        });
    }
    words
}
