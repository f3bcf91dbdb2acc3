//! The bytes of a snapshot: counted, summed, and the lengths and strings in them.
//!
//! In:  a reader. Out: bytes, lengths, strings.
//!
//! Invariant: a string takes memory as its bytes arrive, and none past the bound that the caller gives.

use super::error::RdbError;
use super::{crc64, lzf};
use std::io::{ErrorKind, Read};

/// Bytes that are read at a time.
const READ_BYTES: usize = 64 * 1024;

/// A string, or what is told of one that is too long.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Text {
    Whole(Vec<u8>),
    TooLong(u64),
}

/// How a string stands there.
enum Form {
    Plain(u64),
    Integer(i64),
    Compressed { packed: u64, bytes: u64 },
}

#[derive(Debug)]
pub(super) struct Input<R> {
    reader: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    sum: u64,
}

impl<R: Read> Input<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: vec![0; READ_BYTES],
            start: 0,
            end: 0,
            offset: 0,
            sum: 0,
        }
    }

    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) const fn sum(&self) -> u64 {
        self.sum
    }

    pub(super) const fn get_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    pub(super) fn into_rest(mut self) -> (Vec<u8>, R) {
        self.buffer.truncate(self.end);
        self.buffer.drain(..self.start);
        (self.buffer, self.reader)
    }

    pub(super) fn damaged(&self, offset: u64, what: impl Into<String>) -> RdbError {
        RdbError::Damaged {
            offset,
            what: what.into(),
        }
    }

    /// Some of the next bytes, at least one and at most `most`; they count as taken.
    fn take(&mut self, most: u64) -> Result<&[u8], RdbError> {
        if self.start == self.end {
            self.fill()?;
        }
        let count = usize::try_from(most).unwrap_or(usize::MAX);
        let count = count.min(self.end - self.start);
        let taken = &self.buffer[self.start..self.start + count];
        self.sum = crc64::update(self.sum, taken);
        self.start += count;
        self.offset += count as u64;
        Ok(taken)
    }

    fn fill(&mut self) -> Result<(), RdbError> {
        let offset = self.offset;
        loop {
            match self.reader.read(&mut self.buffer) {
                Ok(0) => return Err(RdbError::Cut { offset }),
                Ok(count) => {
                    (self.start, self.end) = (0, count);
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(RdbError::Io { offset, source }),
            }
        }
    }

    pub(super) fn byte(&mut self) -> Result<u8, RdbError> {
        let taken = self.take(1)?;
        Ok(taken.first().copied().unwrap_or_default())
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], RdbError> {
        let mut array = [0; N];
        let mut filled = 0;
        while filled < N {
            let taken = self.take((N - filled) as u64)?;
            array[filled..filled + taken.len()].copy_from_slice(taken);
            filled += taken.len();
        }
        Ok(array)
    }

    pub(super) fn skip(&mut self, mut bytes: u64) -> Result<(), RdbError> {
        while bytes > 0 {
            bytes -= self.take(bytes)?.len() as u64;
        }
        Ok(())
    }

    fn bytes(&mut self, count: u64) -> Result<Vec<u8>, RdbError> {
        let mut bytes = Vec::with_capacity(count.min(READ_BYTES as u64) as usize);
        let mut missing = count;
        while missing > 0 {
            let taken = self.take(missing)?;
            bytes.extend_from_slice(taken);
            missing -= taken.len() as u64;
        }
        Ok(bytes)
    }

    /// A length or a count.
    pub(super) fn length(&mut self) -> Result<u64, RdbError> {
        let at = self.offset;
        match self.length_or_form()? {
            Ok(length) => Ok(length),
            Err(form) => Err(self.damaged(at, format!("a length of the form {form}"))),
        }
    }

    /// A length, or the number of another form of string.
    fn length_or_form(&mut self) -> Result<Result<u64, u8>, RdbError> {
        let at = self.offset;
        let first = self.byte()?;
        Ok(match (first >> 6, first) {
            (0, _) => Ok(u64::from(first)),
            (1, _) => Ok(u64::from(first & 0x3f) << 8 | u64::from(self.byte()?)),
            (2, 0x80) => Ok(u64::from(u32::from_be_bytes(self.array()?))),
            (2, 0x81) => Ok(u64::from_be_bytes(self.array()?)),
            (2, _) => {
                return Err(self.damaged(at, format!("a length that begins with {first:#04x}")));
            }
            _ => Err(first & 0x3f),
        })
    }

    fn form(&mut self) -> Result<Form, RdbError> {
        let at = self.offset;
        Ok(match self.length_or_form()? {
            Ok(bytes) => Form::Plain(bytes),
            Err(0) => Form::Integer(i64::from(i8::from_le_bytes(self.array()?))),
            Err(1) => Form::Integer(i64::from(i16::from_le_bytes(self.array()?))),
            Err(2) => Form::Integer(i64::from(i32::from_le_bytes(self.array()?))),
            Err(3) => Form::Compressed {
                packed: self.length()?,
                bytes: self.length()?,
            },
            Err(form) => return Err(self.damaged(at, format!("a string of the form {form}"))),
        })
    }

    /// A string of at most `most` bytes; of a longer one only its length.
    pub(super) fn text(&mut self, most: usize) -> Result<Text, RdbError> {
        let at = self.offset;
        match self.form()? {
            Form::Integer(number) => Ok(Text::Whole(number.to_string().into_bytes())),
            Form::Plain(bytes) if bytes > most as u64 => {
                self.skip(bytes)?;
                Ok(Text::TooLong(bytes))
            }
            Form::Plain(bytes) => Ok(Text::Whole(self.bytes(bytes)?)),
            // What does not get smaller is not compressed; so the bound on one bounds the other.
            Form::Compressed { packed, bytes } if packed.max(bytes) > most as u64 => {
                self.skip(packed)?;
                Ok(Text::TooLong(packed.max(bytes)))
            }
            Form::Compressed { packed, bytes } => {
                let packed = self.bytes(packed)?;
                let text = lzf::unpack(&packed, bytes as usize);
                text.map(Text::Whole).map_err(|what| self.damaged(at, what))
            }
        }
    }

    pub(super) fn skip_text(&mut self) -> Result<(), RdbError> {
        match self.form()? {
            Form::Integer(_) => Ok(()),
            Form::Plain(bytes) | Form::Compressed { packed: bytes, .. } => self.skip(bytes),
        }
    }
}
