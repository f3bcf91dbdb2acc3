use super::*;

const ONE: TableId = TableId(1);
const TWO: TableId = TableId(2);

#[test]
fn keys_of_one_name_are_apart_where_their_tables_are() {
    let mut all = PerKey::default();
    assert_eq!(all.insert(TWO, b"k".to_vec(), 2), None);
    assert_eq!(all.insert(ONE, b"k".to_vec(), 1), None);
    assert_eq!(all.insert(ONE, b"a".to_vec(), 0), None);
    assert_eq!(
        (all.get(ONE, b"k"), all.get(TWO, b"k")),
        (Some(&1), Some(&2))
    );
    assert!(!all.has(TWO, b"a"));
    let names: Vec<_> = all.names().collect();
    assert_eq!(names, [(TWO, &b"k"[..]), (ONE, b"a"), (ONE, b"k")]);
    assert_eq!(all.of(TWO).collect::<Vec<_>>(), [(&b"k"[..], &2)]);
    *all.or_insert(TWO, b"k", || 7) += 1;
    *all.or_insert(TWO, b"new", || 7) += 1;
    assert_eq!(
        (all.get(TWO, b"k"), all.get(TWO, b"new")),
        (Some(&3), Some(&8))
    );
}

#[test]
fn what_has_lost_its_last_key_is_empty() {
    let mut all = Keys::default();
    all.note(ONE, b"k");
    assert_eq!(all.remove(ONE, b"other"), None);
    assert_eq!(all.remove(TWO, b"k"), None);
    assert!(!all.is_empty());
    assert_eq!(all.remove(ONE, b"k"), Some(()));
    assert!(all.is_empty());
    all.note(ONE, b"k");
    all.note(TWO, b"k");
    assert_eq!(all.to_names(), [(ONE, b"k".to_vec()), (TWO, b"k".to_vec())]);
    all.retain(|table, _| table == TWO);
    assert_eq!(all.names().collect::<Vec<_>>(), [(TWO, &b"k"[..])]);
    all.retain(|_, _| false);
    assert!(all.is_empty());
}
