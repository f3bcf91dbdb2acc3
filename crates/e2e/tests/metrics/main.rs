//! What nodes show to Prometheus: pages, rules and dashboard that belong together, and failures that can be seen by them alone.

mod disks;
mod failures;
mod names;
mod rules;

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::promtool::{RuleTrial, check, promtool};
use brickyard_e2e::scrape::Scrape;

/// What each node shows now; none: it does not answer.
fn pages(cluster: &Cluster) -> Vec<Option<Scrape>> {
    pages_of(cluster, |_| true)
}

/// The same, of those that answer.
fn pages_of(cluster: &Cluster, answers: impl Fn(usize) -> bool) -> Vec<Option<Scrape>> {
    let running = cluster.running();
    let page = |at| {
        let page = (running.contains(&at) && answers(at)).then(|| cluster.metrics(at))?;
        Some(Scrape::of(&page?))
    };
    (0..cluster.len()).map(page).collect()
}

/// Asks the rules of what was recorded.
fn ask_rules(recording: &RuleTrial, watched: &[&str]) {
    let Some(tool) = promtool("alerts of what live nodes showed") else {
        return;
    };
    let test = recording.unit_test(watched);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), &test).expect("written");
    let path = file.path().to_str().expect("a plain path");
    if let Err(said) = check(&tool, &["test", "rules", path], "") {
        panic!("{said}");
    }
}

/// The most that any node says of something.
fn most(pages: &[Option<Scrape>], name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let values = pages.iter().flatten();
    values
        .filter_map(|page| page.sum(name, labels))
        .max_by(f64::total_cmp)
}

/// What all nodes say of something, added up.
fn sum(pages: &[Option<Scrape>], name: &str, labels: &[(&str, &str)]) -> f64 {
    let values = pages.iter().flatten();
    values.filter_map(|page| page.sum(name, labels)).sum()
}

/// The number in the cluster of the node whose page it is.
fn number(page: &Scrape) -> String {
    let mut series = page.series();
    let found = series.find_map(|(name, labels, _)| {
        let mut labels = labels
            .iter()
            .filter(|_| name == "brickyard_server_node_info");
        labels.find(|(name, _)| name == "node")
    });
    found.expect("who it is").1.clone()
}
