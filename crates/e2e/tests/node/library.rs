//! The client library's hashes and walks over parts, at a real node.

use brickyard_client::{Client, Options, Pending, Table, slot_of};
use brickyard_e2e::server::{Server, Setup};
use std::collections::BTreeSet;
use std::future::Future;

/// A node of two bricks, and what the library does with a table of it.
fn with_table<F: Future<Output = ()>>(test: impl FnOnce(Table) -> F) {
    let server: Server = Setup::brickyard(2).start();
    let made = server.connect().line("TABLE CREATE t PARTITIONS 8").text();
    assert_eq!(made, "OK");
    let seed = format!("127.0.0.1:{}", server.port());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let client = Client::connect(Options::new([seed]))
            .await
            .expect("a client");
        test(client.table("t")).await;
    });
}

#[test]
fn fields_of_a_hash_are_read_and_written() {
    with_table(|table| async move {
        let hash = table.hash("user:ann");
        assert_eq!(hash.len().await, Ok(0));
        assert_eq!(hash.all().await, Ok(Vec::new()));
        assert_eq!(hash.set("city", "Oslo").await, Ok(true));
        assert_eq!(hash.set("city", "Bergen").await, Ok(false));
        assert_eq!(hash.set_many([("a", "1"), ("b", "2")]).await, Ok(2));
        assert_eq!(hash.set_many([("a", "3")]).await, Ok(0));
        assert_eq!(hash.set_many::<&str, &str>([]).await, Ok(0));
        assert_eq!(hash.get("city").await, Ok(Some(b"Bergen".to_vec())));
        assert_eq!(hash.get("none").await, Ok(None));
        let several = hash.get_many(["b", "none", "a"]).await;
        assert_eq!(
            several,
            Ok(vec![Some(b"2".to_vec()), None, Some(b"3".to_vec())])
        );
        assert_eq!(hash.get_many::<&str>([]).await, Ok(Vec::new()));
        assert_eq!(hash.contains("a").await, Ok(true));
        assert_eq!(hash.set_if_missing("a", "9").await, Ok(false));
        assert_eq!(hash.incr_by("a", -5).await, Ok(-2));
        assert_eq!(hash.getdel("b").await, Ok(Some(b"2".to_vec())));
        assert_eq!(hash.getdel("b").await, Ok(None));
        let mut fields = hash.fields().await.unwrap();
        fields.sort();
        assert_eq!(fields, [b"a".to_vec(), b"city".to_vec()]);
        let mut all = hash.all().await.unwrap();
        all.sort();
        let expected = [("a", "-2"), ("city", "Bergen")];
        assert_eq!(
            all,
            expected.map(|(field, value)| (field.into(), value.into()))
        );
        assert_eq!(hash.del(["a", "none"]).await, Ok(1));
        assert_eq!(hash.del::<&str>([]).await, Ok(0));
        assert_eq!(hash.del(["city"]).await, Ok(1));
        assert_eq!(table.exists("user:ann").await, Ok(false));
        table.set("word", "x").await.unwrap();
        let refused = table.hash("word").len().await.unwrap_err();
        assert_eq!(refused.prefix(), Some("WRONGTYPE"));
    });
}

/// The keys of some slots, and how many pages that took.
async fn walk(table: &Table, begin: u16, end: u16) -> (Vec<Vec<u8>>, usize) {
    let mut scan = table.scan().page(50).slots(begin..end);
    let (mut keys, mut pages) = (Vec::new(), 0);
    while let Some(page) = scan.next_page().await.expect("a page") {
        keys.extend(page);
        pages += 1;
    }
    (keys, pages)
}

#[test]
fn walks_over_parts_return_each_key_once() {
    with_table(|table| async move {
        let sets = (0..4000).map(|n| table.set(format!("k{n}"), "v")).collect();
        let stored = Pending::all(sets).await.unwrap();
        assert!(stored.iter().all(Result::is_ok));
        let (_, pages_of_all) = walk(&table, 0, 16384).await;
        // Parts that are partitions, larger ones, smaller ones, and some that begin within one.
        for bounds in [
            vec![0, 2048, 4096, 6144, 8192, 10_240, 12_288, 14_336, 16_384],
            vec![0, 8192, 16_384],
            (0..=64).map(|at| at * 256).collect(),
            vec![0, 1, 5000, 5001, 12_345, 16_383, 16_384],
        ] {
            let mut seen = BTreeSet::new();
            let mut pages = 0;
            for part in bounds.windows(2) {
                let (keys, of_part) = walk(&table, part[0], part[1]).await;
                pages += of_part;
                for key in keys {
                    assert!((part[0]..part[1]).contains(&slot_of(&key)), "{part:?}");
                    assert!(seen.insert(key), "twice, in {part:?} of {bounds:?}");
                }
            }
            assert_eq!(seen.len(), 4000, "{bounds:?}");
            if bounds.len() <= 9 && bounds[1] % 2048 == 0 {
                let most = pages_of_all + bounds.len();
                assert!(
                    pages <= most,
                    "{pages} pages in parts, {pages_of_all} in one go"
                );
            }
        }
        assert_eq!(walk(&table, 7, 7).await, (Vec::new(), 0));
        let holders = table.holders();
        let slots: u32 = holders
            .iter()
            .map(|(begin, end, _)| u32::from(end - begin))
            .sum();
        assert_eq!(slots, 16_384);
        assert!(
            holders.iter().all(|(_, _, replicas)| replicas.len() == 1),
            "{holders:?}"
        );
    });
}
