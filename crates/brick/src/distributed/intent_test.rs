use super::*;

fn stored(value: &[u8]) -> Stored {
    Stored::new(ValueType::String, None, value.to_vec())
}

fn hash(value: &[u8], expires_at: u64) -> Stored {
    Stored::new(
        ValueType::Hash,
        Some(UnixMillis(expires_at)),
        value.to_vec(),
    )
}

fn named(table: Option<u32>, key: &[u8]) -> Participant {
    Participant {
        table: table.map(TableId),
        key: key.to_vec(),
    }
}

/// Of one table, then over two.
fn intents() -> Vec<Intent> {
    let mut all = intents_of([None, None]);
    all.extend(intents_of([Some(7), Some(u32::MAX)]));
    all
}

fn intents_of([table, other]: [Option<u32>; 2]) -> Vec<Intent> {
    let some = [
        None,
        Some(stored(b"one")),
        Some(hash(b"two", 7)),
        Some(stored(b"")),
    ];
    let mut all = Vec::new();
    for before in &some {
        for after in &some {
            let others = vec![named(other, b"k"), named(table, b"")];
            for decided in [None, Some(vec![]), Some(others)] {
                let is_anchors = decided.is_some();
                all.push(Intent {
                    id: TransactionId {
                        coordinator: u64::MAX,
                        number: 3,
                    },
                    anchor: named(table, b"anchor"),
                    decided,
                    before: before.clone().filter(|_| !is_anchors),
                    after: after.clone(),
                });
            }
        }
    }
    all
}

#[test]
fn intents_read_back_as_they_were_written() {
    for intent in intents() {
        assert_eq!(Intent::decode(&intent.encode()), Some(intent));
    }
}

#[test]
fn value_that_stays_is_there_once() {
    let long = vec![7; 1000];
    let intent = Intent {
        before: Some(stored(&long)),
        after: Some(stored(&long)),
        ..intents().remove(0)
    };
    assert!(intent.encode().len() < 1100);
}

#[test]
fn bytes_that_are_no_whole_intent_are_refused() {
    for intent in intents() {
        let bytes = intent.encode();
        for len in 0..bytes.len() {
            assert_eq!(Intent::decode(&bytes[..len]), None, "{len} bytes");
        }
        let longer = [&bytes[..], b"x"].concat();
        assert_eq!(Intent::decode(&longer), None);
        for (at, wrong) in [(0, 4), (1, 16)] {
            let mut bytes = bytes.clone();
            bytes[at] |= wrong;
            assert_eq!(Intent::decode(&bytes), None);
        }
    }
}

/// What an earlier program has written, and would have to read.
#[test]
fn transaction_of_one_table_has_the_form_that_it_always_had() {
    let intent = Intent {
        decided: Some(vec![named(None, b"k")]),
        before: None,
        after: Some(stored(b"v")),
        ..intents().remove(0)
    };
    let expected = [
        &[1, 1 | 4][..],
        &[0xff; 8],
        &3_u64.to_le_bytes(),
        &[6, 0],
        b"anchor",
        &[1, 0, 0, 0, 1, 0],
        b"k",
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
        b"v",
    ];
    assert_eq!(intent.encode(), expected.concat());
    let across = Intent {
        anchor: named(Some(7), b"anchor"),
        decided: Some(vec![named(Some(258), b"k")]),
        ..intent
    };
    let expected = [
        &[2, 1 | 4][..],
        &[0xff; 8],
        &3_u64.to_le_bytes(),
        &[7, 0, 0, 0, 6, 0],
        b"anchor",
        &[1, 0, 0, 0, 2, 1, 0, 0, 1, 0],
        b"k",
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
        b"v",
    ];
    assert_eq!(across.encode(), expected.concat());
}

#[test]
fn what_was_decided_has_nothing_to_go_back_to() {
    for intent in intents() {
        let mut bytes = intent.encode();
        if intent.decided.is_some() {
            bytes[1] |= BEFORE;
            assert_eq!(Intent::decode(&bytes), None);
        }
    }
}

#[test]
fn value_in_an_intent_is_no_intent() {
    let mut bytes = Intent {
        decided: None,
        before: Some(stored(b"v")),
        after: None,
        ..intents().remove(0)
    }
    .encode();
    let flags_at = 2 + 16 + 2 + b"anchor".len();
    assert_eq!(bytes[flags_at], 0);
    bytes[flags_at] = ValueType::Intent.flags();
    assert_eq!(Intent::decode(&bytes), None);
}

#[test]
fn key_is_of_the_types_that_it_may_hold() {
    let intent = Intent {
        before: Some(stored(b"v")),
        after: Some(hash(b"h", 1)),
        ..intents().remove(0)
    };
    let bytes = intent.encode();
    assert!(may_become(&bytes, |it| it == ValueType::String));
    assert!(may_become(&bytes, |it| it == ValueType::Hash));
    assert!(!may_become(&bytes, |it| it == ValueType::BuiltString));
}
