use super::*;

fn bulk(text: &str) -> Value {
    Value::Bulk(text.as_bytes().to_vec())
}

#[test]
fn maps_are_read_in_both_protocols() {
    let pairs = vec![
        (bulk("moves"), bulk("paused")),
        (bulk("copies"), Value::Integer(3)),
        (bulk("primaries"), Value::Integer(1)),
        (bulk("learning"), Value::Integer(2)),
        (bulk("bytes"), Value::Integer(1_000)),
    ];
    let flat = pairs.iter().cloned();
    let flat = Value::Array(flat.flat_map(|(name, value)| [name, value]).collect());
    let rebalance_status = RebalanceStatus::read(&Value::Map(pairs)).unwrap();
    assert_eq!(RebalanceStatus::read(&flat), Some(rebalance_status.clone()));
    assert!(rebalance_status.is_paused() && !rebalance_status.is_done());
    assert_eq!(
        (rebalance_status.copies, rebalance_status.bytes),
        (3, 1_000)
    );
}

#[test]
fn nodes_that_a_table_names_are_read() {
    let described = |nodes: &str| {
        let words = [bulk("name"), bulk("t"), bulk("nodes"), bulk(nodes)];
        nodes_named(&Value::Array(words.to_vec()))
    };
    assert_eq!(described("1,12"), [1, 12]);
    assert_eq!(described("all"), [0_u32; 0]);
    assert_eq!(nodes_named(&Value::Error(b"ERR".to_vec())), [0_u32; 0]);
}

#[test]
fn replies_that_lack_something_are_not_taken() {
    let one = Value::Array(vec![bulk("moves"), bulk("on")]);
    assert_eq!(RebalanceStatus::read(&one), None);
    assert_eq!(each(&Value::Array(vec![one]), RebalanceStatus::read), None);
    assert_eq!(
        each(&Value::Array(Vec::new()), Planned::read),
        Some(Vec::new())
    );
    assert_eq!(each(&bulk("x"), NodeRow::read), None);
}
