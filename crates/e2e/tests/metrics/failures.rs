//! From metrics alone: which copies are missing, who leads, how far behind each node is; before, during and after a failure. And
//! the alert rules, asked of what the nodes showed.

use super::{ask_rules, most, number, pages, pages_of, sum};
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::promtool::RuleTrial;
use brickyard_e2e::scrape::Scrape;

const PARTITIONS: f64 = 16.0;
const ORDERS: (&str, &str) = ("table", "orders");

/// What nodes show when this is so of it.
fn when(
    cluster: &Cluster,
    what: &str,
    is_so: impl Fn(&[Option<Scrape>]) -> bool,
) -> Vec<Option<Scrape>> {
    wait_for(what, || {
        let pages = pages(cluster);
        is_so(&pages).then_some(pages)
    })
}

fn is_whole(pages: &[Option<Scrape>]) -> bool {
    let leads = |page: &Scrape| page.sum("brickyard_control_is_leader", &[]) == Some(1.0);
    pages.iter().all(Option::is_some)
        && sum(pages, "brickyard_server_ready", &[]) == pages.len() as f64
        && pages.iter().flatten().filter(|page| leads(page)).count() == 1
        && most(pages, "brickyard_replication_copies_missing", &[]) == Some(0.0)
        && most(pages, "brickyard_replication_partitions_unserved", &[]) == Some(0.0)
        && most(pages, "brickyard_control_node_down", &[]) == Some(0.0)
        && most(pages, "brickyard_replication_lag_operations", &[]) == Some(0.0)
}

/// The place of the node that leads the control plane.
fn leader(pages: &[Option<Scrape>]) -> Option<usize> {
    let leads = |page: &Scrape| page.sum("brickyard_control_is_leader", &[]) == Some(1.0);
    pages
        .iter()
        .position(|page| page.as_ref().is_some_and(leads))
}

#[test]
fn a_node_that_dies_is_missed_until_it_is_back() {
    let mut cluster = Cluster::start(&[0, 1, 2], 1, &["--default-replicas", "3"]);
    cluster.create_table("orders", &["PARTITIONS", "16"]);
    for table in ["default", "orders"] {
        cluster.wait_until_whole(table, 3);
    }
    let before = when(&cluster, "everything to be well", is_whole);
    let led = leader(&before).expect("somebody leads");
    assert_eq!(led, cluster.leader());
    let lost = number(before[led].as_ref().expect("its page"));
    // Each names it, and each copy is somewhere.
    let named = sum(&before, "brickyard_control_leader", &[("node", &lost)]);
    assert_eq!(named, 3.0);
    let copies = sum(&before, "brickyard_replication_replicas", &[ORDERS]);
    assert_eq!(copies, 3.0 * PARTITIONS);
    let primaries = [ORDERS, ("role", "primary")];
    let primaries =
        |pages: &[Option<Scrape>]| sum(pages, "brickyard_replication_replicas", &primaries);
    assert_eq!(primaries(&before), PARTITIONS);

    cluster.kill(led);
    let during = when(&cluster, "the loss to be seen by the others", |pages| {
        let missing = most(pages, "brickyard_replication_copies_missing", &[ORDERS]);
        let down = most(pages, "brickyard_control_node_down", &[("node", &lost)]);
        let unserved = most(pages, "brickyard_replication_partitions_unserved", &[]);
        // What has happened is counted once a second.
        let evicted = most(
            pages,
            "brickyard_replication_copies_evicted_total",
            &[ORDERS],
        );
        leader(pages).is_some()
            && (missing, down, unserved) == (Some(PARTITIONS), Some(1.0), Some(0.0))
            && evicted == Some(PARTITIONS)
    });
    assert_ne!(leader(&during), Some(led));
    assert_eq!(primaries(&during), PARTITIONS, "others lead them all");
    let states = [ORDERS, ("state", "under_replicated")];
    let states = most(&during, "brickyard_replication_partitions", &states);
    assert_eq!(states, Some(PARTITIONS));
    for page in during.iter().flatten() {
        let changes = page.sum("brickyard_control_leader_changes_total", &[]);
        assert!(changes >= Some(2.0), "{changes:?} leaders were seen");
    }

    cluster.launch(led);
    let after = when(&cluster, "everything to be well again", |pages| {
        let made = most(pages, "brickyard_replication_copies_made_total", &[ORDERS]);
        is_whole(pages) && made == Some(PARTITIONS)
    });

    let watched = [
        "BrickyardNodeUnreachable",
        "BrickyardNodeDown",
        "BrickyardCopiesMissing",
        "BrickyardNoLeader",
        "BrickyardNoLease",
        "BrickyardPartitionsUnserved",
        "BrickyardPartitionsShort",
        "BrickyardReplicaBehind",
        "BrickyardNodeNotReady",
    ];
    let fire = [
        "BrickyardCopiesMissing",
        "BrickyardNodeDown",
        "BrickyardNodeUnreachable",
    ];
    let mut recording = RuleTrial::default();
    recording.add(before, 20, &[]);
    recording.add(during, 20, &fire);
    recording.add(after, 20, &[]);
    ask_rules(&recording, &watched);
}

