//! A key that is read too much gets a copy more, which answers reads by itself, and gives it back.

use brickyard_e2e::client::Client;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Bricks are too busy at once, and what was lent is not missed for long. What is tested does not hang on how fast the machine
/// is: the fastest loop of reads takes more of a core than this.
const SOON: [&str; 6] = ["--hot-busy", "2", "--hot-replicas", "1", "--hot-cool", "5s"];

/// Copies of the table's hot partitions beyond those asked for.
fn extra(cluster: &Cluster) -> Option<i64> {
    let described = cluster.client(0).call(&["TABLE", "DESCRIBE", "t"]);
    let pairs = described.pairs()?;
    let extra = pairs.iter().find(|(name, _)| name.text() == "extra_copies");
    extra.and_then(|(_, extra)| extra.as_integer())
}

/// Whether the node's brick answers a read of the key by itself; as a backup only with READONLY.
fn answers(cluster: &Cluster, at: usize, is_readonly: bool) -> bool {
    let mut client = Client::connect(cluster.brick_port(at));
    client.must(&["TABLE", "USE", "t"]);
    if is_readonly {
        client.must(&["READONLY"]);
    }
    client.call(&["GET", "hot"]).text() == "value"
}

fn count(cluster: &Cluster) -> usize {
    (0..3).filter(|at| answers(cluster, *at, true)).count()
}

/// Reads the key through a node as fast as it goes, from when it is told to until `is_over`.
fn read(cluster: &Cluster, at: usize, begin: &Receiver<()>, is_over: &AtomicBool) {
    let mut client = cluster.table(at, "t").unwrap();
    let pipeline = b"*2\r\n$3\r\nGET\r\n$3\r\nhot\r\n".repeat(16);
    if begin.recv().is_err() {
        return;
    }
    while !is_over.load(Relaxed) {
        client.send_raw(&pipeline).unwrap();
        for _ in 0..16 {
            assert_eq!(client.receive().unwrap().text(), "value");
        }
    }
}

/// Readers end with it, also when the test fails.
struct UntilDropped<'a>(&'a AtomicBool);

impl Drop for UntilDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn hot_key_gets_a_copy_more_that_is_read_from_and_gives_it_back() {
    let cluster = Cluster::start(&[0, 1, 2], 1, &SOON);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "4"]);
    cluster.wait_until_whole("t", 2);
    cluster
        .table(0, "t")
        .unwrap()
        .must(&["SET", "hot", "value"]);
    wait_for("both copies to know the key", || {
        (count(&cluster) == 2).then_some(())
    });
    assert_eq!(extra(&cluster), Some(0));
    let primary = wait_for("a primary", || {
        (0..3).find(|at| answers(&cluster, *at, false))
    });
    let is_over = AtomicBool::new(false);
    let (cluster, is_over) = (&cluster, &is_over);
    thread::scope(|scope| {
        let readers = UntilDropped(is_over);
        let begin: Vec<Sender<()>> = (0..3)
            .map(|at| {
                let (begin, told) = channel();
                scope.spawn(move || read(cluster, at, &told, is_over));
                begin
            })
            .collect();
        begin[primary].send(()).unwrap();
        wait_for("a third copy", || (count(cluster) == 3).then_some(()));
        assert_eq!(extra(cluster), Some(1));
        for at in (0..3).filter(|at| *at != primary) {
            begin[at].send(()).unwrap();
        }
        // A write goes through all copies, and each reads what was written last.
        let mut writer = cluster.table(primary, "t").unwrap();
        writer.must(&["SET", "other{hot}", "1"]);
        for at in 0..3 {
            let mut reader = cluster.table(at, "t").unwrap();
            assert_eq!(reader.call(&["GET", "other{hot}"]).text(), "1");
        }
        drop(readers);
    });
    wait_for("the copy to be given back", || {
        (extra(cluster) == Some(0) && count(cluster) == 2).then_some(())
    });
    cluster.wait_until_whole("t", 2);
}
