//! Strings that a server has compressed (LZF).
//!
//! In:  compressed bytes, and how many they stand for. Out: those, or what is wrong.
//!
//! Invariant: memory grows with what has been unpacked, never with what is announced.

/// Longest run that one reference stands for: memory grows by no more at a time.
const RUN_BYTES_MAX: usize = 264;

/// Unpacks `input`, which has to give exactly `bytes`.
pub(super) fn unpack(mut input: &[u8], bytes: usize) -> Result<Vec<u8>, &'static str> {
    const CUT: &str = "a compressed string is cut off";
    // What it can be at most, should the announcement be a lie.
    let mut output = Vec::with_capacity(
        bytes
            .min(input.len().saturating_mul(RUN_BYTES_MAX))
            .min(4096),
    );
    while let Some((&control, rest)) = input.split_first() {
        let control = usize::from(control);
        if control < 32 {
            let (literal, rest) = rest.split_at_checked(control + 1).ok_or(CUT)?;
            output.extend_from_slice(literal);
            input = rest;
        } else {
            let mut rest = rest.iter();
            let mut count = control >> 5;
            if count == 7 {
                count += usize::from(*rest.next().ok_or(CUT)?);
            }
            let low = usize::from(*rest.next().ok_or(CUT)?);
            let back = ((control & 31) << 8 | low) + 1;
            let from = output
                .len()
                .checked_sub(back)
                .ok_or("a compressed string refers to what is before its beginning")?;
            // Byte by byte: a run may repeat what it writes itself.
            for at in from..from + count + 2 {
                output.push(output[at]);
            }
            input = rest.as_slice();
        }
        if output.len() > bytes {
            return Err("a compressed string is longer than announced");
        }
    }
    if output.len() == bytes {
        Ok(output)
    } else {
        Err("a compressed string is shorter than announced")
    }
}

#[cfg(test)]
mod lzf_test {
    use super::unpack;

    #[test]
    fn runs_repeat_what_they_write() {
        assert_eq!(unpack(&[0, b'a', 0x80, 0], 7).unwrap(), b"aaaaaaa");
        // Seven and more have a byte of their own for the length.
        assert_eq!(
            unpack(&[1, b'a', b'b', 0xe0, 1, 1], 12).unwrap(),
            b"abababababab"
        );
    }

    #[test]
    fn damage_is_told() {
        assert!(unpack(&[5, b'a'], 6).unwrap_err().contains("cut off"));
        assert!(unpack(&[0xe0], 6).unwrap_err().contains("cut off"));
        assert!(
            unpack(&[0, b'a', 0x80, 9], 7)
                .unwrap_err()
                .contains("before")
        );
        assert!(
            unpack(&[0, b'a', 0x80, 0], 6)
                .unwrap_err()
                .contains("longer")
        );
        assert!(
            unpack(&[0, b'a'], usize::MAX)
                .unwrap_err()
                .contains("shorter")
        );
    }
}