/// Without the two others a node has no lease, nobody leads, and it says so.
#[test]
fn a_node_without_a_majority_says_so() {
    let mut cluster = Cluster::start(&[0, 1, 2], 1, &["--default-replicas", "3"]);
    cluster.wait_until_whole("default", 3);
    let before = when(&cluster, "everything to be well", is_whole);
    cluster.kill(1);
    cluster.kill(2);
    let during = when(&cluster, "the majority to be missed", |pages| {
        let page = pages[0].as_ref();
        page.is_some_and(|page| {
            page.sum("brickyard_control_lease_held", &[]) == Some(0.0)
                && page.sum("brickyard_control_lease_left_seconds", &[]) == Some(0.0)
                && page.sum("brickyard_control_leader", &[]).is_none()
                && page.sum("brickyard_server_ready", &[]) == Some(0.0)
        })
    });
    cluster.launch(1);
    cluster.launch(2);
    let after = when(&cluster, "everything to be well again", is_whole);
    let watched = [
        "BrickyardNodeUnreachable",
        "BrickyardNoLeader",
        "BrickyardNoLease",
        "BrickyardNodeNotReady",
    ];
    let mut recording = RuleTrial::default();
    recording.add(before, 20, &[]);
    recording.add(during, 20, &watched);
    recording.add(after, 20, &[]);
    ask_rules(&recording, &watched);
}

/// A node that stands still while others may not go on without it: leases here are long, and writes ask for all copies.
#[test]
fn a_node_that_stands_still_is_behind_until_it_goes_on() {
    let arguments = [
        "--default-replicas",
        "3",
        "--lease",
        "30s",
        "--eviction-timeout",
        "30s",
    ];
    let cluster = Cluster::start(&[0, 1, 2], 1, &arguments);
    let options = ["PARTITIONS", "16", "REPLICAS", "3", "MIN_IN_SYNC", "3"];
    cluster.create_table("orders", &options);
    cluster.wait_until_whole("orders", 3);
    let before = when(&cluster, "everything to be well", is_whole);
    let led = leader(&before).expect("somebody leads");
    let still = (0..3).find(|at| *at != led).expect("another one");
    let peer = number(before[still].as_ref().expect("its page"));
    let lag = |pages: &[Option<Scrape>], name: &str| {
        let labels = [ORDERS, ("peer", peer.as_str()), ("role", "backup")];
        most(pages, name, &labels).unwrap_or(0.0)
    };
    cluster.signal(still, "STOP");
    // Answers are late: those that the node has to vote for come when it goes on.
    let mut writers = Vec::new();
    for number in 0..20 {
        let mut client = cluster.table(led, "orders").expect("the table");
        let key = format!("k{number}");
        writers.push(std::thread::spawn(move || {
            client.try_call(&["SET", &key, "v"])
        }));
    }
    let during = wait_for("the node to be seen behind", || {
        let pages = pages_of(&cluster, |at| at != still);
        let operations = lag(&pages, "brickyard_replication_lag_operations");
        let seconds = lag(&pages, "brickyard_replication_lag_seconds");
        (operations > 0.0 && seconds > 1.0).then_some(pages)
    });
    cluster.signal(still, "CONT");
    for writer in writers {
        drop(writer.join().expect("it ends"));
    }
    let after = when(&cluster, "everything to be well again", is_whole);
    assert_eq!(lag(&after, "brickyard_replication_lag_seconds"), 0.0);
    let mut recording = RuleTrial::default();
    recording.add(before, 20, &[]);
    recording.add(
        during,
        20,
        &["BrickyardNodeUnreachable", "BrickyardReplicaBehind"],
    );
    recording.add(after, 20, &[]);
    ask_rules(
        &recording,
        &["BrickyardNodeUnreachable", "BrickyardReplicaBehind"],
    );
}
