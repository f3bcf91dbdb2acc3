//! Password hashes: made for the configuration file, checked at AUTH.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};

/// Hashes a password with Argon2id and a random salt; the result is a PHC string.
///
/// The parameters are the library's defaults (OWASP's: 19 MiB, 2 passes), about 30 ms of one core.
///
/// # Errors
/// What is wrong with the password, or that the system has no randomness.
pub fn hash_password(password: &[u8]) -> Result<String, String> {
    if password.is_empty() {
        return Err("the password is empty; choose one".to_owned());
    }
    let hash: PasswordHash = Argon2::default()
        .hash_password(password)
        .map_err(|error| format!("the password cannot be hashed: {error}"))?;
    Ok(hash.to_string())
}

/// Whether `password` is the one that `hash` (a PHC string) was made from.
#[must_use]
pub fn verify_password(password: &[u8], hash: &str) -> bool {
    PasswordHash::new(hash)
        .is_ok_and(|hash| Argon2::default().verify_password(password, &hash).is_ok())
}
