//! Passwords: hashed by a library (Argon2id), and compared on threads of their own, since that is slow on purpose.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use std::io;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Hashes at once; each takes 19 MiB and a core.
static TURNS: Semaphore = Semaphore::const_new(2);

/// The hash of a password, with a salt of its own.
pub(crate) async fn hash(password: String) -> io::Result<String> {
    let _turn = TURNS.acquire().await.map_err(io::Error::other)?;
    spawn_blocking(move || {
        let hash: PasswordHash = Argon2::default()
            .hash_password(password.as_bytes())
            .map_err(|error| io::Error::other(format!("no hash: {error}")))?;
        Ok(hash.to_string())
    })
    .await?
}

/// Whether it is the password that a hash was made of. Without a hash, of a user who is not there, it takes as long, and it is not.
pub(crate) async fn is_right(password: String, hash: Option<String>) -> io::Result<bool> {
    let Some(known) = hash else {
        self::hash(password).await?;
        return Ok(false);
    };
    let _turn = TURNS.acquire().await.map_err(io::Error::other)?;
    let is_right = spawn_blocking(move || {
        let hash = PasswordHash::new(&known);
        hash.is_ok_and(|it| {
            let checked = Argon2::default().verify_password(password.as_bytes(), &it);
            checked.is_ok()
        })
    });
    Ok(is_right.await?)
}

#[cfg(test)]
mod password_test {
    use super::*;

    #[tokio::test]
    async fn password_is_right_if_the_hash_was_made_of_it() {
        let known = hash("a brick".to_owned()).await.expect("a hash");
        assert!(!known.contains("a brick"));
        let again = hash("a brick".to_owned()).await.expect("a hash");
        assert_ne!(known, again, "each has a salt of its own");
        for (password, hash, expected) in [
            ("a brick", Some(known.clone()), true),
            ("a stone", Some(known), false),
            ("a brick", None, false),
            ("a brick", Some("no hash".to_owned()), false),
        ] {
            let is_right = is_right(password.to_owned(), hash).await.expect("checked");
            assert_eq!(is_right, expected, "{password}");
        }
    }
}
