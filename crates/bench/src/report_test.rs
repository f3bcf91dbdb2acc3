use super::{Report, grouped};
use crate::{record::Record, reply::Outcome, workload::Operation};
use std::time::Duration;

fn report() -> Report {
    let mut record = Record::new();
    record.succeeded(Operation::Get, Outcome::Hit, 100_000, 98);
    record.succeeded(Operation::Get, Outcome::Miss, 200_000, 1);
    record.succeeded(Operation::Set, Outcome::Done, 5_000_000, 1);
    record.refused(b"-BUSY queue is full\r\n");
    record.refused(b"-BUSY queue is full\r\n");
    record.refused(b"-OOM limit\r\n");
    let mut other = Record::new();
    other.refused(b"-OOM limit\r\n");
    other.not_sent = 3;
    record.merge(&other);
    Report::new(
        &record,
        Duration::from_secs(2),
        Some(51.0),
        Duration::from_micros(150),
    )
}

#[test]
fn percentiles_and_counts_are_those_recorded() {
    let report = report();
    assert_eq!((report.count, report.count_per_s), (100, 50.0));
    assert!(
        (report.latency.p50_us - 100.0).abs() < 0.2,
        "{:?}",
        report.latency
    );
    assert!(
        (report.latency.p99_us - 200.0).abs() < 0.4,
        "{:?}",
        report.latency
    );
    assert!(
        (report.latency.max_us - 5000.0).abs() < 5.0,
        "{:?}",
        report.latency
    );
    assert_eq!(report.operations[0].misses, 1);
    assert_eq!((report.refused["BUSY"], report.refused["OOM"]), (2, 2));
    assert_eq!(report.refused_count(), 4);
    assert!((report.client_cpu_us - 1.5).abs() < 1e-9);
}

#[test]
fn the_table_says_what_was_lost() {
    let text = report().to_string();
    for expected in [
        "100 requests in 2.00 s: 50/s of 51/s offered",
        "get: 1 found no value",
        "refused by the server, BUSY: 2",
        "not sent, too many were waiting: 3",
    ] {
        assert!(text.contains(expected), "{expected} is not in:\n{text}");
    }
}

#[test]
fn json_has_the_fields_that_programs_read() {
    let json = serde_json::to_value(report()).unwrap();
    assert_eq!(json["count"], 100);
    assert_eq!(json["operations"][1]["operation"], "set");
    assert!(json["latency"]["p999_us"].as_f64().unwrap() > 199.0);
}

#[test]
fn digits_are_grouped_by_three() {
    assert_eq!(grouped(7), "7");
    assert_eq!(grouped(1_000), "1,000");
    assert_eq!(grouped(12_345_678), "12,345,678");
}
