use super::{short, shown};

#[test]
fn three_digits_count_and_no_more_are_shown() {
    let cases = [
        (0.0, "0"),
        (0.000_012, "1.2e-5"),
        (0.35, "0.35"),
        (0.985_4, "0.985"),
        (1.0, "1"),
        (2.854, "2.85"),
        (14.46, "14.5"),
        (480.4, "480"),
        (61_432.0, "61,432"),
        (-3.5, "−3.5"),
    ];
    for (value, text) in cases {
        assert_eq!(shown(value), text);
    }
    assert_eq!(shown(f64::NAN), "–");
}

#[test]
fn at_an_axis_thousands_have_letters() {
    assert_eq!(short(1_000.0), "1,000");
    assert_eq!(short(20_000.0), "20k");
    assert_eq!(short(1_500_000.0), "1.5M");
}
