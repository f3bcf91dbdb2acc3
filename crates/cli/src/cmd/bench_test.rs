use super::parse_sizes;

#[test]
fn a_length_is_a_number_or_a_range() {
    let sizes = parse_sizes("150").unwrap();
    assert_eq!((sizes.min, sizes.max), (150, 150));
    let sizes = parse_sizes("50..8000").unwrap();
    assert_eq!((sizes.min, sizes.max), (50, 8000));
    assert!(parse_sizes("8k").unwrap_err().contains("'8k' is no length"));
}
