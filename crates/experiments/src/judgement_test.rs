use super::{Judgement, bottom, log_slope, top};
use crate::figure::exact;

#[test]
fn a_proportion_has_slope_one_and_a_flat_line_none() {
    let line: Vec<_> = [1.0, 2.0, 4.0, 8.0].map(|x| (x, 480.0 * x)).to_vec();
    assert!((log_slope(&exact(&line)) - 1.0).abs() < 1e-9);
    let flat: Vec<_> = [1.0, 2.0, 4.0].map(|x| (x, 7.0)).to_vec();
    assert!(log_slope(&exact(&flat)).abs() < 1e-9);
    assert!(log_slope(&exact(&line[..1])).is_nan());
}

#[test]
fn bounds_are_part_of_what_is_allowed() {
    let mut it = Judgement::default();
    it.within("a slope", 0.9, 0.9..=1.1);
    it.at_least("some", 1.0, 1.0);
    it.at_most("few", 1.0, 1.0);
    assert!(it.holds());
    it.at_most("fewer", 1.1, 1.0);
    assert!(!it.holds());
    assert_eq!(it.checks.iter().filter(|it| it.holds).count(), 3);
}

#[test]
fn no_rule_holds_of_what_was_not_measured() {
    for rule in [
        |it: &mut Judgement| it.within("", f64::NAN, f64::MIN..=f64::MAX),
        |it: &mut Judgement| it.at_least("", f64::NAN, f64::MIN),
        |it: &mut Judgement| it.at_most("", f64::NAN, f64::MAX),
    ] {
        let mut it = Judgement::default();
        rule(&mut it);
        assert!(!it.holds());
    }
    assert!(!Judgement::default().holds());
    assert!(top(&[]).is_nan() && bottom(&[]).is_nan());
}
