//! The dashboard for Grafana over a real Prometheus that watches a cluster which fails and moves: each of its panels has something
//! to show, and what they show is drawn.
//!
//! Grafana itself is in no registry that tests may use. So its panels' expressions, units, places and legends are read from the file that Grafana
//! imports, their data from Prometheus by the same requests, and `dashboard.html` draws them, more plainly than Grafana does.

use crate::load::{Load, fill};
use crate::pictures::Pictures;
use brickyard_e2e::binary::installed;
use brickyard_e2e::browser::Browser;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::{PATIENCE, try_wait_for};
use brickyard_e2e::http::Site;
use brickyard_e2e::port::free_block;
use brickyard_e2e::process::Process;
use brickyard_e2e::promtool::deploy;
use brickyard_e2e::skip;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use tempfile::TempDir;

/// Panels that have nothing to show here: the cluster speaks in the clear.
const EMPTY: [&str; 1] = ["Certificates end in"];

/// Samples of each node that a phase lasts, one a second.
const SAMPLES: u64 = 12;

/// A Prometheus of the test's own.
struct Prometheus {
    site: Site,
    _process: Process,
    _folder: TempDir,
}

impl Prometheus {
    /// One that watches nodes by their HTTP ports; none, where it is not installed.
    fn start(ports: &[u16]) -> Option<Self> {
        let Some(program) = installed("prometheus") else {
            let why = "no prometheus on the PATH; on Debian: apt-get install --no-install-recommends prometheus";
            skip::announce("the dashboard's panels", why);
            return None;
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let targets: Vec<String> = ports
            .iter()
            .map(|port| format!("'127.0.0.1:{port}'"))
            .collect();
        let rules = deploy().join("prometheus/alerts.yml");
        let rules = rules.canonicalize().expect("the rules");
        let configuration = format!(
            "global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}\nrule_files: ['{}']\n\
             scrape_configs:\n  - job_name: brickyard\n    static_configs: [{{targets: [{}]}}]\n",
            rules.display(),
            targets.join(", ")
        );
        let file = folder.path().join("prometheus.yml");
        fs::write(&file, configuration).expect("written");
        let port = free_block(1);
        let mut command = Command::new(program);
        command
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.path().join("data").display()
            ))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg("--log.level=warn");
        let process = Process::start(&mut command, &folder.path().join("log"));
        Some(Self {
            site: Site::local(port),
            _process: process,
            _folder: folder,
        })
    }

    /// What it answers to an expression; none: it is not there yet.
    fn ask(&self, path: &str, query: &str, more: &str) -> Option<Value> {
        let body = format!("query={}{more}", percent(query));
        let form = [("Content-Type", "application/x-www-form-urlencoded")];
        let answer = self.site.try_ask("POST", path, &form, &body).ok()?;
        // It reads its own files first.
        let answer = (answer.status != 503).then(|| answer.json())?;
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        Some(answer["data"]["result"].clone())
    }

    /// The value of an expression now, if it has one.
    fn value(&self, query: &str) -> Option<f64> {
        let result = self.ask("/api/v1/query", query, "")?;
        result[0]["value"][1].as_str()?.parse().ok()
    }

    /// Waits until an expression is true of every node, as Prometheus has seen it.
    fn wait_for(&self, what: &str, query: &str) {
        let seen = try_wait_for(PATIENCE * 4, || {
            self.value(query).filter(|value| *value > 0.0)
        });
        assert!(seen.is_some(), "{what}: {query} is {:?}", self.value(query));
    }

    /// Waits for so many more samples of the first node.
    fn watch(&self) {
        let count = "count_over_time(brickyard_server_ready[1h])";
        let before = self.value(count).unwrap_or(0.0);
        let until = before + SAMPLES as f64;
        self.wait_for("samples", &format!("max({count}) >= bool {until}"));
    }
}

/// Bytes that mean something in a form, as `%XX`.
fn percent(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(byte.into()),
            _ => write!(out, "%{byte:02X}").expect("a text takes more"),
        }
    }
    out
}

/// A legend with a series' labels in the place of their names.
fn legend(format: &str, labels: &Value) -> String {
    let mut text = format.to_owned();
    for (name, value) in labels.as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        text = text.replace(&format!("{{{{{name}}}}}"), value);
    }
    text
}

