use super::*;

fn bulk(text: &str) -> Value {
    Value::Bulk(text.into())
}

fn member(host: &str, port: i64) -> Value {
    Value::Array(vec![bulk(host), Value::Integer(port), Value::Integer(6379)])
}

fn leaf(first: &str, depth: i64, members: Vec<Value>) -> Value {
    Value::Array(vec![
        bulk("next"),
        Value::Integer(9),
        Value::Integer(7),
        bulk(first),
        Value::Integer(depth),
        Value::Array(members),
    ])
}

#[test]
fn a_partition_is_read_with_who_holds_it() {
    let members = vec![
        member("10.0.0.1", 6380),
        member("::1", 6381),
        member("", 6382),
    ];
    let read = Leaf::read(&leaf("4000000000000000", 2, members), "db1").expect("a leaf");
    let wanted = Leaf {
        prefix: Prefix::of(RoutingHash(1 << 62), 2),
        partition: 7,
        members: ["10.0.0.1:6380", "[::1]:6381", "db1:6382"]
            .map(String::from)
            .into(),
    };
    assert_eq!(read, wanted);
}

#[test]
fn what_cannot_be_a_partition_is_none() {
    let one = || vec![member("h", 1)];
    for reply in [
        // No leaf of depth 1 begins at a quarter.
        leaf("4000000000000000", 1, one()),
        leaf("0", 25, one()),
        leaf("0", -1, one()),
        leaf("0", 300, one()),
        leaf("x", 0, one()),
        leaf("00000000000000000", 0, Vec::new()),
        leaf("0", 0, Vec::new()),
        leaf("0", 0, vec![member("h", 0)]),
        leaf("0", 0, vec![member("h", 65_536)]),
        leaf("0", 0, vec![member("h", 1); 256]),
        leaf("0", 0, vec![Value::Null]),
        Value::Array(Vec::new()),
        Value::Null,
        bulk("leaf"),
    ] {
        assert_eq!(Leaf::read(&reply, "db1"), None, "{reply:?}");
    }
}

#[test]
fn starts_are_read_with_what_they_lead() {
    let start = |led| {
        let words = [
            Value::Integer(6380),
            Value::Integer(6379),
            Value::Integer(led),
        ];
        let words = std::iter::once(bulk("")).chain(words);
        Value::Array(vec![
            Value::Integer(3),
            Value::Array(vec![Value::Array(words.collect())]),
        ])
    };
    let wanted = Start {
        brick: "db1:6380".to_owned(),
        node: "db1:6379".to_owned(),
        led: 12,
    };
    assert_eq!(Start::read_all(&start(12), "db1"), Some(vec![wanted]));
    assert_eq!(Start::read_all(&start(-1), "db1"), None);
    assert_eq!(Start::read_all(&Value::Null, "db1"), None);
}
