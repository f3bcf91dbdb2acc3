use super::*;

fn node(host: &str, port: i64) -> Value {
    Value::Array(vec![
        Value::Bulk(host.into()),
        Value::Integer(port),
        Value::Bulk(b"id".to_vec()),
        Value::Map(Vec::new()),
    ])
}

fn range(first: i64, last: i64, nodes: Vec<Value>) -> Value {
    let mut elements = vec![Value::Integer(first), Value::Integer(last)];
    elements.extend(nodes);
    Value::Array(elements)
}

fn holders(map: &SlotMap, slot: u16) -> Vec<&str> {
    let places = map.members(Slot(slot)).iter();
    places
        .map(|place| map.addresses()[*place].as_str())
        .collect()
}

#[test]
fn slots_are_found_with_the_primary_first() {
    let reply = Value::Array(vec![
        range(0, 99, vec![node("10.0.0.1", 7), node("10.0.0.2", 7)]),
        range(200, 16383, vec![node("::1", 8)]),
    ]);
    let map = SlotMap::from_reply(&reply, "h").expect("a map");
    assert_eq!(holders(&map, 99), ["10.0.0.1:7", "10.0.0.2:7"]);
    assert!(holders(&map, 100).is_empty());
    assert_eq!(holders(&map, 16383), ["[::1]:8"]);
}

#[test]
fn an_empty_host_is_the_one_that_was_asked() {
    let reply = Value::Array(vec![range(0, 1, vec![node("", 7)])]);
    let map = SlotMap::from_reply(&reply, "seed.example").expect("a map");
    assert_eq!(holders(&map, 0), ["seed.example:7"]);
}

#[test]
fn ports_of_nodes_are_read_from_the_metadata() {
    let text = |text: &str| Value::Bulk(text.into());
    let with = |metadata| Value::Array(vec![text("a"), Value::Integer(7), text("id"), metadata]);
    let pair = |name: &str, value: &str| (text(name), text(value));
    let map = Value::Map(vec![pair("hostname", "x"), pair("node-port", "6379")]);
    let list = Value::Array(vec![text("node-port"), text("6380")]);
    let reply = Value::Array(vec![
        range(0, 1, vec![with(map.clone()), with(list)]),
        range(2, 3, vec![with(map), with(Value::Null), node("b", 7)]),
        range(
            4,
            5,
            vec![with(Value::Map(vec![pair("node-port", "70000")]))],
        ),
    ]);
    let map = SlotMap::from_reply(&reply, "").expect("a map");
    assert_eq!(map.node_ports(), ["a:6379", "a:6380"]);
}

#[test]
fn copies_are_read_at_the_bricks_behind_the_ports_of_nodes() {
    let text = |text: &str| Value::Bulk(text.into());
    let copy = |port: i64, brick: &str| {
        let metadata = Value::Array(vec![text("brick-port"), text(brick)]);
        Value::Array(vec![text("b"), Value::Integer(port), text("id"), metadata])
    };
    let reply = Value::Array(vec![range(
        0,
        16383,
        vec![node("a", 7), copy(6379, "6380")],
    )]);
    let map = SlotMap::from_reply(&reply, "").expect("a map");
    assert_eq!(holders(&map, 0), ["a:7", "b:6380"]);
    assert_eq!(map.node_ports(), ["b:6379"]);
    assert_eq!(map.node_of(1), Some("b:6379"));
}

#[test]
fn a_repair_changes_one_slot_and_says_whether_it_did() {
    let reply = Value::Array(vec![range(0, 16383, vec![node("a", 1), node("b", 1)])]);
    let mut map = SlotMap::from_reply(&reply, "").expect("a map");
    assert_eq!(map.repair(Slot(5), "b:1"), (1, true));
    assert_eq!(map.repair(Slot(5), "b:1"), (1, false));
    assert_eq!(map.repair(Slot(6), "c:1"), (2, true));
    assert_eq!(holders(&map, 4), ["a:1", "b:1"]);
    assert_eq!(holders(&map, 5), ["b:1", "a:1"]);
    assert_eq!(holders(&map, 6), ["c:1"]);
}

#[test]
fn repairs_of_all_slots_share_groups() {
    let mut map = SlotMap::empty();
    for slot in 0..Slot::COUNT {
        map.repair(Slot(slot), if slot % 2 == 0 { "a:1" } else { "b:1" });
    }
    assert_eq!(map.groups.len(), 2);
}

#[test]
fn replies_that_are_no_maps_are_refused() {
    let bad = [
        Value::Null,
        Value::Array(vec![Value::Null]),
        Value::Array(vec![range(0, 16384, vec![node("a", 1)])]),
        Value::Array(vec![range(9, 8, vec![node("a", 1)])]),
        Value::Array(vec![range(-1, 8, vec![node("a", 1)])]),
        Value::Array(vec![range(0, 8, vec![node("a", 70_000)])]),
        Value::Array(vec![range(0, 8, vec![Value::Null])]),
    ];
    for reply in bad {
        assert!(SlotMap::from_reply(&reply, "").is_err(), "{reply:?}");
    }
}
