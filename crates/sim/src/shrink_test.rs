use super::kind;

#[test]
fn violations_of_one_check_are_of_one_kind_whatever_they_name() {
    let one = kind("3/0@7 does not have partition 12");
    assert_eq!(one, kind("0/1@4 does not have partition 3"));
    assert_ne!(one, kind("clients wait for ever"));
    let panics = kind("a panic: index out of bounds: the len is 3");
    assert_eq!(panics, kind("a panic: index out of bounds: the len is 4"));
    assert_ne!(panics, kind("a panic: no such partition"));
}
