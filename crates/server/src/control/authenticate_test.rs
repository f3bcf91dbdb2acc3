use super::*;
use crate::config::hash_password;
use brickyard_brick::users::{Grant, Rights, User};

fn authenticator() -> Arc<Authenticator> {
    let user = User {
        name: "ann".to_owned(),
        password_hashes: vec![hash_password(b"right").expect("hashed")],
        grants: vec![Grant {
            tables: "*".to_owned(),
            rights: Rights::ALL,
        }],
        table: None,
    };
    Arc::new(Authenticator::new(&[user], [7; 32]))
}

fn check(this: &Arc<Authenticator>, user: &str, password: &[u8]) -> Result<bool, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(Arc::clone(this).check(user.to_owned(), password.to_owned()))
}

#[test]
fn right_password_is_accepted_and_remembered_and_others_are_not() {
    let this = authenticator();
    assert_eq!(check(&this, "ann", b"right"), Ok(true));
    assert_eq!(this.lock().len(), 1);
    assert_eq!(check(&this, "ann", b"right"), Ok(true));
    assert_eq!(check(&this, "ann", b"wrong"), Ok(false));
    assert_eq!(check(&this, "bob", b"right"), Ok(false));
    assert_eq!(this.lock().len(), 1);
    assert_eq!(this.checks.load(Ordering::Relaxed), 0);
}

#[test]
fn flood_is_refused() {
    let this = authenticator();
    this.checks.store(CHECKS_MAX, Ordering::Relaxed);
    assert!(check(&this, "ann", b"right").is_err());
    assert_eq!(this.checks.load(Ordering::Relaxed), CHECKS_MAX);
}

#[test]
fn stand_in_hash_costs_what_a_real_one_does() {
    let real = hash_password(b"x").expect("hashed");
    let cost = |hash: &str| hash.split('$').nth(3).map(str::to_owned);
    assert_eq!(cost(NOBODY), cost(&real));
    assert!(argon2::password_hash::phc::PasswordHash::new(NOBODY).is_ok());
}
