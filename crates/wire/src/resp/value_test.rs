use super::*;

fn bulk(bytes: &[u8]) -> Value {
    Value::Bulk(bytes.to_vec())
}

#[test]
fn field_is_found_in_a_map_and_in_its_resp2_form() {
    let map = Value::Map(vec![
        (bulk(b"proto"), Value::Integer(3)),
        (bulk(b"mode"), bulk(b"cluster")),
    ]);
    let array = Value::Array(vec![
        bulk(b"proto"),
        Value::Integer(3),
        bulk(b"mode"),
        bulk(b"cluster"),
    ]);
    for value in [map, array] {
        assert_eq!(value.field("proto"), Some(&Value::Integer(3)));
        assert_eq!(
            value.field("mode").and_then(Value::bytes),
            Some(&b"cluster"[..])
        );
        assert_eq!(value.field("cluster"), None, "a value is not a name");
    }
    assert_eq!(Value::Null.field("proto"), None);
}

#[test]
fn each_view_is_only_of_its_own_kind() {
    let error = Value::Error(b"ERR no".to_vec());
    assert_eq!((error.error(), error.bytes()), (Some(&b"ERR no"[..]), None));
    let status = Value::Simple(b"OK".to_vec());
    assert_eq!((status.error(), status.bytes()), (None, Some(&b"OK"[..])));
    assert_eq!(Value::Integer(-3).integer(), Some(-3));
    assert_eq!(bulk(b"3").integer(), None);
    let set = Value::Set(vec![Value::Null]);
    assert_eq!(set.elements(), Some(&[Value::Null][..]));
    assert_eq!(Value::Map(Vec::new()).elements(), None);
}
