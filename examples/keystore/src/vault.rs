//! What is encrypted, and how.
//!
//! A vault has a key of its own, drawn when it is made, that encrypts all secrets of its user. The vault holds that key encrypted under
//! another one, which Argon2id derives from the passphrase and a salt. So a new passphrase encrypts one key anew and no secret.
//!
//! In:  passphrases, secrets. Out: bytes for the table: a nonce, and XChaCha20-Poly1305's text behind it.
//!
//! Invariants:
//! - No nonce comes twice under one key: each is 192 bits of chance.
//! - What was encrypted for one place (whose, which name, which version) is decrypted at no other: the place is authenticated with it.
//! - Keys are wiped when they are dropped.
//!
//! Not here: cryptography. All of it is the libraries' (`argon2`, `chacha20poly1305`).

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{Key, KeyInit as _, XChaCha20Poly1305, XNonce};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

const NONCE_BYTES: usize = 24;
const KEY_BYTES: usize = 32;
const SALT_BYTES: usize = 16;

/// The place of a vault's own key.
const KEY_PLACE: &str = "vault key";

/// What a guess at a passphrase costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cost {
    memory_kib: u32,
    passes: u32,
}

impl Cost {
    /// Two passes over so much memory.
    pub(crate) const fn of_memory(memory_kib: u32) -> Self {
        Self {
            memory_kib,
            passes: 2,
        }
    }
}

/// A user's vault, closed, as the table has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Vault {
    cost: Cost,
    salt: String,
    /// The key of the secrets, encrypted under the passphrase's.
    sealed_key: String,
}

/// A vault's key, for as long as a request takes.
pub(crate) struct OpenVault {
    key: Zeroizing<[u8; KEY_BYTES]>,
}

/// Why a vault does not open, or something in it does not decrypt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sealed {
    /// The passphrase is another one.
    Passphrase,
    /// The bytes are not what was stored, or not from that place.
    Damaged,
    /// The libraries refuse, or the system has no randomness.
    Broken,
}

impl Vault {
    /// A new vault with a new key.
    pub(crate) fn create(user: &str, passphrase: &str, cost: Cost) -> Result<Self, Sealed> {
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        fill(&mut *key)?;
        OpenVault { key }.close(user, passphrase, cost)
    }

    /// Opens it, at the cost that it was made with.
    pub(crate) fn open(&self, user: &str, passphrase: &str) -> Result<OpenVault, Sealed> {
        let decode = |text| BASE64.decode(text).map_err(|_| Sealed::Damaged);
        let outer = derive(passphrase, &decode(&self.salt)?, self.cost)?;
        let found = outer.decrypt(&place(user, KEY_PLACE, 0), &decode(&self.sealed_key)?);
        let found = Zeroizing::new(found.map_err(|_| Sealed::Passphrase)?);
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        if found.len() != key.len() {
            return Err(Sealed::Damaged);
        }
        key.copy_from_slice(&found);
        Ok(OpenVault { key })
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Sealed> {
        serde_json::from_slice(bytes).map_err(|_| Sealed::Damaged)
    }

    pub(crate) fn bytes(&self) -> Result<Vec<u8>, Sealed> {
        serde_json::to_vec(self).map_err(|_| Sealed::Broken)
    }
}

impl OpenVault {
    /// The same vault under a passphrase, a new salt and a new nonce.
    pub(crate) fn close(&self, user: &str, passphrase: &str, cost: Cost) -> Result<Vault, Sealed> {
        let mut salt = [0; SALT_BYTES];
        fill(&mut salt)?;
        let outer = derive(passphrase, &salt, cost)?;
        let sealed = outer.encrypt(&place(user, KEY_PLACE, 0), &*self.key)?;
        Ok(Vault {
            cost,
            salt: BASE64.encode(salt),
            sealed_key: BASE64.encode(sealed),
        })
    }

    /// Encrypts a secret for its place.
    pub(crate) fn seal(
        &self,
        (user, name, version): (&str, &str, u64),
        secret: &[u8],
    ) -> Result<Vec<u8>, Sealed> {
        self.encrypt(&place(user, name, version), secret)
    }

    /// Decrypts what was encrypted for that place.
    pub(crate) fn unseal(
        &self,
        (user, name, version): (&str, &str, u64),
        sealed: &[u8],
    ) -> Result<Vec<u8>, Sealed> {
        self.decrypt(&place(user, name, version), sealed)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&Key::from(*self.key))
    }

    fn encrypt(&self, place: &[u8], secret: &[u8]) -> Result<Vec<u8>, Sealed> {
        let mut nonce = [0; NONCE_BYTES];
        fill(&mut nonce)?;
        let (msg, aad) = (secret, place);
        let text = self
            .cipher()
            .encrypt(&XNonce::from(nonce), Payload { msg, aad });
        let mut sealed = nonce.to_vec();
        sealed.append(&mut text.map_err(|_| Sealed::Broken)?);
        Ok(sealed)
    }

    fn decrypt(&self, place: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Sealed> {
        let (nonce, msg) = sealed
            .split_first_chunk::<NONCE_BYTES>()
            .ok_or(Sealed::Damaged)?;
        let aad = place;
        let secret = self
            .cipher()
            .decrypt(&XNonce::from(*nonce), Payload { msg, aad });
        secret.map_err(|_| Sealed::Damaged)
    }
}

/// The key that a passphrase stands for.
fn derive(passphrase: &str, salt: &[u8], cost: Cost) -> Result<OpenVault, Sealed> {
    let params = Params::new(cost.memory_kib, cost.passes, 1, Some(KEY_BYTES));
    let params = params.map_err(|_| Sealed::Damaged)?;
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    argon
        .hash_password_into(passphrase.as_bytes(), salt, &mut *key)
        .map_err(|_| Sealed::Broken)?;
    Ok(OpenVault { key })
}

/// Where something belongs. Neither users nor names have a line end in them, so no two places are written alike.
fn place(user: &str, name: &str, version: u64) -> Vec<u8> {
    format!("{user}\n{name}\n{version}").into_bytes()
}

fn fill(bytes: &mut [u8]) -> Result<(), Sealed> {
    getrandom::fill(bytes).map_err(|_| Sealed::Broken)
}

#[cfg(test)]
#[path = "vault_test.rs"]
mod vault_test;
