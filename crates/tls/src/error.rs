//! What is wrong with certificates, or with the other end's, and what to do about it.

use rustls::{AlertDescription, CertificateError, Error};
use std::io;
use std::path::PathBuf;

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}; give the path of a PEM file that this process may read", .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Files cannot be written.
    #[error("cannot write certificates to {}: {source}; let this process write there", .path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no place for certificates of this machine's own.
    #[error(
        "peer_cert = auto keeps certificates in the user's own directory, and neither XDG_DATA_HOME nor HOME names it; set one of them, or make certificates with `brickyard cert`"
    )]
    NoHome,
    /// A file is not what it should be.
    #[error("{}: {why}", .path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// What is wrong and what is expected.
        why: String,
    },
    /// A key does not belong to a certificate, or cannot be used.
    #[error("{} and {} cannot be used together: {source}; give a certificate and the key that it was made for", .certificate.display(), .key.display())]
    Pair {
        /// The certificate.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
        /// Why.
        source: Error,
    },
    /// A certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Make(String),
    /// A name is not one.
    #[error("{0:?} is not a host name or IP address")]
    Name(String),
    /// The library refuses.
    #[error("TLS cannot be set up: {0}")]
    Setup(String),
}

/// An error of a connection, as the one who reads the log wants it.
#[must_use]
pub fn explain(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(error) => {
            format!("its certificate {}", explain_certificate(error))
        }
        Error::NoCertificatesPresented => "it shows no certificate".to_owned(),
        Error::InvalidMessage(_) => "it does not speak TLS".to_owned(),
        Error::PeerIncompatible(_) => format!("it speaks a TLS that is not spoken here ({error})"),
        Error::AlertReceived(alert) => explain_alert(*alert),
        other => other.to_string(),
    }
}

/// An error of input or output, in the same words where TLS is the cause.
#[must_use]
pub fn in_words(error: io::Error) -> io::Error {
    let cause = error.get_ref().and_then(|it| it.downcast_ref::<Error>());
    match cause.map(explain) {
        Some(words) => io::Error::new(error.kind(), words),
        None => error,
    }
}

fn explain_certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet: compare the clocks of the two machines".to_owned()
        }
        CertificateError::UnknownIssuer => {
            "is of an authority that is not believed here".to_owned()
        }
        CertificateError::BadSignature => {
            "is not signed by the authority of its name that is believed here".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("is for another role or name ({error})")
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "is for another role: a client's is not a node's".to_owned()
        }
        other => format!("is not accepted: {other}"),
    }
}

fn explain_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateExpired => {
            "it says that the certificate shown to it has expired".to_owned()
        }
        AlertDescription::UnknownCA => {
            "it does not believe the authority of the certificate shown to it".to_owned()
        }
        AlertDescription::CertificateRequired => {
            "it wants a certificate, and none was shown".to_owned()
        }
        AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::AccessDenied
        | AlertDescription::DecryptError
        | AlertDescription::CertificateRevoked => {
            "it does not accept the certificate shown to it; its log says why".to_owned()
        }
        other => format!("it broke the handshake off ({other:?})"),
    }
}
