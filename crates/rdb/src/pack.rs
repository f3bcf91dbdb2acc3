//! Elements that a server keeps as one run of bytes: listpacks, and the ziplists of Redis before 7.
//!
//! In:  such a run. Out: its elements, or what is wrong.
//!
//! Invariant: every length in it is checked against what there is.

/// An element, as bytes; a number is written in decimal.
pub(super) type Element = Vec<u8>;

const CUT: &str = "a run of elements is cut off";

/// The elements of a listpack.
pub(super) fn listpack(bytes: &[u8]) -> Result<Vec<Element>, &'static str> {
    // Its length and the number of its elements, which are counted here.
    let mut rest = bytes.get(6..).ok_or(CUT)?;
    let mut elements = Vec::new();
    loop {
        let first = *rest.first().ok_or(CUT)?;
        if first == 0xff {
            return Ok(elements);
        }
        let (element, len) = listpack_element(first, rest)?;
        // Behind it its length once more, to go backwards.
        let back = match len {
            0..0x80 => 1,
            0x80..0x4000 => 2,
            0x4000..0x20_0000 => 3,
            0x20_0000..0x1000_0000 => 4,
            _ => 5,
        };
        elements.push(element);
        rest = rest.get(len + back..).ok_or(CUT)?;
    }
}

/// The element at the front of `bytes`, and how long it is with its head.
fn listpack_element(first: u8, bytes: &[u8]) -> Result<(Element, usize), &'static str> {
    let text = |head: usize, len: usize| -> Result<(Element, usize), &'static str> {
        let end = head.checked_add(len).ok_or(CUT)?;
        Ok((bytes.get(head..end).ok_or(CUT)?.to_vec(), end))
    };
    let byte = |at: usize| bytes.get(at).copied().map(usize::from).ok_or(CUT);
    let number = |number: i64, len: usize| Ok((decimal(number), len));
    match first {
        0..0x80 => number(i64::from(first), 1),
        0x80..0xc0 => text(1, usize::from(first & 0x3f)),
        0xc0..0xe0 => {
            let bits = i64::from(first & 0x1f) << 8 | byte(1)? as i64;
            // 13 bits with their sign.
            number(
                if bits >= 1 << 12 {
                    bits - (1 << 13)
                } else {
                    bits
                },
                2,
            )
        }
        0xe0..0xf0 => text(2, usize::from(first & 0x0f) << 8 | byte(1)?),
        0xf0 => text(5, integer::<4>(bytes, 1)?.cast_unsigned() as u32 as usize),
        0xf1 => number(integer::<2>(bytes, 1)?, 3),
        0xf2 => number(integer::<3>(bytes, 1)?, 4),
        0xf3 => number(integer::<4>(bytes, 1)?, 5),
        0xf4 => number(integer::<8>(bytes, 1)?, 9),
        _ => Err("an element of a listpack has an unknown form"),
    }
}

/// The elements of a ziplist.
pub(super) fn ziplist(bytes: &[u8]) -> Result<Vec<Element>, &'static str> {
    // Its length, where its last element is, and the number of its elements.
    let mut rest = bytes.get(10..).ok_or(CUT)?;
    let mut elements = Vec::new();
    loop {
        let first = *rest.first().ok_or(CUT)?;
        if first == 0xff {
            return Ok(elements);
        }
        // The length of the element before it.
        rest = rest.get(if first < 0xfe { 1 } else { 5 }..).ok_or(CUT)?;
        let (element, len) = ziplist_element(rest)?;
        elements.push(element);
        rest = rest.get(len..).ok_or(CUT)?;
    }
}

fn ziplist_element(bytes: &[u8]) -> Result<(Element, usize), &'static str> {
    let text = |head: usize, len: usize| -> Result<(Element, usize), &'static str> {
        let end = head.checked_add(len).ok_or(CUT)?;
        Ok((bytes.get(head..end).ok_or(CUT)?.to_vec(), end))
    };
    let byte = |at: usize| bytes.get(at).copied().map(usize::from).ok_or(CUT);
    let number = |number: i64, len: usize| Ok((decimal(number), len));
    let first = *bytes.first().ok_or(CUT)?;
    match first {
        0..0x40 => text(1, usize::from(first)),
        0x40..0x80 => text(2, usize::from(first & 0x3f) << 8 | byte(1)?),
        0x80..0xc0 => {
            let len = bytes.get(1..5).and_then(|it| it.first_chunk::<4>());
            text(5, u32::from_be_bytes(*len.ok_or(CUT)?) as usize)
        }
        0xc0 => number(integer::<2>(bytes, 1)?, 3),
        0xd0 => number(integer::<4>(bytes, 1)?, 5),
        0xe0 => number(integer::<8>(bytes, 1)?, 9),
        0xf0 => number(integer::<3>(bytes, 1)?, 4),
        0xfe => number(integer::<1>(bytes, 1)?, 2),
        0xf1..=0xfd => number(i64::from(first & 0x0f) - 1, 1),
        _ => Err("an element of a ziplist has an unknown form"),
    }
}

/// A number of `N` bytes with its sign, the lowest byte first.
fn integer<const N: usize>(bytes: &[u8], at: usize) -> Result<i64, &'static str> {
    let bytes = bytes.get(at..at + N).ok_or(CUT)?;
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(bytes);
    let unused = 64 - 8 * N as u32;
    Ok(i64::from_le_bytes(wide) << unused >> unused)
}

fn decimal(number: i64) -> Element {
    number.to_string().into_bytes()
}
