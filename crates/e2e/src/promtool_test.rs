use super::*;

#[test]
fn what_was_recorded_becomes_series_with_gaps() {
    let page = |value: u32| {
        let page = format!("brickyard_a{{table=\"t\"}} {value}\n");
        Some(Scrape::of(&page))
    };
    let mut recording = RuleTrial::default();
    recording.add(vec![page(1)], 3, &[]);
    recording.add(vec![None], 4, &["Down"]);
    recording.add(vec![page(5)], 2, &[]);
    let test = recording.unit_test(&["Down", "Other"]);
    for wanted in [
        "'brickyard_a{instance=\"node0\", job=\"brickyard\", table=\"t\"}', values: '1x2 stale _x3 5x1'",
        "'up{instance=\"node0\", job=\"brickyard\"}', values: '1x2 0x3 1x1'",
        "alertname=~\"Down|Other\"",
        "eval_time: 30s",
        "eval_time: 90s",
        "{labels: '{alertname=\"Down\"}', value: 1}",
    ] {
        assert!(test.contains(wanted), "no {wanted} in\n{test}");
    }
}

#[test]
fn names_of_metrics_are_found_in_expressions_and_tables() {
    let text = "`brickyard_b_total{reason=\"x\"}` rate(brickyard_c_seconds_bucket[5m]) / brickyard_c_seconds_count up brickyard_store=debug";
    let found: Vec<String> = metrics_in(text).into_iter().collect();
    assert_eq!(found, ["brickyard_b_total", "brickyard_c_seconds"]);
}
