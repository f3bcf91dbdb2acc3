use super::*;
use crate::accepted::Port;
use crate::harness::Node;
use brickyard_types::TableAttributes;
use std::time::Duration;

#[test]
fn bytes_are_shown_in_the_largest_unit_of_which_there_is_one() {
    let shown = [1023, 1 << 10, 3 << 19, 1 << 30, 1 << 40].map(human);
    assert_eq!(shown, ["1023B", "1.00K", "1.50M", "1.00G", "1.00T"]);
}

#[test]
fn info_has_what_clients_and_tables_take() {
    let mut node = Node::new(2, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    for at in 0..20 {
        node.call(client, &format!("SET k{at} value"));
    }
    node.advance(Duration::from_secs(2));
    let info = node.call(client, "INFO ALL");
    let field = |name: &str| {
        let at = info.find(name)? + name.len();
        let digits = info[at..].chars().take_while(char::is_ascii_digit);
        digits.collect::<String>().parse::<u64>().ok()
    };
    assert!(field("client_buffer_bytes:").is_some(), "{info}");
    let memory = field("table_default:keys=20,expires=0,avg_ttl=0,memory=");
    let least = 20 * (2 + "value".len() as u64);
    assert!(
        memory.is_some_and(|memory| (least..1 << 20).contains(&memory)),
        "{info}"
    );
}

#[test]
fn info_names_a_build() {
    let mut node = Node::new(1, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    let info = node.call(client, "INFO server");
    assert!(info.contains("redis_git_sha1:00000000"), "{info}");
}

#[test]
fn memory_of_a_table_has_its_index() {
    let mut node = Node::new(1, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    node.call(client, "SET k value");
    node.settle();
    let state = node.bricks[0].core.tables.get(0).unwrap();
    let records = state.table.records_bytes() as u64;
    assert!(records > 0 && state.table.memory_live() as u64 > records);
}
