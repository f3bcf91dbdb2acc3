use super::Tally;
use crate::load::record::BadLine;
use std::time::Duration;

#[test]
fn the_summary_shows_twenty_bad_lines_and_counts_all() {
    let mut tally = Tally::default();
    for _ in 0..3 {
        tally.stored(500_000);
    }
    for line in 1..=25 {
        tally.bad_line(BadLine {
            line,
            reason: "the key is empty".into(),
        });
    }
    tally.refused("OOM".into(), "OOM at line nine", 9);
    let mut other = Tally::default();
    other.refused("OOM".into(), "OOM at line four", 4);
    tally.merge(other);
    let text = tally.summary(Duration::from_secs(1)).to_string();
    assert!(
        text.starts_with("stored 3 records, 1.5 MB of keys and values, in 1.00 s: 3 records/s")
    );
    assert!(
        text.contains("bad lines, left out: 25\n  line 1: the key is empty\n"),
        "{text}"
    );
    assert!(text.contains("  line 20: "), "{text}");
    assert!(!text.contains("  line 21: "), "{text}");
    assert!(text.contains("  and 5 more\n"), "{text}");
    assert!(
        text.contains("  OOM: 2, first on line 4: OOM at line four\n"),
        "{text}"
    );
    assert!(!tally.is_complete());
}
