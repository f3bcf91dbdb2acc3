//! Records whose checksums were looked at, and that are handed on as such.
//!
//! In:  bytes of a disk ([`verify`]). Out: their record; or buffers full of records, which are read without
//! another look at the checksums.
//!
//! Invariants:
//! - [`verify`] is the only way to a [`Verified`], and that the only way into [`VerifiedRecords`], whose bytes
//!   nobody changes. So what was read is checked where it was read, once, and nobody can forget it.

use super::{
    CheckedHeader, DecodeError, HEADER_BYTES, Header, Record, decode_header, read_body, read_header,
};

/// A record whose checksums matched, with the bytes that it was read from.
#[derive(Clone, Copy, Debug)]
pub struct Verified<'a> {
    record: Record<'a>,
    bytes: &'a [u8],
}

/// Many of them, with where in its segment each stands.
#[derive(Clone, Debug, Default)]
pub struct VerifiedRecords {
    /// Whole records, back to back.
    bytes: Vec<u8>,
    places: Vec<Place>,
}

/// Where a record starts.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// In its segment.
    offset: u32,
    /// In the buffer.
    start: usize,
}

/// Reads and checks the record at the start of `bytes`.
///
/// # Errors
/// As [`super::decode`].
pub fn verify(bytes: &[u8]) -> Result<Verified<'_>, DecodeError> {
    let head = decode_header(bytes)?;
    let Some(body) = bytes.get(HEADER_BYTES..head.len) else {
        return Err(DecodeError::Short { need: head.len });
    };
    let got = crc32fast::hash(body);
    if got != head.body_crc {
        return Err(DecodeError::Body {
            partition: head.header.partition,
            op: head.header.op,
            len: head.len,
            expected: head.body_crc,
            got,
        });
    }
    Ok(Verified {
        record: read_body(&head, body)?,
        bytes: &bytes[..head.len],
    })
}

impl<'a> Verified<'a> {
    /// The record.
    #[must_use]
    pub const fn record(&self) -> Record<'a> {
        self.record
    }
}

impl VerifiedRecords {
    /// None yet, and room for so many bytes.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            places: Vec::new(),
        }
    }

    /// One more, which starts at `offset` of its segment.
    pub fn push(&mut self, offset: u32, verified: &Verified<'_>) {
        let start = self.bytes.len();
        self.places.push(Place { offset, start });
        self.bytes.extend_from_slice(verified.bytes);
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Bytes of all of them.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// The record with this index, and where in the segment it starts.
    ///
    /// # Panics
    /// If its bytes are not what was verified (a bug of this file).
    #[must_use]
    pub fn get(&self, index: usize) -> Option<(u32, Record<'_>)> {
        let (place, head, bytes) = self.head(index)?;
        let record = read_body(&head, &bytes[HEADER_BYTES..head.len]);
        Some((place.offset, record.expect("it was read when verified")))
    }

    /// Its header alone; `request`, `origin` and `committed` are in the body, and are not looked at.
    ///
    /// # Panics
    /// As [`Self::get`].
    #[must_use]
    pub fn header(&self, index: usize) -> Option<Header> {
        self.head(index).map(|(_, head, _)| head.header)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Record<'_>)> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Where a record starts, its header, and the bytes from there on.
    fn head(&self, index: usize) -> Option<(Place, CheckedHeader, &[u8])> {
        let place = *self.places.get(index)?;
        let bytes = &self.bytes[place.start..];
        let header = bytes.first_chunk().expect("whole records were put in");
        let head = read_header(header).expect("it was read when verified");
        Some((place, head, bytes))
    }
}

#[cfg(test)]
mod verified_test {
    use super::*;
    use crate::record::{Kind, encode};
    use crate::{Op, PartitionId, SegmentId, TableId, View};

    fn raw(op: u64, origin: Option<SegmentId>, key: &[u8], value: &[u8]) -> Vec<u8> {
        let header = Header {
            kind: Kind::Put,
            flags: 0,
            table: TableId(1),
            partition: PartitionId(2),
            view: View(3),
            op: Op(op),
            expires_at: None,
            request: None,
            origin,
            committed: None,
        };
        let mut bytes = Vec::new();
        encode(&mut bytes, &header, key, &[value]);
        bytes
    }

    #[test]
    fn records_come_out_as_they_went_in() {
        let all = [
            raw(1, None, b"", b""),
            raw(2, Some(SegmentId(7)), b"key", &[5; 300]),
            raw(3, None, b"k", b"v"),
        ];
        let mut records = VerifiedRecords::with_capacity(10);
        for (at, bytes) in all.iter().enumerate() {
            // What follows in the buffer is not the record's.
            let longer = [bytes, &b"rest"[..]].concat();
            records.push(at as u32 * 1000, &verify(&longer).unwrap());
        }
        assert_eq!((records.len(), records.is_empty()), (3, false));
        assert_eq!(records.byte_len(), all.concat().len());
        let expected = all.iter().enumerate();
        let expected = expected.map(|(at, bytes)| (at as u32 * 1000, verify(bytes).unwrap()));
        assert!(
            records
                .iter()
                .eq(expected.clone().map(|(at, it)| (at, it.record())))
        );
        for (index, (_, verified)) in expected.enumerate() {
            let header = Header {
                origin: None,
                ..verified.record().header
            };
            assert_eq!(records.header(index), Some(header));
        }
        assert_eq!((records.get(3), records.header(3)), (None, None));
    }

    #[test]
    fn no_flipped_bit_is_verified() {
        let sound = raw(1, Some(SegmentId(7)), b"key", b"value");
        assert!(verify(&sound).is_ok());
        for bit in 0..sound.len() * 8 {
            let mut bytes = sound.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&bytes).is_err(), "bit {bit}");
        }
        assert!(verify(&sound[..sound.len() - 1]).is_err(), "too short");
    }
}
