use super::*;

/// `(if is_on(0) { 1 } else { (if is_on(1) { 2 } else { x }) })`, roughly.
fn planted() -> Planted {
    let spot = |number, after, whole| Spot {
        number,
        after,
        whole,
    };
    let spots = vec![spot(0, 10..20, 0..80), spot(1, 40..50, 30..70)];
    BTreeMap::from([("a.rs".to_owned(), (String::new(), spots))])
}

#[track_caller]
fn assert_blamed(spans: &[(&str, usize, usize)], expected: &[usize]) {
    let spans: Vec<Value> = spans
        .iter()
        .map(|(path, start, end)| {
            serde_json::json!({ "file_name": path, "byte_start": start, "byte_end": end })
        })
        .collect();
    let note = serde_json::json!({ "spans": spans });
    for error in [
        serde_json::json!({ "spans": spans }),
        serde_json::json!({ "spans": [], "children": [note] }),
    ] {
        let blamed = blamed(&error, &planted());
        assert_eq!(blamed.into_iter().collect::<Vec<usize>>(), expected);
    }
}

#[test]
fn error_is_blamed_on_what_was_put_in() {
    assert_blamed(&[("a.rs", 12, 14)], &[0]);
    assert_blamed(&[("a.rs", 55, 60), ("a.rs", 40, 50)], &[1]);
}

#[test]
fn error_elsewhere_is_blamed_on_the_closest_choice_or_on_all_within() {
    assert_blamed(&[("a.rs", 55, 60)], &[1]);
    assert_blamed(&[("a.rs", 75, 78)], &[0]);
    assert_blamed(&[("a.rs", 0, 90)], &[0, 1]);
    assert_blamed(&[("a.rs", 82, 90), ("b.rs", 12, 14)], &[]);
}
