//! Which changes an earlier program can read.

use super::*;
use crate::user_limits::Limited;

fn of(rules: Vec<AccountRule>) -> Level {
    let change = Change::SetAccount {
        name: "ann".to_owned(),
        initial: Vec::new(),
        rules,
    };
    change.level()
}

#[test]
fn rules_about_limits_need_a_program_that_knows_limits() {
    assert_eq!(of(vec![AccountRule::Reset]), Level::FIRST);
    let limit = AccountRule::Limit(Limited::Operations, 5);
    assert_eq!(of(vec![AccountRule::Reset, limit]), Level::USER_LIMITS);
    assert_eq!(of(vec![AccountRule::ResetLimits]), Level::USER_LIMITS);
}

#[test]
fn what_a_program_writes_it_knows() {
    assert_eq!(Change::PauseMoves(true).level(), Level::FIRST);
    const { assert!(Level::USER_LIMITS.0 <= Level::NEWEST.0) };
}
