use super::{parse_percent, parse_sizes};

#[test]
fn a_length_is_a_number_or_a_range() {
    let sizes = parse_sizes("150").unwrap();
    assert_eq!((sizes.min, sizes.max), (150, 150));
    let sizes = parse_sizes("50..8000").unwrap();
    assert_eq!((sizes.min, sizes.max), (50, 8000));
    assert!(parse_sizes("8k").unwrap_err().contains("'8k' is no length"));
}

#[test]
fn a_share_is_a_percentage() {
    assert_eq!(parse_percent("50%"), Ok(0.5));
    assert_eq!(parse_percent("12.5"), Ok(0.125));
    for text in ["", "%", "101%", "-1%", "half"] {
        let error = parse_percent(text).unwrap_err();
        assert!(error.contains("is no share"), "{error}");
    }
}
