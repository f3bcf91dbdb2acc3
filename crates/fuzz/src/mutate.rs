//! Inputs out of inputs: bits, bytes, numbers, pieces. One seed, one sequence.

/// Numbers at which decoders take a turn.
const NUMBERS: [u64; 18] = [
    0,
    1,
    2,
    7,
    8,
    16,
    63,
    64,
    127,
    128,
    255,
    256,
    32_767,
    65_535,
    1 << 31,
    u32::MAX as u64,
    i64::MAX as u64,
    u64::MAX,
];

/// What texts are made of.
const WORDS: [&[u8]; 18] = [
    b"\r\n",
    b"\n\n",
    b"*-1\r\n",
    b"$-1\r\n",
    b"\"",
    b"\\x00",
    b"{",
    b"[",
    b",",
    b": ",
    b"nan",
    b"-inf",
    b"1e309",
    b"18446744073709551616",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\0",
    b"#",
];

/// A sequence of numbers (xorshift64*).
#[derive(Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }

    /// Below `bound`, which is not 0.
    pub(crate) const fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Longest input that is made.
const LEN_MAX: usize = 4096;

/// Another input out of one of these.
pub(crate) fn input(chance: &mut Chance, seeds: &[Vec<u8>]) -> Vec<u8> {
    let pick = |chance: &mut Chance| match seeds.len() {
        0 => &[][..],
        count => &seeds[chance.below(count)][..],
    };
    let mut bytes = pick(chance).to_vec();
    // Mostly a few changes, so that what is behind a checksum or a length is reached.
    let changes = 1 << chance.below(5);
    for _ in 0..changes {
        let other = pick(chance);
        change(chance, &mut bytes, other);
    }
    bytes.truncate(LEN_MAX);
    bytes
}

fn change(chance: &mut Chance, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = chance.below(bytes.len() + 1);
    let rest = bytes.len() - at;
    let some = |chance: &mut Chance, len: usize| chance.below(len.min(64) + 1);
    match chance.below(10) {
        0 if rest > 0 => bytes[at] ^= 1 << chance.below(8),
        1 if rest > 0 => bytes[at] = chance.next() as u8,
        2 | 3 => {
            let number = NUMBERS[chance.below(NUMBERS.len())];
            let number = number.wrapping_add(chance.below(3) as u64).wrapping_sub(1);
            let all = if chance.below(4) == 0 {
                number.to_be_bytes()
            } else {
                number.to_le_bytes()
            };
            let width = 1 << chance.below(4);
            for (byte, new) in bytes[at..].iter_mut().zip(&all[..width]) {
                *byte = *new;
            }
        }
        4 => {
            let len = some(chance, rest);
            bytes.drain(at..at + len);
        }
        5 => {
            let len = some(chance, rest);
            let piece = bytes[at..at + len].to_vec();
            let to = chance.below(bytes.len() + 1);
            bytes.splice(to..to, piece);
        }
        6 => {
            let word = WORDS[chance.below(WORDS.len())];
            bytes.splice(at..at, word.iter().copied());
        }
        7 if !other.is_empty() => {
            let from = chance.below(other.len());
            let len = some(chance, other.len() - from);
            bytes.splice(at..at, other[from..from + len].iter().copied());
        }
        8 => bytes.truncate(at),
        _ => {
            // A number that is text counts on, or gets longer.
            let digit = bytes[at..].iter().position(u8::is_ascii_digit);
            if let Some(digit) = digit {
                let new = b'0' + chance.below(10) as u8;
                if chance.below(2) == 0 {
                    bytes[at + digit] = new;
                } else {
                    bytes.insert(at + digit, new);
                }
            }
        }
    }
}
