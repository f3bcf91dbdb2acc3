use super::*;

#[test]
fn bounds_are_read_and_shown_as_they_are() {
    let bounds = KeyBounds::new("user:0", "user:99999999").unwrap();
    assert_eq!((bounds.from(), bounds.to()), ("user:0", "user:99999999"));
    let longest = "z".repeat(BOUND_BYTES_MAX);
    assert_eq!(KeyBounds::new("a", &longest).unwrap().to(), longest);
}

#[test]
fn what_cannot_be_told_again_or_is_in_another_order_is_no_bound() {
    let refused = |from: &str, to: &str| KeyBounds::new(from, to).unwrap_err().to_string();
    for (from, to, text) in [
        ("", "b", "FROM is ''; use a key of 1 to 32"),
        ("a", "b c", "TO is 'b c'; use a key"),
        ("a", "\u{e9}", "TO is '\u{e9}'; use a key"),
        ("a", &*"z".repeat(BOUND_BYTES_MAX + 1), "TO is 'zzz"),
        ("b", "a", "FROM is 'b' and TO is 'a'; FROM is the lowest"),
        ("a", "a", "FROM is 'a' and TO is 'a'; FROM is the lowest"),
    ] {
        assert!(refused(from, to).starts_with(text), "{from} {to}");
    }
}

#[test]
fn what_is_read_is_checked_like_what_is_asked_for() {
    let bounds = KeyBounds::new("a", "b").unwrap();
    let bytes = postcard::to_allocvec(&bounds).unwrap();
    assert_eq!(bytes, b"\x01a\x01b");
    assert_eq!(postcard::from_bytes::<KeyBounds>(&bytes), Ok(bounds));
    for wrong in [&b"\x01b\x01a"[..], b"\x01a\x01 ", b"\x00\x01a", b"\x01a"] {
        assert!(postcard::from_bytes::<KeyBounds>(wrong).is_err());
    }
}
