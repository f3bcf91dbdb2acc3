//! Checks passwords, off the loops and with bounds.
//!
//! In:  a user's name, a password as sent, and hashes of those that are accepted; passwords to be hashed. Out: whether they fit;
//! hashes.
//!
//! Invariants:
//! - An unknown user costs as much time as a known one with a wrong password.
//! - At most [`CHECKS_MAX`] checks run or wait; a flood of guesses is refused, not queued.
//!
//! A password hash is slow on purpose (about 30 ms and 19 MiB), and a pool of clients connects with the
//! same password a hundred times. So the last password that was right is remembered for each user, as
//! a cheap keyed digest that never leaves the process, with the hash that it was right for: it counts as long as that is one of the
//! user's.

use crate::config::{hash_password, verify_password};
use argon2::{Algorithm, Argon2, Params, Version};
use brickyard_brick::SetRule;
use brickyard_metadata::AccountRule;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use subtle::ConstantTimeEq as _;
use tokio::sync::Semaphore;

/// Checks that run or wait.
const CHECKS_MAX: usize = 512;

/// Checks that run at a time: each takes a core and 19 MiB, and the cores belong to the bricks.
const RUNNING_MAX: usize = 2;

/// Stands in for the hash of a user that does not exist: a hash that no password has.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$\
                      AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The last password of a user that was right.
#[derive(Debug)]
struct Remembered {
    digest: [u8; 32],
    /// The hash that it was right for.
    hash: String,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Authenticator {
    running: Semaphore,
    checks: AtomicUsize,
    remembered: Mutex<BTreeMap<String, Remembered>>,
    digest_key: [u8; 32],
}

impl Authenticator {
    /// `digest_key` is drawn at each start.
    pub(crate) fn new(digest_key: [u8; 32]) -> Self {
        Self {
            running: Semaphore::new(RUNNING_MAX),
            checks: AtomicUsize::new(0),
            remembered: Mutex::default(),
            digest_key,
        }
    }

    /// Whether the password is one of those with these hashes.
    ///
    /// # Errors
    /// Too many checks are waiting already.
    pub(crate) async fn check(
        self: Arc<Self>,
        user: String,
        password: Vec<u8>,
        hashes: Vec<String>,
    ) -> Result<bool, String> {
        let this = Arc::clone(&self);
        self.work(move || this.check_now(&user, &password, &hashes))
            .await
    }

    /// The rules with hashes in the place of passwords. One that is accepted already keeps the hash that it has.
    ///
    /// # Errors
    /// Too many checks are waiting already, or a password that is to go is none of the user's.
    pub(crate) async fn hash(
        self: Arc<Self>,
        rules: Vec<SetRule>,
        hashes: Vec<String>,
    ) -> Result<Vec<AccountRule>, String> {
        let hashed = self.work(move || hashed(rules, hashes)).await;
        hashed.and_then(|rules| rules)
    }

    /// Does slow work beside the loops, a bounded number at a time.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        if self.checks.fetch_add(1, Ordering::Relaxed) >= CHECKS_MAX {
            self.checks.fetch_sub(1, Ordering::Relaxed);
            return Err("too many passwords are being checked; try again".to_owned());
        }
        let permit = self.running.acquire().await;
        let done = tokio::task::spawn_blocking(work).await;
        drop(permit);
        self.checks.fetch_sub(1, Ordering::Relaxed);
        done.map_err(|error| format!("the password could not be checked: {error}"))
    }

    fn check_now(&self, user: &str, password: &[u8], hashes: &[String]) -> bool {
        let digest = self.digest(user, password);
        if let (Some(digest), Some(known)) = (&digest, self.lock().get(user))
            && bool::from(digest.ct_eq(&known.digest))
            && hashes.contains(&known.hash)
        {
            return true;
        }
        if hashes.is_empty() {
            // Done for its time alone. A user without a password is let in by the brick.
            std::hint::black_box(verify_password(password, NOBODY));
            return false;
        }
        let right = hashes.iter().find(|hash| verify_password(password, hash));
        if let (Some(hash), Some(digest)) = (right, digest) {
            let hash = hash.clone();
            self.lock()
                .insert(user.to_owned(), Remembered { digest, hash });
        }
        right.is_some()
    }

    /// A digest that is worth nothing without this process's key: Argon2 again, with its least cost.
    fn digest(&self, user: &str, password: &[u8]) -> Option<[u8; 32]> {
        let params = Params::new(Params::MIN_M_COST, 1, 1, Some(32)).ok()?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let salt = [&self.digest_key[..], user.as_bytes()].concat();
        let mut digest = [0; 32];
        argon2
            .hash_password_into(password, &salt, &mut digest)
            .ok()?;
        Some(digest)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Remembered>> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Authenticator::hash`].
fn hashed(rules: Vec<SetRule>, mut hashes: Vec<String>) -> Result<Vec<AccountRule>, String> {
    let mut out = Vec::new();
    for rule in rules {
        let rule = match rule {
            SetRule::Rule(rule) => rule,
            SetRule::AddPassword(password) => {
                let known = hashes.iter().find(|it| verify_password(&password, it));
                let hash = known
                    .cloned()
                    .map_or_else(|| hash_password(&password), Ok)?;
                hashes.push(hash.clone());
                AccountRule::AddHash(hash)
            }
            SetRule::RemovePassword(password) => {
                let known = hashes.iter().find(|it| verify_password(&password, it));
                let hash = known.cloned().ok_or(
                    "Error in ACL SETUSER modifier '<(redacted)': The password you are trying to remove from the user does not \
                     exist",
                )?;
                hashes.retain(|it| *it != hash);
                AccountRule::RemoveHash(hash)
            }
        };
        out.push(rule);
    }
    Ok(out)
}

#[cfg(test)]
#[path = "authenticate_test.rs"]
mod authenticate_test;
