//! The names of records that keep a part of a key's value, which is too large for one record.
//!
//! In:  a key, and which part of its value. Out: the name of a record, and the same of a name.
//!
//! ```text
//!  0  8 bytes  a mark, which no client's key may begin with
//!  8  u64      the value: a number that no other value of the key has had
//! 16  u32      which part of it
//! 20  key      whose value it is
//! ```
//! Numbers are little-endian.
//!
//! Invariant: a part is where its key is. Whatever asks for the slot or the routing hash of a name gets those of [`owner_of`] it.

/// What the names begin with. Not text, so that nobody comes upon it.
const MARK: [u8; 8] = [0xff, 0xb8, 0x1c, 0xe5, 0x00, 0xda, 0x7a, 0xfe];

/// Bytes before the key.
pub const PART_PREFIX_BYTES: usize = 20;

/// A part of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartName<'a> {
    /// The key.
    pub key: &'a [u8],
    /// Which of its values.
    pub value: u64,
    /// Which part of that.
    pub number: u32,
}

impl<'a> PartName<'a> {
    /// The name of the record.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut name = Vec::with_capacity(PART_PREFIX_BYTES + self.key.len());
        name.extend_from_slice(&MARK);
        name.extend_from_slice(&self.value.to_le_bytes());
        name.extend_from_slice(&self.number.to_le_bytes());
        name.extend_from_slice(self.key);
        name
    }

    /// The part that a record of this name keeps; `None`: the record is that of a key.
    #[must_use]
    pub fn decode(name: &'a [u8]) -> Option<Self> {
        let (mark, rest) = name.split_first_chunk()?;
        let (value, rest) = rest.split_first_chunk()?;
        let (number, key) = rest.split_first_chunk()?;
        (*mark == MARK).then_some(Self {
            key,
            value: u64::from_le_bytes(*value),
            number: u32::from_le_bytes(*number),
        })
    }
}

/// Whether a record of this name keeps a part of a key's value.
#[inline]
#[must_use]
pub fn is_part(name: &[u8]) -> bool {
    name.first() == Some(&MARK[0]) && PartName::decode(name).is_some()
}

/// Whether a key looks like the name of a part, so that no client may use it.
#[inline]
#[must_use]
pub fn is_reserved(key: &[u8]) -> bool {
    key.first() == Some(&MARK[0]) && key.starts_with(&MARK)
}

/// The key to whose value the record of this name belongs.
#[inline]
#[must_use]
pub fn owner_of(name: &[u8]) -> &[u8] {
    if name.first() == Some(&MARK[0]) {
        PartName::decode(name).map_or(name, |part| part.key)
    } else {
        name
    }
}

#[cfg(test)]
mod part_test {
    use super::*;

    #[test]
    fn a_name_says_whose_part_it_is() {
        for key in [&b""[..], b"k", b"{tag}key", &[0xff; 40]] {
            let part = PartName {
                key,
                value: 0x0102_0304_0506_0708,
                number: 77,
            };
            let name = part.encode();
            assert_eq!(name.len(), PART_PREFIX_BYTES + key.len());
            assert_eq!(PartName::decode(&name), Some(part));
            assert!(is_part(&name) && is_reserved(&name));
            assert_eq!(owner_of(&name), key);
        }
    }

    #[test]
    fn a_key_is_its_own_owner() {
        for key in [&b""[..], b"k", &[0xff; 40], b"\xff\xb8\x1c\xe5"] {
            assert!(!is_part(key) && !is_reserved(key));
            assert_eq!(owner_of(key), key);
        }
        // Too short for a name, and still no key for a client.
        assert!(!is_part(&MARK) && is_reserved(&MARK));
        assert_eq!(owner_of(&MARK), MARK);
    }
}
