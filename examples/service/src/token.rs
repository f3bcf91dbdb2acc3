//! Names that nobody can guess and that never come twice.

use std::fmt::Write as _;
use std::io;

/// 128 bits of chance from the system, as 32 hexadecimal digits.
///
/// # Errors
/// The system has no randomness to give.
pub fn token() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod token_test {
    use super::token;
    use std::collections::BTreeSet;

    #[test]
    fn tokens_are_long_and_differ() {
        let drawn: BTreeSet<String> = (0..1000).map(|_| token().expect("chance")).collect();
        assert_eq!(drawn.len(), 1000);
        let is_token = |it: &String| it.len() == 32 && it.bytes().all(|b| b.is_ascii_hexdigit());
        assert!(drawn.iter().all(is_token), "{drawn:?}");
    }
}
