use super::{Data, Point};

fn sample() -> Data {
    let mut data = Data::default();
    for (round, value) in [3.0, 1.0, 0.1 + 0.2].into_iter().enumerate() {
        data.add("get", 2.0, round as u32, &[("ops_per_s", value)]);
    }
    data.add("get", 1.0, 0, &[("ops_per_s", 9.0), ("cpu_us", 1e-9)]);
    data.add("put, \"log\"", 1.0, 1, &[("cpu_us", 4.0)]);
    data
}

#[test]
fn rounds_become_a_median_with_its_bounds_and_places_are_sorted() {
    let line = sample().line("get", "ops_per_s");
    assert_eq!(line.len(), 2);
    assert_eq!((line[0].x, line[0].median), (1.0, 9.0));
    let expected = Point {
        x: 2.0,
        median: 1.0,
        min: 0.1 + 0.2,
        max: 3.0,
    };
    assert_eq!(line[1], expected);
}

#[test]
fn an_even_number_of_rounds_has_its_median_in_the_middle() {
    let mut data = Data::default();
    data.add("a", 0.0, 0, &[("m", 1.0)]);
    data.add("a", 0.0, 1, &[("m", 4.0)]);
    assert_eq!(data.median("a", 0.0, "m"), 2.5);
}

#[test]
fn what_was_not_measured_is_no_number() {
    assert!(sample().median("get", 5.0, "ops_per_s").is_nan());
    assert!(sample().line("nobody", "ops_per_s").is_empty());
}

#[test]
fn what_is_written_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data.csv");
    sample().write(&path).unwrap();
    assert_eq!(Data::read(&path).unwrap(), sample());
}

#[test]
fn another_file_is_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data.csv");
    for text in [
        "a,b\n1,2\n",
        "rubbish\n",
        "",
        "series,x,measure,round,value\n",
    ] {
        std::fs::write(&path, text).unwrap();
        let error = Data::read(&path).unwrap_err();
        assert!(error.to_string().contains("--again"), "{error}");
    }
}

#[test]
fn names_come_in_their_order() {
    let data = sample();
    assert_eq!(data.series(), ["get", "put, \"log\""]);
    assert_eq!(data.series_with("ops_per_s"), ["get"]);
    assert_eq!(data.rounds(), 3);
}
