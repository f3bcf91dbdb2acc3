use super::*;

fn text(number: &str) -> Option<String> {
    Extended::parse(number.as_bytes()).and_then(Extended::to_text)
}

fn sum(one: &str, other: &str) -> Option<String> {
    let parse = |text: &str| Extended::parse(text.as_bytes()).unwrap();
    parse(one).add(parse(other)).to_text()
}

#[test]
fn numbers_are_read_as_c_reads_them() {
    let cases = [
        ("1", "1"),
        ("+1.50", "1.5"),
        ("-.5", "-0.5"),
        ("5.", "5"),
        ("-0", "0"),
        ("1e3", "1000"),
        ("12E-1", "1.2"),
        ("0x10", "16"),
        ("0X1.8p1", "3"),
        ("0x.8", "0.5"),
        ("1e-18", "0"),
        ("0e99999999999", "0"),
    ];
    for (number, shown) in cases {
        assert_eq!(text(number).as_deref(), Some(shown), "{number}");
    }
}

#[test]
fn other_text_is_no_number() {
    let texts = [
        "", ".", "e5", "1e", "1e+", "--1", "+-1", " 1", "1 ", "0x", "0xg", "0x1p", "1_0", "nan",
        "1\0",
    ];
    for number in texts {
        assert_eq!(Extended::parse(number.as_bytes()), None, "{number}");
    }
    assert_eq!(Extended::parse(&[b'1'; TEXT_BYTES_MAX + 1]), None);
}

#[test]
fn largest_and_smallest_numbers_are_those_of_the_format() {
    assert!(text("0x1.fffffffffffffffep16383").is_some());
    assert_eq!(text("0x1.ffffffffffffffffp16383"), None);
    assert_eq!(text("0x1p16384"), None);
    assert_eq!(text("0x1p-16445").as_deref(), Some("0"));
    assert_eq!(text("0x1p-16446"), None);
    // Halfway between nothing and the smallest number: to even is nothing.
    assert_eq!(text("0x1.0001p-16446").as_deref(), Some("0"));
}

#[test]
fn sums_are_rounded_once_to_64_bits() {
    assert_eq!(sum("0.1", "0.2").as_deref(), Some("0.3"));
    assert_eq!(
        sum("18446744073709551615", "1").as_deref(),
        Some("18446744073709551616")
    );
    assert_eq!(
        sum("18446744073709551616", "1").as_deref(),
        Some("18446744073709551616")
    );
    assert_eq!(
        sum("18446744073709551616", "3").as_deref(),
        Some("18446744073709551620")
    );
    assert_eq!(sum("1", "-1").as_deref(), Some("0"));
    assert_eq!(sum("1e4000", "1e-4000"), text("1e4000"));
}

#[test]
fn infinity_swallows_everything() {
    let infinite = Extended::parse(b"-Infinity").unwrap();
    assert_eq!(infinite.add(Extended::ZERO), Extended::Infinite);
    assert_eq!(Extended::ZERO.add(infinite).to_text(), None);
    assert_eq!(sum("0x1p16383", "0x1p16383"), None);
}

#[test]
fn text_has_up_to_17_digits_after_the_point_rounded_to_even() {
    assert_eq!(text("0.000000000000000005").as_deref(), Some("0"));
    assert_eq!(
        text("0.00000000000000001").as_deref(),
        Some("0.00000000000000001")
    );
    assert_eq!(text("-0.000000000000000001").as_deref(), Some("0"));
    assert_eq!(text("0x1p-18").as_deref(), Some("0.00000381469726562"));
    assert_eq!(text("0x3p-18").as_deref(), Some("0.00001144409179688"));
}
