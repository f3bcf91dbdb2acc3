use super::{as_map, render};
use brickyard_wire::Value;

fn bulk(text: &str) -> Value {
    Value::Bulk(text.as_bytes().to_vec())
}

#[test]
fn lists_are_one_element_a_line() {
    assert_eq!(
        render(&Value::Array(vec![bulk("default"), bulk("orders")])),
        "default\norders\n"
    );
    assert_eq!(
        render(&Value::Array(["a", "b", "c", "d"].map(bulk).to_vec())),
        "a\nb\nc\nd\n"
    );
    assert_eq!(render(&Value::Simple(b"OK".to_vec())), "OK\n");
}

#[test]
fn pairs_stand_side_by_side_in_both_protocols() {
    let pairs = vec![bulk("name"), bulk("t"), bulk("keys"), Value::Integer(3)];
    assert_eq!(render(&as_map(Value::Array(pairs))), "name: t\nkeys: 3\n");
    let map = Value::Map(vec![
        (bulk("name"), bulk("t")),
        (
            bulk("limits"),
            Value::Array(vec![Value::Integer(1), Value::Null]),
        ),
    ]);
    assert_eq!(render(&map), "name: t\nlimits:\n  1\n  (none)\n");
}
