//! What is asked of a server: which operation, on which key, with which value.
//!
//! In:  a [`Workload`]. Out: requests, written as bytes ready to send.
//!
//! Requests are copied from templates and only the key's digits, and the value, are filled in:
//! writing one takes tens of nanoseconds, so that one client core can keep a server core busy.

use crate::{
    Error,
    keys::{KeyPicker, KeySpace},
    random::Random,
    reply::Protocol,
};

/// Values are cut out of a block of this size at random places, so they differ from each other and
/// do not compress, yet stay in the processor's cache.
const VALUE_BLOCK_BYTES: usize = 64 * 1024;

/// The kinds of operation that are told apart in the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads one key.
    Get,
    /// Writes one key.
    Set,
}

impl Operation {
    /// Every operation, in the order in which reports show them.
    pub const ALL: [Self; 2] = [Self::Get, Self::Set];

    /// The word for it in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Set => "set",
        }
    }
}

/// What a run asks for.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The share of writes, from 0 (only GET) to 1 (only SET).
    pub set_share: f64,
    /// The keys.
    pub keys: KeySpace,
    /// Shortest value, in bytes.
    pub value_bytes_min: usize,
    /// Longest value, in bytes; lengths between the two are equally likely.
    pub value_bytes_max: usize,
    /// Life of what is written, in milliseconds; `None` means for ever. Not for memcached.
    pub expire_ms: Option<u64>,
}

impl Workload {
    /// Checks that the numbers make sense together.
    ///
    /// # Errors
    /// [`Error::Options`] with what to change.
    pub fn validate(&self) -> Result<(), Error> {
        self.keys.validate()?;
        if !(0.0..=1.0).contains(&self.set_share) {
            return Err(Error::options(format!(
                "the share of writes is {}; use a number from 0 to 1",
                self.set_share
            )));
        }
        if self.value_bytes_min > self.value_bytes_max {
            return Err(Error::options(format!(
                "the shortest value ({} bytes) is longer than the longest ({} bytes); swap them",
                self.value_bytes_min, self.value_bytes_max
            )));
        }
        Ok(())
    }
}

/// A request, as drawn.
#[derive(Clone, Debug)]
pub(crate) struct Draw {
    pub(crate) operation: Operation,
    key: u64,
    /// Where its value is in the block of values.
    value: std::ops::Range<usize>,
}

/// Writes the requests of a [`Workload`], one after the other.
#[derive(Debug)]
pub(crate) struct RequestWriter {
    protocol: Protocol,
    workload: Workload,
    picker: KeyPicker,
    random: Random,
    /// A draw below this is a write; `u64::MAX` stands for always.
    set_below: u64,
    values: Box<[u8]>,
    get_head: Vec<u8>,
    get_tail: &'static [u8],
    set_head: Vec<u8>,
    /// Between key and value, when every value has one length.
    set_middle: Vec<u8>,
    set_tail: Vec<u8>,
}

