//! Rules, dashboard and documentation name metrics that nodes show, and no other ones; what nodes show is as Prometheus wants it.

use super::pages;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::promtool::{check, deploy, metrics_in, promtool};
use brickyard_e2e::scrape::Scrape;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Three nodes under TLS that have something of everything to show.
fn cluster() -> Cluster {
    let cluster = Cluster::start_secure(&[0, 1, 2], 2, &["--default-replicas", "3"]);
    cluster.create_table("bounded", &["PARTITIONS", "16", "MAXMEMORY", "64mb"]);
    for table in ["default", "bounded"] {
        cluster.wait_until_whole(table, 3);
        let mut client = cluster.table(0, table).expect("the table");
        for number in 0..100 {
            let key = format!("a key {number}");
            assert!(client.call(&["SET", &key, "v"]).is_ok());
            assert_eq!(client.call(&["GET", &key]).text(), "v");
        }
        assert!(client.call(&["INCR", "a key 1"]).is_error_with("ERR"));
    }
    cluster
}

fn families(pages: &[Option<Scrape>]) -> BTreeSet<String> {
    let families = pages.iter().flatten().map(Scrape::families);
    families.flatten().cloned().collect()
}

#[test]
fn what_is_shown_is_documented_and_what_is_named_is_shown() {
    let cluster = cluster();
    // Somebody leads, and tells what it alone knows; bricks tell of their followers once a second.
    let shown = wait_for("the leader's figures and those of followers", || {
        let shown = families(&pages(&cluster));
        let names = [
            "brickyard_control_node_down",
            "brickyard_replication_lag_seconds",
            "brickyard_disk_size_bytes",
        ];
        names.iter().all(|it| shown.contains(*it)).then_some(shown)
    });
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &Path| fs::read_to_string(path).expect("a text");
    let operations = metrics_in(&read(&root.join("docs/operations.md")));
    let documents = fs::read_dir(root.join("docs")).expect("docs");
    let documents = documents.map(|entry| entry.expect("a file").path());
    let documents = documents.filter(|path| path.extension().is_some_and(|it| it == "md"));
    let deployed = ["prometheus/alerts.yml", "grafana/brickyard.json"];
    let deployed = deployed.map(|path| deploy().join(path));
    for path in documents.chain(deployed) {
        let named = metrics_in(&read(&path));
        let unknown: Vec<_> = named.difference(&shown).collect();
        let path = path.display();
        assert!(
            unknown.is_empty(),
            "{path} names what no node shows: {unknown:?}"
        );
    }
    let undocumented: Vec<_> = shown.difference(&operations).collect();
    assert!(
        undocumented.is_empty(),
        "docs/operations.md lacks {undocumented:?}"
    );
    // What somebody stores is nobody else's to read.
    for at in 0..3 {
        let page = cluster.metrics(at).expect("a page");
        assert!(!page.contains("a key"), "a key is shown by node {at}");
    }

    let Some(tool) = promtool("`promtool check metrics` of live nodes") else {
        return;
    };
    for at in 0..3 {
        let page = cluster.metrics(at).expect("a page");
        if let Err(said) = check(&tool, &["check", "metrics"], &page) {
            panic!("node {at}: {said}");
        }
    }
}

/// Every expression of the dashboard is one, with something in place of its variables.
#[test]
fn expressions_of_the_dashboard_are_such() {
    let Some(tool) = promtool("expressions of the dashboard") else {
        return;
    };
    let path = deploy().join("grafana/brickyard.json");
    let dashboard = fs::read_to_string(path).expect("the dashboard");
    let lines = dashboard.lines().map(str::trim_start);
    let expressions = lines.filter_map(|line| line.strip_prefix("\"expr\": "));
    let mut rules = String::from("groups:\n  - name: dashboard\n    rules:\n");
    for (number, expression) in expressions.enumerate() {
        let expression = expression.trim_end_matches(',');
        let expression = expression.replace("$__rate_interval", "1m");
        // A string of JSON is one of YAML.
        rules += &format!("      - record: panel:{number}\n        expr: {expression}\n");
    }
    assert!(rules.lines().count() > 100, "{rules}");
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), &rules).expect("written");
    let path = file.path().to_str().expect("a plain path");
    if let Err(said) = check(&tool, &["check", "rules", path], "") {
        panic!("{said}\n{rules}");
    }
}
