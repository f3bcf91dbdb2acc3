//! Checks passwords, off the loops and with bounds.
//!
//! In:  a user's name and a password as sent. Out: whether they fit.
//!
//! Invariants:
//! - An unknown user costs as much time as a known one with a wrong password.
//! - At most [`CHECKS_MAX`] checks run or wait; a flood of guesses is refused, not queued.
//!
//! A password hash is slow on purpose (about 30 ms and 19 MiB), and a pool of clients connects with the
//! same password a hundred times. So the last password that was right is remembered for each user, as
//! a cheap keyed digest that never leaves the process.

use crate::config::verify_password;
use argon2::{Algorithm, Argon2, Params, Version};
use brickyard_brick::users::User;
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

/// See the module.
#[derive(Debug)]
pub(crate) struct Authenticator {
    hashes: BTreeMap<String, Vec<String>>,
    running: Semaphore,
    checks: AtomicUsize,
    remembered: Mutex<BTreeMap<String, [u8; 32]>>,
    digest_key: [u8; 32],
}

impl Authenticator {
    /// Knows these users; `digest_key` is drawn at each start.
    pub(crate) fn new(users: &[User], digest_key: [u8; 32]) -> Self {
        let hashes = users
            .iter()
            .map(|user| (user.name.clone(), user.password_hashes.clone()))
            .collect();
        Self {
            hashes,
            running: Semaphore::new(RUNNING_MAX),
            checks: AtomicUsize::new(0),
            remembered: Mutex::default(),
            digest_key,
        }
    }

    /// Whether the password is the user's.
    ///
    /// # Errors
    /// Too many checks are waiting already.
    pub(crate) async fn check(
        self: Arc<Self>,
        user: String,
        password: Vec<u8>,
    ) -> Result<bool, String> {
        if self.checks.fetch_add(1, Ordering::Relaxed) >= CHECKS_MAX {
            self.checks.fetch_sub(1, Ordering::Relaxed);
            return Err("too many passwords are being checked; try again".to_owned());
        }
        let permit = self.running.acquire().await;
        let this = Arc::clone(&self);
        let checked = tokio::task::spawn_blocking(move || this.check_now(&user, &password)).await;
        drop(permit);
        self.checks.fetch_sub(1, Ordering::Relaxed);
        checked.map_err(|error| format!("the password could not be checked: {error}"))
    }

    fn check_now(&self, user: &str, password: &[u8]) -> bool {
        let digest = self.digest(user, password);
        if let (Some(digest), Some(known)) = (&digest, self.lock().get(user))
            && bool::from(digest.ct_eq(known))
        {
            return true;
        }
        let hashes = self.hashes.get(user).map(Vec::as_slice).unwrap_or_default();
        if hashes.is_empty() {
            // Done for its time alone. A user without a password is let in by the brick.
            std::hint::black_box(verify_password(password, NOBODY));
            return false;
        }
        let is_right = hashes.iter().any(|hash| verify_password(password, hash));
        if is_right && let Some(digest) = digest {
            self.lock().insert(user.to_owned(), digest);
        }
        is_right
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

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, [u8; 32]>> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "authenticate_test.rs"]
mod authenticate_test;
