//! PEM files: certificates, keys, authorities.
//!
//! In: paths. Out: what is in them, or what is wrong with them.

use crate::TlsError;
use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

/// A certificate, what it hangs on, and the key to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityFiles {
    /// The certificate, and those between it and its authority behind it.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

/// What a holder shows, and proves that it is its own.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl IdentityFiles {
    /// Both.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        [self.certificate.as_path(), self.key.as_path()].into_iter()
    }

    pub(crate) fn read(&self) -> Result<Identity, TlsError> {
        let chain = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&bytes(&self.key)?);
        let key = key.map_err(|error| TlsError::Content {
            path: self.key.clone(),
            why: match error {
                pem::Error::NoItemsFound => {
                    "there is no key in it; it should begin with -----BEGIN PRIVATE KEY-----, without a password".to_owned()
                }
                other => format!("it is not PEM: {other}"),
            },
        })?;
        Ok(Identity { chain, key })
    }

    /// When the first of the certificates in the file ends, in seconds since the Unix epoch.
    ///
    /// # Errors
    /// The file cannot be read, or has something else in it.
    pub fn valid_until(&self) -> Result<u64, TlsError> {
        let chain = certificates(&self.certificate)?;
        let ends = chain.iter().map(|certificate| {
            let parsed = x509_parser::parse_x509_certificate(certificate);
            let (_, parsed) = parsed.map_err(|error| TlsError::Content {
                path: self.certificate.clone(),
                why: format!("it has something that is no certificate: {error}"),
            })?;
            let end = parsed.validity().not_after.timestamp();
            // One that ended before the epoch has ended.
            Ok(u64::try_from(end).unwrap_or(0))
        });
        let ends: Result<Vec<u64>, TlsError> = ends.collect();
        Ok(ends?.into_iter().min().unwrap_or(0))
    }

    /// Why the two do not do.
    pub(crate) fn refused(&self, source: rustls::Error) -> TlsError {
        TlsError::Pair {
            certificate: self.certificate.clone(),
            key: self.key.clone(),
            source,
        }
    }
}

/// Everybody whose certificates are believed: the file may hold several, as while an authority is replaced.
pub(crate) fn authorities(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(path)? {
        store.add(certificate).map_err(|error| TlsError::Content {
            path: path.to_owned(),
            why: format!("it has a certificate that cannot be an authority's: {error}"),
        })?;
    }
    Ok(store)
}

/// Tells what is in the files now from what was in them before; a file that cannot be read counts as one that is not there.
pub fn fingerprint<'a>(paths: impl IntoIterator<Item = &'a Path>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for path in paths {
        std::fs::read(path).ok().hash(&mut hasher);
    }
    hasher.finish()
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let content = |why: String| TlsError::Content {
        path: path.to_owned(),
        why,
    };
    let bytes = bytes(path)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let certificates = certificates.map_err(|error| content(format!("it is not PEM: {error}")))?;
    if certificates.is_empty() {
        return Err(content(
            "there is no certificate in it; it should begin with -----BEGIN CERTIFICATE-----"
                .to_owned(),
        ));
    }
    Ok(certificates)
}

fn bytes(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Read {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod files_test {
    use super::*;
    use crate::{Authority, CertificateRequest, CertificateRole};
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    const DAY: u64 = 86_400;

    #[test]
    fn the_first_certificate_to_end_counts() {
        let (authority, _) = Authority::new("ours", Duration::from_secs(10 * DAY)).expect("made");
        let issue = |days: u64| {
            let request = CertificateRequest {
                name: "n1",
                role: CertificateRole::Node,
                hosts: &[],
                validity: Duration::from_secs(days * DAY),
            };
            authority.issue(&request).expect("issued").certificate
        };
        let folder = tempfile::TempDir::new().expect("a directory");
        let files = IdentityFiles {
            certificate: folder.path().join("n1.crt"),
            key: folder.path().join("n1.key"),
        };
        std::fs::write(&files.certificate, issue(7) + &issue(3)).expect("written");
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.expect("after 1970").as_secs();
        let left = files.valid_until().expect("read") - now;
        assert!((2 * DAY..=3 * DAY).contains(&left), "{left} s are left");

        std::fs::write(&files.certificate, "no certificate").expect("written");
        assert!(files.valid_until().is_err());
    }
}
