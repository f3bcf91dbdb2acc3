use crate::testing::MemoryKeyspace;
use std::collections::BTreeSet;

fn page(keyspace: &mut MemoryKeyspace, cursor: &str) -> (String, Vec<String>) {
    let reply = keyspace.run_line(&format!("HSCAN h {cursor} COUNT 10 NOVALUES"));
    let mut lines = reply.split("\r\n").skip(2);
    let next = lines.next().unwrap().to_owned();
    let names = lines.filter(|it| it.starts_with('f')).map(str::to_owned);
    (next, names.collect())
}

#[test]
fn a_scan_sees_every_field_that_stays_whatever_comes_and_goes() {
    let mut keyspace = MemoryKeyspace::default();
    let pairs = |from: usize, to: usize| {
        let pairs: Vec<String> = (from..to).map(|n| format!("f{n} v")).collect();
        pairs.join(" ")
    };
    keyspace.run_line(&format!("HSET h {}", pairs(0, 5_000)));
    let (mut cursor, mut seen) = ("0".to_owned(), BTreeSet::new());
    let mut pages = 0;
    loop {
        let names;
        (cursor, names) = page(&mut keyspace, &cursor);
        // None is on two pages.
        for name in names {
            assert!(seen.insert(name.clone()), "{name} came twice");
        }
        pages += 1;
        if cursor == "0" {
            break;
        }
        // Fields in front of the others go, and others come.
        keyspace.run_line(&format!("HDEL h f{pages} f{}", 100 + pages));
        let new = 6_000 + 10 * pages;
        keyspace.run_line(&format!("HSET h {}", pairs(new, new + 5)));
    }
    assert!((8..20).contains(&pages), "{pages} pages");
    for n in 200..5_000 {
        assert!(seen.contains(&format!("f{n}")), "f{n}");
    }
}

#[test]
fn a_small_hash_is_one_page() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("HSET h f1 1 f2 2 g 3");
    let reply = keyspace.run_line("HSCAN h 77 COUNT 1 MATCH f*");
    assert_eq!(
        reply,
        "*2\r\n$1\r\n0\r\n*4\r\n$2\r\nf1\r\n$1\r\n1\r\n$2\r\nf2\r\n$1\r\n2\r\n"
    );
}
