use super::*;

#[test]
fn values_are_told_with_what_they_mean() {
    let mut page = Page::default();
    page.gauge("a_ratio", "Part of it.", 0.25);
    let of = |table: &str| vec![("table", table.to_owned())];
    page.counters("b_total", "Times.", [(of("t"), 3.0), (of("a\"b\\"), 1e18)]);
    page.gauges("nothing", "There is none now.", []);
    let wanted = [
        "# HELP a_ratio Part of it.",
        "# TYPE a_ratio gauge",
        "a_ratio 0.25",
        "# HELP b_total Times.",
        "# TYPE b_total counter",
        "b_total{table=\"t\"} 3",
        "b_total{table=\"a\\\"b\\\\\"} 1000000000000000000",
    ];
    assert_eq!(page.text().expect("families"), wanted.join("\n") + "\n");
}

#[test]
fn buckets_of_a_histogram_add_up() {
    let mut page = Page::default();
    let distribution = Distribution {
        sum: 1.5,
        buckets: vec![(0.001, 2), (0.002, 0), (0.004, 3)],
    };
    page.histograms("c_seconds", "Time.", [(Labels::new(), distribution)]);
    let wanted = [
        "# HELP c_seconds Time.",
        "# TYPE c_seconds histogram",
        "c_seconds_bucket{le=\"0.001\"} 2",
        "c_seconds_bucket{le=\"0.002\"} 2",
        "c_seconds_bucket{le=\"+Inf\"} 5",
        "c_seconds_sum 1.5",
        "c_seconds_count 5",
    ];
    assert_eq!(page.text().expect("families"), wanted.join("\n") + "\n");
}
