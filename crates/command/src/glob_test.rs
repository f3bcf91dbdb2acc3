use super::*;

fn is_match(pattern: &str, text: &str) -> bool {
    matches(pattern.as_bytes(), text.as_bytes(), false)
}

#[test]
fn patterns_match_as_documented() {
    let cases = [
        ("h?llo", "hello", true),
        ("h?llo", "hllo", false),
        ("h*llo", "hllo", true),
        ("h*llo", "heeeello", true),
        ("h[ae]llo", "hallo", true),
        ("h[ae]llo", "hillo", false),
        ("h[^e]llo", "hallo", true),
        ("h[^e]llo", "hello", false),
        ("h[a-c]llo", "hbllo", true),
        ("h[c-a]llo", "hbllo", true),
        ("*", "x", true),
        ("a**b*", "ab", true),
        ("\\*", "*", true),
        ("\\*", "x", false),
        ("[\\]]", "]", true),
    ];
    for (pattern, text, expected) in cases {
        assert_eq!(is_match(pattern, text), expected, "{pattern} {text}");
    }
}

#[test]
fn odd_patterns_match_as_in_redis() {
    assert!(!is_match("*", ""));
    assert!(is_match("", ""));
    assert!(is_match("[a", "a"));
    assert!(is_match("[^]", "x"));
    assert!(!is_match("[]", "x"));
    assert!(is_match("a\\", "a\\"));
}

#[test]
fn case_is_ignored_if_asked() {
    assert!(matches(b"MAX*", b"maxmemory", true));
    assert!(matches(b"[L-N]ax", b"max", true));
    assert!(!matches(b"MAX*", b"maxmemory", false));
}

/// Steps are not counted: a matcher that tries every combination would not end.
#[test]
fn many_stars_do_not_take_for_ever() {
    let pattern = [b"a*".repeat(500), b"b".to_vec()].concat();
    assert!(!matches(&pattern, &[b'a'; 5_000], false));
}
