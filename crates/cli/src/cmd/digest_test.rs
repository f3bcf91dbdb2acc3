use super::*;

fn copy(role: &str, committed: i64, sum: u64) -> Copy {
    Copy {
        brick: "a:1".into(),
        role: role.into(),
        view: 1,
        committed,
        keys: 3,
        sum,
        is_steady: true,
    }
}

#[test]
fn replicas_with_the_same_operations_must_hold_the_same() {
    let primary = copy("primary", 5, 7);
    let cases = [
        (vec![primary.clone(), copy("backup", 5, 7)], Verdict::Equal),
        (vec![primary.clone(), copy("backup", 5, 8)], Verdict::Differ),
        (vec![primary.clone(), copy("backup", 4, 8)], Verdict::Behind),
        (
            vec![primary.clone(), copy("learner", 5, 8)],
            Verdict::Behind,
        ),
        (vec![primary.clone()], Verdict::Behind),
        (vec![], Verdict::Behind),
    ];
    for (copies, verdict) in cases {
        assert_eq!(check(&copies, 2), verdict, "{copies:?}");
    }
    let written_to = Copy {
        is_steady: false,
        ..copy("backup", 5, 8)
    };
    assert_eq!(check(&[primary, written_to], 2), Verdict::Behind);
}

#[test]
fn parts_of_a_partition_are_added_up() {
    let part = |committed: i64, keys: i64, sum: u64| {
        Value::Array(vec![
            Value::Integer(9),
            Value::Bulk(b"primary".to_vec()),
            Value::Integer(1),
            Value::Integer(committed),
            Value::Integer(keys),
            Value::Bulk(format!("{sum:016x}").into_bytes()),
        ])
    };
    let reply = |cursor: &str, parts: Vec<Value>| {
        Value::Array(vec![
            Value::Bulk(cursor.as_bytes().to_vec()),
            Value::Array(parts),
        ])
    };
    let mut copies = BTreeMap::new();
    let first = reply("1-8", vec![part(5, 10, u64::MAX)]);
    assert_eq!(add(&mut copies, "a:1", &first).as_deref(), Some("1-8"));
    let second = reply("0", vec![part(5, 4, 3)]);
    assert_eq!(add(&mut copies, "a:1", &second).as_deref(), Some("0"));
    let whole = copies[&9][0].clone();
    assert_eq!((whole.keys, whole.sum, whole.is_steady), (14, 2, true));
    add(&mut copies, "a:1", &reply("0", vec![part(6, 1, 1)])).unwrap();
    assert!(!copies[&9][0].is_steady);
    assert_eq!(add(&mut copies, "a:1", &Value::Integer(1)), None);
}

/// As after a node came back with an empty directory.
#[test]
fn address_that_two_nodes_had_is_asked_once() {
    let nodes = "a 127.0.0.1:7001@7009 master - 0 0 3 connected 0-5460\n\
                 b 127.0.0.1:7011@7019 master,fail - 0 0 3 disconnected\n\
                 c 127.0.0.1:7011@7019 master - 0 0 3 connected 5461-16383\n";
    let asked: Vec<&str> = brick_addresses(nodes).into_iter().collect();
    assert_eq!(asked, ["127.0.0.1:7001", "127.0.0.1:7011"]);
}

#[test]
fn bricks_are_asked_and_not_the_ports_of_nodes() {
    let nodes = "a 127.0.0.1:7001@7009 myself,master - 0 0 3 connected 0-16383\n\
                 b 127.0.0.1:7010@7019 slave a 0 0 3 connected\n";
    let asked: Vec<&str> = brick_addresses(nodes).into_iter().collect();
    assert_eq!(asked, ["127.0.0.1:7001"]);
}

#[test]
fn only_what_is_not_well_is_told_unless_all_is_wanted() {
    let copies: Copies = (0..100)
        .map(|partition| {
            let pair = vec![copy("primary", 5, 7), copy("backup", 5, 7)];
            (partition, pair)
        })
        .collect();
    let mut verdicts = vec![Verdict::Equal; 100];
    let lines = |verdicts: &[Verdict], lists_all| {
        let text = render(&copies, verdicts, &[], lists_all);
        let partitions = text.lines().filter(|line| line.starts_with("partition "));
        (partitions.count(), text)
    };
    let (told, text) = lines(&verdicts, false);
    assert_eq!(told, 0, "{text}");
    assert!(text.starts_with("100 partitions, 200 replicas"), "{text}");
    assert_eq!(lines(&verdicts, true).0, 100);
    verdicts[70] = Verdict::Differ;
    let (told, text) = lines(&verdicts, false);
    assert_eq!(told, 1);
    assert!(text.starts_with("partition 70: DIFFER"), "{text}");
    verdicts.fill(Verdict::Behind);
    let (told, text) = lines(&verdicts, false);
    assert_eq!(told, LISTED);
    assert!(text.contains("and 92 more partitions; --all"), "{text}");
}
