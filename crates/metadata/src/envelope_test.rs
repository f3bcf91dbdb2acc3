use super::*;
use crate::NewTable;
use crate::fixture::{again, cluster, registration};
use brickyard_types::{TableId, UnixMillis};

fn create(sequence: u64, name: &str) -> Envelope {
    Envelope {
        from: NodeId(1),
        incarnation: Incarnation(2),
        sequence,
        change: Change::CreateTable(NewTable::named(name, sequence, UnixMillis(1))),
    }
}

#[test]
fn request_that_arrives_twice_is_made_once_and_answered_alike() {
    let mut catalog = cluster(2, 1);
    let first = catalog.apply_envelope(create(1, "a")).unwrap();
    assert_eq!(first.table, TableId(2));
    let after = catalog.clone();
    assert_eq!(catalog.apply_envelope(create(1, "a")), Ok(first));
    assert_eq!(catalog, after);
    // A refusal is an answer too, also when the reason for it is gone.
    let refusal = catalog.apply_envelope(create(2, "a")).unwrap_err();
    assert!(refusal.starts_with("table 'a' exists already"), "{refusal}");
    catalog
        .apply(Change::DropTable {
            name: "a".to_owned(),
        })
        .unwrap();
    assert_eq!(catalog.apply_envelope(create(2, "a")), Err(refusal));
}

#[test]
fn request_that_was_overtaken_is_given_up() {
    let mut catalog = cluster(2, 1);
    catalog.apply_envelope(create(5, "a")).unwrap();
    let late = catalog.apply_envelope(create(4, "b")).unwrap_err();
    assert!(
        late.starts_with("request 4 of node 1 comes after its request 5"),
        "{late}"
    );
    assert_eq!(catalog.table("b"), None);
}

#[test]
fn older_life_asks_in_vain() {
    let mut catalog = cluster(2, 1);
    catalog.apply_envelope(create(1, "a")).unwrap();
    catalog
        .apply(Change::Register(again(&registration(1, 1))))
        .unwrap();
    for sequence in 1..3 {
        let refusal = catalog.apply_envelope(create(sequence, "b")).unwrap_err();
        assert!(
            refusal.starts_with("node 1 in incarnation 2 is not the present one"),
            "{refusal}"
        );
    }
    // The new life counts its requests anew.
    let mut envelope = create(1, "b");
    envelope.incarnation = Incarnation(3);
    catalog.apply_envelope(envelope).unwrap();
}
