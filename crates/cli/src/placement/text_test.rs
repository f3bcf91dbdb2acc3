use super::*;

fn planned(kind: &str, from: &str, to: &str, bytes: u64) -> Planned {
    Planned {
        table: "default".to_owned(),
        partition: 1,
        kind: kind.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
        bytes,
        placement: "ring:5".to_owned(),
    }
}

#[test]
fn plan_adds_up_what_goes_the_same_way() {
    let moves = [
        planned("copy", "0/0", "3/0", 2_000_000),
        planned("copy", "0/0", "3/0", 2_000_000),
        planned("copy", "1/0", "3/0", 6_000_000),
        planned("primary", "1/0", "2/0", 0),
    ];
    let rebalance_status = RebalanceStatus {
        moves: "paused".to_owned(),
        copies: 3,
        primaries: 1,
        learning: 0,
        bytes: 10_000_000,
    };
    let text = plan(&moves, &rebalance_status, 1_000_000);
    let lines: Vec<&str> = text.lines().collect();
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(lines[1]), "default ring:5 0/0 3/0 2 0 4.0 MB 4.0 s");
    assert_eq!(words(lines[2]), "default ring:5 1/0 2/0 0 1 0 kB 0.0 s");
    assert_eq!(words(lines[3]), "default ring:5 1/0 3/0 1 0 6.0 MB 6.0 s");
    assert!(
        lines[5].starts_with("3 copies with 10.0 MB go over and 1 primaries change; about 10.0 s"),
        "{text}"
    );
    assert!(text.contains("rebalance resume"));
    assert!(plan(&[], &rebalance_status, 1).starts_with("Everything is where it should be"));
}
