//! Random arguments: those at which implementations differ, and a few ordinary ones.

use super::random::Random;

pub(crate) fn word(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

pub(crate) fn option(random: &mut Random, text: &str) -> Vec<u8> {
    let mut option = word(text);
    if random.once_in(3) {
        option.make_ascii_lowercase();
    }
    option
}

pub(crate) fn key(random: &mut Random) -> Vec<u8> {
    const KEYS: [&[u8]; 6] = [b"a", b"b", b"c", b"", b"k\0\xff\r\n", b"{tag}d"];
    // Few keys, so that requests meet one another.
    let count = if random.once_in(4) { KEYS.len() } else { 2 };
    KEYS[random.below(count as u64) as usize].to_vec()
}

pub(crate) fn integer(random: &mut Random) -> Vec<u8> {
    const EDGES: [&str; 24] = [
        "0",
        "1",
        "-1",
        "2",
        "10",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551616",
        "99999999999999999999999",
        "+1",
        "-0",
        "00",
        "01",
        " 1",
        "1 ",
        "1.0",
        "0x1",
        "1e3",
        "",
        "-",
        "abc",
        "1\0",
    ];
    match random.below(4) {
        0 => word(EDGES[random.below(EDGES.len() as u64) as usize]),
        1 => (random.below(200) as i64 - 100).to_string().into_bytes(),
        2 => (random.next() as i64).to_string().into_bytes(),
        _ => random.below(50).to_string().into_bytes(),
    }
}

pub(crate) fn float(random: &mut Random) -> Vec<u8> {
    const EDGES: [&str; 52] = [
        "0.1",
        "0.2",
        "3.0e3",
        "-1.5",
        "1e400",
        "1e4932",
        "1e4933",
        "-1e4932",
        "1.18973149535723176502e4932",
        "1.18973149535723176509e4932",
        "1e-400",
        "1e-4950",
        "3.6e-4951",
        "1.8e-4951",
        "1e-4960",
        "nan",
        "inf",
        "-inf",
        "+inf",
        "infinity",
        "Infinity",
        "0x1",
        "0x1.8p1",
        "0x.8",
        "0x",
        "0x1p",
        "0x1p-16445",
        "0x1p-16446",
        "0x1p16383",
        "0x1p16384",
        "0x1.fffffffffffffffep0",
        "0x1.ffffffffffffffffp0",
        "+1",
        "-0",
        "-0.0",
        ".5",
        "5.",
        ".",
        "",
        " 1",
        "1 ",
        "1e",
        "1e+",
        "1e+5",
        "1E-5",
        "12345678901234567890.123456789",
        "0.00000000000000000499999",
        "0.000000000000000005",
        "9223372036854775807",
        "1e19",
        "nan(1)",
        "1,5",
    ];
    match random.below(8) {
        0 | 1 => word(EDGES[random.below(EDGES.len() as u64) as usize]),
        2 => integer(random),
        3 => {
            let bits = random.below(40);
            let whole = random.below(1 << bits);
            let sign = random.pick(&["", "-", "+"]);
            let digits = random.below(25) as usize;
            let fraction: String = (0..digits)
                .map(|_| char::from(b'0' + random.below(10) as u8))
                .collect();
            format!("{sign}{whole}.{fraction}").into_bytes()
        }
        4 | 5 => {
            let mantissa = random.next() as i64;
            let exponent = random.below(60) as i64 - 30;
            format!("{mantissa}e{exponent}").into_bytes()
        }
        6 => {
            let mantissa = random.next();
            let fraction = random.next();
            let exponent = random.below(10_200) as i64 - 5_100;
            format!("{mantissa}.{fraction}e{exponent}").into_bytes()
        }
        _ => {
            let (whole, fraction) = (random.next(), random.next());
            let exponent = random.below(200) as i64 - 100;
            format!("0x{whole:x}.{fraction:x}p{exponent}").into_bytes()
        }
    }
}

pub(crate) fn value(random: &mut Random) -> Vec<u8> {
    match random.below(10) {
        0 => Vec::new(),
        1..4 => integer(random),
        4 => float(random),
        5 => vec![b'x'; 40 + random.below(10) as usize],
        6 => (0..random.below(20)).map(|_| random.next() as u8).collect(),
        7 => vec![random.pick(&[&0_u8, &0xff]).to_owned(); random.below(40) as usize],
        _ => word(random.pick(&["hello", "world", "foobar", "mynewtext", "ohmytext"])),
    }
}

pub(crate) fn seconds(random: &mut Random) -> Vec<u8> {
    match random.below(8) {
        0 => integer_without_short_times(random),
        1 => word(random.pick(&[
            "9223372036854775",
            "9223372036854776",
            "-9223372036854775",
            "-9223372036854776",
        ])),
        _ => (100_000 + random.below(1_000_000_000))
            .to_string()
            .into_bytes(),
    }
}

pub(crate) fn milliseconds(random: &mut Random) -> Vec<u8> {
    match random.below(8) {
        0 => integer_without_short_times(random),
        1 => word("9223372036854775807"),
        _ => (100_000_000 + random.below(1_000_000_000_000))
            .to_string()
            .into_bytes(),
    }
}

pub(crate) fn integer_without_short_times(random: &mut Random) -> Vec<u8> {
    loop {
        let text = integer(random);
        let is_short = std::str::from_utf8(&text)
            .ok()
            .and_then(|text| text.parse::<i64>().ok())
            .is_some_and(|number| (1..100_000_000).contains(&number));
        if !is_short {
            return text;
        }
    }
}

pub(crate) fn unix_seconds(random: &mut Random) -> Vec<u8> {
    match random.below(6) {
        0 => integer(random),
        1 => word(random.pick(&["1", "1000000000", "9223372036854775", "9223372036854776"])),
        _ => (10_000_000_000 + random.below(1_000_000_000))
            .to_string()
            .into_bytes(),
    }
}

pub(crate) fn unix_milliseconds(random: &mut Random) -> Vec<u8> {
    match random.below(6) {
        0 => integer(random),
        1 => word(random.pick(&["1", "1000000000000", "9223372036854775807"])),
        _ => (10_000_000_000_000 + random.below(1_000_000_000_000))
            .to_string()
            .into_bytes(),
    }
}

pub(crate) fn bit_offset(random: &mut Random) -> Vec<u8> {
    match random.below(8) {
        0 => integer_below_a_kilobyte(random),
        1 => word(random.pick(&[
            "536870912",
            "4294967295",
            "#1",
            "-1",
            "18446744073709551615",
        ])),
        _ => random.below(200).to_string().into_bytes(),
    }
}

pub(crate) fn integer_below_a_kilobyte(random: &mut Random) -> Vec<u8> {
    loop {
        let text = integer(random);
        let is_large = std::str::from_utf8(&text)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
            .is_some_and(|number| (8_192..1 << 29).contains(&number));
        if !is_large {
            return text;
        }
    }
}
