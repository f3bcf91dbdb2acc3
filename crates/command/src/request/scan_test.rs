use super::*;
use crate::args::OwnedArgs;

#[test]
fn options_are_read_in_any_order() {
    let request: OwnedArgs = "SCAN 17 TYPE string match a* COUNT 100"
        .split(' ')
        .collect();
    let scan = ScanArgs::parse(request.as_args()).unwrap();
    assert_eq!((scan.cursor, scan.count), (17, 100));
    assert!(scan.wants(b"ab"));
    assert!(!scan.wants(b"b"));
}

#[test]
fn star_alone_matches_even_the_empty_key() {
    let request: OwnedArgs = "scan 0 match *".split(' ').collect();
    assert!(ScanArgs::parse(request.as_args()).unwrap().wants(b""));
}

#[test]
fn keys_of_one_type_are_asked_for() {
    let request: OwnedArgs = "scan 0 type hASH".split(' ').collect();
    let scan = ScanArgs::parse(request.as_args()).unwrap();
    assert!(scan.wants(b"a") && scan.wants_type(ValueType::Hash));
    assert!(!scan.wants_type(ValueType::String) && !scan.wants_type(ValueType::BuiltString));
}

#[test]
fn cursor_is_any_unsigned_number() {
    assert_eq!(parse_cursor(b"18446744073709551615"), Some(u64::MAX));
    assert_eq!(parse_cursor(b"18446744073709551616"), None);
    assert_eq!(parse_cursor(b"-1"), Some(u64::MAX));
    assert_eq!(parse_cursor(b""), Some(0));
    assert_eq!(parse_cursor(b"+"), None);
}