impl RequestWriter {
    /// A writer for share `share` of `shares` generators.
    #[must_use]
    pub(crate) fn new(
        workload: &Workload,
        protocol: Protocol,
        seed: u64,
        share: u64,
        shares: u64,
    ) -> Self {
        let mut random = Random::new(seed.wrapping_add(share.wrapping_mul(0x9e37_79b9)));
        let values = (0..VALUE_BLOCK_BYTES + workload.value_bytes_max)
            // Printable, so that a value looked at by hand does not upset the terminal.
            .map(|_| b'0' + random.below(75) as u8)
            .collect();
        let key_bytes = workload.keys.bytes;
        let (get_head, get_tail, set_head, set_tail) = match protocol {
            Protocol::Resp => {
                let expire = workload.expire_ms.map(|ms| ms.to_string());
                let arguments = if expire.is_some() { 5 } else { 3 };
                let tail = expire.map_or_else(
                    || "\r\n".to_owned(),
                    |ms| format!("\r\n$2\r\nPX\r\n${}\r\n{ms}\r\n", ms.len()),
                );
                (
                    format!("*2\r\n$3\r\nGET\r\n${key_bytes}\r\n").into_bytes(),
                    &b"\r\n"[..],
                    format!("*{arguments}\r\n$3\r\nSET\r\n${key_bytes}\r\n").into_bytes(),
                    tail.into_bytes(),
                )
            }
            Protocol::Memcached => (
                b"get ".to_vec(),
                &b"\r\n"[..],
                b"set ".to_vec(),
                b"\r\n".to_vec(),
            ),
        };
        let mut set_middle = Vec::new();
        write_value_length(protocol, workload.value_bytes_max, &mut set_middle);
        Self {
            protocol,
            workload: workload.clone(),
            picker: KeyPicker::new(&workload.keys, share, shares),
            random,
            set_below: (workload.set_share * u64::MAX as f64) as u64,
            values,
            get_head,
            get_tail,
            set_head,
            set_middle,
            set_tail,
        }
    }

    /// Appends the next request to `out` and says what it is.
    #[inline]
    pub(crate) fn write(&mut self, out: &mut Vec<u8>) -> Operation {
        let Draw {
            operation,
            key,
            value,
        } = self.draw();
        match operation {
            Operation::Get => {
                out.extend_from_slice(&self.get_head);
                self.write_key(key, out);
                out.extend_from_slice(self.get_tail);
            }
            Operation::Set => {
                out.extend_from_slice(&self.set_head);
                self.write_key(key, out);
                if value.len() == self.workload.value_bytes_max {
                    out.extend_from_slice(&self.set_middle);
                } else {
                    write_value_length(self.protocol, value.len(), out);
                }
                out.extend_from_slice(&self.values[value]);
                out.extend_from_slice(&self.set_tail);
            }
        }
        operation
    }

    /// The next request, for a client that encodes it by itself.
    #[inline]
    pub(crate) fn draw(&mut self) -> Draw {
        let key = self.picker.pick(&mut self.random);
        let operation = self.operation();
        let value = match operation {
            Operation::Get => 0..0,
            Operation::Set => {
                let len = self.value_len();
                let start = self.random.below(VALUE_BLOCK_BYTES as u64) as usize;
                start..start + len
            }
        };
        Draw {
            operation,
            key,
            value,
        }
    }

    /// The name of a drawn key, over the whole of `name`.
    pub(crate) fn key_name(&self, draw: &Draw, name: &mut Vec<u8>) {
        name.clear();
        self.write_key(draw.key, name);
    }

    /// A drawn value.
    pub(crate) fn value(&self, draw: &Draw) -> &[u8] {
        &self.values[draw.value.clone()]
    }

    /// Random waiting times come from the same stream, so one seed fixes a whole run.
    pub(crate) fn waiting_time(&mut self, mean: f64) -> f64 {
        self.random.waiting_time(mean)
    }

    fn operation(&mut self) -> Operation {
        let is_set = match self.set_below {
            0 => false,
            u64::MAX => true,
            below => self.random.bits() < below,
        };
        if is_set {
            Operation::Set
        } else {
            Operation::Get
        }
    }

    fn value_len(&mut self) -> usize {
        let (min, max) = (self.workload.value_bytes_min, self.workload.value_bytes_max);
        if min == max {
            max
        } else {
            min + self.random.below((max - min + 1) as u64) as usize
        }
    }

    fn write_key(&self, number: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.workload.keys.bytes, b'0');
        KeySpace::write_name(number, &mut out[start..]);
    }
}

fn write_value_length(protocol: Protocol, len: usize, out: &mut Vec<u8>) {
    let text = match protocol {
        Protocol::Resp => format!("\r\n${len}\r\n"),
        Protocol::Memcached => format!(" 0 0 {len}\r\n"),
    };
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
#[path = "workload_test.rs"]
mod workload_test;
