use super::*;
use crate::config::hash_password;

fn authenticator() -> Arc<Authenticator> {
    Arc::new(Authenticator::new([7; 32]))
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(future)
}

fn check(
    this: &Arc<Authenticator>,
    user: &str,
    password: &[u8],
    hashes: &[String],
) -> Result<bool, String> {
    let check = Arc::clone(this).check(user.to_owned(), password.to_owned(), hashes.to_vec());
    wait(check)
}

#[test]
fn right_password_is_accepted_and_remembered_while_it_is_one_and_others_are_not() {
    let this = authenticator();
    let hashes = [hash_password(b"right").expect("hashed")];
    assert_eq!(check(&this, "ann", b"right", &hashes), Ok(true));
    assert_eq!(this.lock().len(), 1);
    assert_eq!(check(&this, "ann", b"right", &hashes), Ok(true));
    assert_eq!(check(&this, "ann", b"wrong", &hashes), Ok(false));
    assert_eq!(check(&this, "bob", b"right", &[]), Ok(false));
    assert_eq!(this.lock().len(), 1);
    let other = [hash_password(b"other").expect("hashed")];
    assert_eq!(check(&this, "ann", b"right", &other), Ok(false));
    assert_eq!(check(&this, "ann", b"right", &[]), Ok(false));
    assert_eq!(this.checks.load(Ordering::Relaxed), 0);
}

#[test]
fn passwords_of_rules_are_hashed_and_found_again() {
    let this = authenticator();
    let hash = |rules: Vec<SetRule>, hashes: &[String]| {
        wait(Arc::clone(&this).hash(rules, hashes.to_vec()))
    };
    let add = || SetRule::AddPassword(b"right".to_vec());
    let remove = || SetRule::RemovePassword(b"right".to_vec());
    let rules = hash(vec![SetRule::Rule(AccountRule::On), add()], &[]).expect("hashed");
    let [AccountRule::On, AccountRule::AddHash(first)] = &rules[..] else {
        panic!("{rules:?}");
    };
    assert!(verify_password(b"right", first));
    let known = [first.clone()];
    let again = hash(vec![add()], &known).expect("hashed");
    assert_eq!(again, [AccountRule::AddHash(first.clone())]);
    let removed = hash(vec![remove()], &known).expect("found");
    assert_eq!(removed, [AccountRule::RemoveHash(first.clone())]);
    assert!(hash(vec![remove(), remove()], &known).is_err());
}

#[test]
fn flood_is_refused() {
    let this = authenticator();
    this.checks.store(CHECKS_MAX, Ordering::Relaxed);
    assert!(check(&this, "ann", b"right", &[]).is_err());
    assert_eq!(this.checks.load(Ordering::Relaxed), CHECKS_MAX);
}

#[test]
fn stand_in_hash_costs_what_a_real_one_does() {
    let real = hash_password(b"x").expect("hashed");
    let cost = |hash: &str| hash.split('$').nth(3).map(str::to_owned);
    assert_eq!(cost(NOBODY), cost(&real));
    assert!(argon2::password_hash::phc::PasswordHash::new(NOBODY).is_ok());
}