/// The panels with what Prometheus has for them.
fn panels(prometheus: &Prometheus, window: (f64, f64)) -> Vec<Value> {
    let file = fs::read_to_string(deploy().join("grafana/brickyard.json")).expect("the dashboard");
    let mut dashboard: Value = serde_json::from_str(&file).expect("JSON");
    let (begin, end) = window;
    let range = format!("&start={begin}&end={end}&step=1");
    let panels = dashboard["panels"].as_array_mut().expect("panels");
    for panel in &mut *panels {
        let mut series = Vec::new();
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expression = target["expr"].as_str().expect("an expression");
            let query = expression
                .replace("$job", "brickyard")
                .replace("$instance", ".*")
                .replace("$__rate_interval", "8s");
            let result = prometheus.ask("/api/v1/query_range", &query, &range);
            let result = result.expect("Prometheus answers");
            let format = target["legendFormat"].as_str().unwrap_or_default();
            for one in result.as_array().into_iter().flatten() {
                let name = legend(format, &one["metric"]);
                series.push(json!({ "name": name, "points": one["values"] }));
            }
        }
        panel["series"] = Value::Array(series);
    }
    std::mem::take(panels)
}

#[test]
fn dashboard_has_something_to_show_of_a_cluster_that_fails_and_moves() {
    let Some(browser) = Browser::start("the dashboard's panels", false) else {
        return;
    };
    let arguments = ["--default-replicas", "2", "--recovery-bandwidth", "96KiB"];
    let mut cluster = Cluster::start(&[0, 1, 2], 2, &arguments);
    cluster.create_table(
        "orders",
        &["REPLICAS", "2", "PARTITIONS", "64", "MAXMEMORY", "64mb"],
    );
    cluster.wait_until_whole("orders", 2);
    fill(&cluster);
    let ports: Vec<u16> = (0..3).map(|at| cluster.http_port(at)).collect();
    let Some(prometheus) = Prometheus::start(&ports) else {
        return;
    };
    let load = Load::start(&cluster);
    prometheus.wait_for("three nodes", "sum(brickyard_server_ready) >= bool 3");
    let begin = prometheus.value("vector(time())").expect("the time");
    prometheus.watch();

    cluster.kill(2);
    prometheus.wait_for(
        "a node that is down",
        "max(brickyard_control_node_down) > bool 0",
    );
    prometheus.watch();
    cluster.launch(2);
    prometheus.wait_for(
        "a node that has returned",
        "(sum(brickyard_server_ready) >= bool 3) * (sum(brickyard_replication_copies_missing) == bool 0)",
    );

    // A fourth node is not watched; what moves to it is told by the leader.
    cluster.add();
    prometheus.wait_for(
        "moves",
        "sum(max by (table) (brickyard_replication_moves)) > bool 0",
    );
    prometheus.watch();
    let end = prometheus.value("vector(time())").expect("the time");
    drop(load);

    let panels = panels(&prometheus, (begin, end));
    let is_row = |panel: &&Value| panel["type"] == "row";
    let empty = panels.iter().filter(|it| !is_row(it));
    let empty = empty.filter(|it| it["series"].as_array().is_none_or(Vec::is_empty));
    let empty: BTreeSet<&str> = empty.filter_map(|it| it["title"].as_str()).collect();
    assert_eq!(empty, BTreeSet::from(EMPTY));
    let of = |title: &str| {
        let panel = panels.iter().find(|it| it["title"] == title);
        let points = panel.and_then(|it| it["series"][0]["points"].as_array());
        let points = points.unwrap_or_else(|| panic!("panel '{title}'"));
        let values = points.iter().filter_map(|it| it[1].as_str()?.parse().ok());
        values.collect::<Vec<f64>>()
    };
    // What has happened is there to be seen.
    assert!(of("Nodes down").contains(&1.0), "{:?}", of("Nodes down"));
    assert_eq!(of("Nodes ready").last(), Some(&3.0));
    assert!(of("Copies missing").iter().any(|it| *it > 0.0));

    let page = include_str!("dashboard.html");
    let data = json!({ "panels": panels, "begin": begin, "end": end }).to_string();
    // Names of tables and nodes are plain; a text that ended the script would be none of ours.
    let page = page.replace("/*DATA*/null", &data.replace('<', "\\u003c"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("dashboard.html");
    fs::write(&file, page).expect("written");
    browser.wear(1600, 1740, true);
    browser.open(&format!("file://{}", file.display()));
    browser.wait_for("h1", "Brickyard");
    let drawn = "return document.querySelectorAll('.panel').length";
    let shown = panels.iter().filter(|it| !is_row(it)).count();
    assert_eq!(browser.run(drawn).as_u64(), Some(shown as u64));
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:?}");
    Pictures::of_environment().take(&browser, "dashboard");
}
