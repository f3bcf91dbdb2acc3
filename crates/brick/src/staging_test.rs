use super::*;
use brickyard_types::{PartitionId, Slot, ValueType};

fn push(staging: &mut Staging, hash: u64, key: &str, value: &str) {
    let location = Location {
        leaf: 0,
        slot: Slot(0),
        key_hash: hash,
        partition: PartitionId(1),
    };
    let put = NewValue {
        value: &[value.as_bytes()],
        expires_at: None,
        value_type: ValueType::String,
    };
    staging.push(location, Kind::Put, key.as_bytes(), &put);
}

fn live(staging: &Staging) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    staging
        .live()
        .map(|staged| (text(staging.key(staged)), text(staging.value(staged))))
        .collect()
}

/// Two keys of each hash, more keys than are walked, every third written again.
fn fill(staging: &mut Staging, from: u64, to: u64) {
    for number in from..to {
        push(staging, number / 2, &format!("k{number}"), "old");
        if number % 3 == 0 {
            push(staging, number / 2, &format!("k{number}"), "new");
        }
    }
}

#[test]
fn last_write_of_each_key_counts_in_order() {
    let mut staging = Staging::default();
    fill(&mut staging, 0, 40);
    let expected: Vec<(String, String)> = (0..40)
        .map(|n| {
            let value = if n % 3 == 0 { "new" } else { "old" };
            (format!("k{n}"), value.to_owned())
        })
        .collect();
    assert_eq!(live(&staging), expected);
    let found = staging.find(15, b"k30").unwrap();
    assert_eq!(staging.value(found), b"new");
    assert!(staging.find(15, b"k99").is_none());
}

#[test]
fn truncated_writes_leave_no_trace() {
    for kept in [0, 3, 10, 30] {
        let (mut staging, mut expected) = (Staging::default(), Staging::default());
        fill(&mut staging, 0, kept);
        fill(&mut expected, 0, kept);
        let (len, bytes) = (staging.len(), staging.bytes());
        for number in 0..60 {
            push(
                &mut staging,
                number / 2,
                &format!("k{number}"),
                "taken back",
            );
        }
        staging.truncate(len);
        assert_eq!(live(&staging), live(&expected));
        assert_eq!(staging.bytes(), bytes);
        for number in 0..60 {
            let name = format!("k{number}");
            let found = staging.find(number / 2, name.as_bytes()).is_some();
            assert_eq!(found, number < kept, "{name} with {kept} kept");
        }
        fill(&mut staging, kept, 60);
        fill(&mut expected, kept, 60);
        assert_eq!(live(&staging), live(&expected));
    }
}
