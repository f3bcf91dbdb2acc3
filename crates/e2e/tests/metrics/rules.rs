//! The alert rules are rules, each fires and resolves, and each has a page that says what to do.

use brickyard_e2e::promtool::{check, deploy, promtool};
use std::fs;
use std::path::Path;

/// The values of all lines `key: value` of a YAML file, whatever they belong to.
fn values<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let lines = text
        .lines()
        .map(|line| line.trim_start().trim_start_matches("- "));
    let of_key = lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    of_key.collect()
}

fn operations() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.md");
    fs::read_to_string(path).expect("docs/operations.md")
}

#[test]
fn each_rule_fires_and_resolves() {
    let Some(tool) = promtool("alert rules") else {
        return;
    };
    for arguments in [
        ["check", "rules", "alerts.yml"],
        ["test", "rules", "alerts_test.yml"],
    ] {
        if let Err(said) = check(&tool, &arguments, "") {
            panic!("promtool {}: {said}", arguments.join(" "));
        }
    }
}

#[test]
fn each_rule_is_tried_and_has_a_page() {
    let folder = deploy().join("prometheus");
    let rules = fs::read_to_string(folder.join("alerts.yml")).expect("the rules");
    let tests = fs::read_to_string(folder.join("alerts_test.yml")).expect("their tests");
    let operations = operations();
    let alerts = values(&rules, "alert");
    let runbooks = values(&rules, "runbook");
    assert!(alerts.len() > 20, "{alerts:?}");
    assert_eq!(alerts.len(), runbooks.len());
    for (alert, runbook) in alerts.iter().zip(runbooks) {
        let anchor = format!("docs/operations.md#{}", alert.to_lowercase());
        assert_eq!(runbook, anchor);
        let headings = operations
            .lines()
            .filter(|line| *line == format!("#### {alert}"));
        assert_eq!(headings.count(), 1, "sections about {alert}");
        let is_tried = values(&tests, "alertname").contains(alert);
        assert!(is_tried, "alerts_test.yml does not try {alert}");
    }
    // And none about a rule that has gone.
    let headings = operations
        .lines()
        .filter_map(|line| line.strip_prefix("#### Brickyard"));
    assert_eq!(headings.count(), alerts.len());
}
