//! Which tokens let somebody in, and which files are refused.

use super::*;
use tempfile::TempDir;

fn read(text: &str) -> Result<Tokens, String> {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("tokens");
    std::fs::write(&path, text).expect("written");
    Tokens::read(&path).map_err(|error| error.to_string())
}

#[test]
fn any_of_the_tokens_lets_in_and_nothing_else() {
    let tokens = read("0123456789abcdef\n\n fedcba9876543210 \n").expect("read");
    assert!(tokens.allow(Some("Bearer 0123456789abcdef")));
    assert!(tokens.allow(Some("Bearer fedcba9876543210")));
    // As RFC 9110 has it: the scheme is a word of either case.
    assert!(tokens.allow(Some("bearer 0123456789abcdef")));
    for given in [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some("Bearer0123456789abcdef"),
        Some("Bearer 0123456789abcdef fedcba9876543210"),
        Some("Bearer 0123456789abcde"),
        Some("Bearer 0123456789abcdef0"),
        Some("Basic 0123456789abcdef"),
        Some("0123456789abcdef"),
    ] {
        assert!(!tokens.allow(given), "{given:?}");
    }
}

#[test]
fn what_is_no_file_of_tokens_is_refused() {
    assert!(read("").expect_err("empty").contains("it is empty"));
    let short = read("0123456789abcdef\nsecret\n").expect_err("short");
    assert!(short.contains("line 2"), "{short}");
    assert!(!short.contains("secret"), "{short}");
    let two = read("0123456789 abcdef\n").expect_err("a space");
    assert!(two.contains("line 1 has a byte"), "{two}");
    assert!(Tokens::read(Path::new("/nosuch/file")).is_err());
}
