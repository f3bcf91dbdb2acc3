//! The cluster's own authority: it makes the certificates by which nodes know one another, and clients' too.
//!
//! In:  names, times. Out: PEM texts; who keeps them where is the caller's matter.
//!
//! Invariants:
//! - Only a node's certificate has [`crate::node_name`] among its names, which is what other nodes look for.
//! - An authority signs certificates of holders alone, none of further authorities.

use crate::{TlsError, node_name};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use rustls::pki_types::ServerName;
use std::net::IpAddr;
use std::time::Duration;
use time::OffsetDateTime;

/// How far back a certificate begins: the clocks of two machines differ.
const BEFORE: Duration = Duration::from_secs(3600);

/// Names by which a node may be asked on its own machine, beside those that are given.
const OWN_MACHINE: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// What a certificate makes of its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateRole {
    /// It is let in by the port for nodes, and clients believe it.
    Node,
    /// It is let in by the ports for clients alone.
    Client,
}

/// A certificate that is asked for.
#[derive(Clone, Debug)]
pub struct CertificateRequest<'a> {
    /// Who will hold it.
    pub name: &'a str,
    /// What it makes of it.
    pub role: CertificateRole,
    /// Host names and IP addresses by which clients call a node.
    pub hosts: &'a [String],
    /// How long it is valid.
    pub validity: Duration,
}

/// A certificate and its key, as PEM.
#[derive(Clone)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// The key: a secret.
    pub key: String,
}

impl std::fmt::Debug for Issued {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let certificate = &self.certificate;
        f.debug_struct("Issued")
            .field("certificate", certificate)
            .finish_non_exhaustive()
    }
}

/// See the module.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new authority of that name, with its certificate and key.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn new(name: &str, validity: Duration) -> Result<(Self, Issued), TlsError> {
        let key = KeyPair::generate().map_err(make)?;
        let mut params = params(name, validity)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).map_err(make)?;
        let issued = Issued {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        };
        let issuer = Issuer::new(params, key);
        Ok((Self { issuer }, issued))
    }

    /// The authority whose certificate and key these are.
    ///
    /// # Errors
    /// They are none.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, TlsError> {
        let key = KeyPair::from_pem(key).map_err(make)?;
        let issuer = Issuer::from_ca_cert_pem(certificate, key).map_err(make)?;
        Ok(Self { issuer })
    }

    /// Makes a certificate with a key of its own.
    ///
    /// # Errors
    /// A host is not one, or is the name by which nodes are known.
    pub fn issue(&self, request: &CertificateRequest<'_>) -> Result<Issued, TlsError> {
        let mut params = params(request.name, request.validity)?;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        if request.role == CertificateRole::Node {
            let purpose = ExtendedKeyUsagePurpose::ServerAuth;
            params.extended_key_usages.push(purpose);
            let given = request.hosts.iter().map(String::as_str);
            let known: Vec<_> = given
                .chain(OWN_MACHINE)
                .map(host)
                .collect::<Result<_, _>>()?;
            params.subject_alt_names = known;
            params.subject_alt_names.push(dns(node_name())?);
        }
        let key = KeyPair::generate().map_err(make)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(make)?;
        Ok(Issued {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

fn params(name: &str, validity: Duration) -> Result<CertificateParams, TlsError> {
    let mut params = CertificateParams::new(Vec::new()).map_err(make)?;
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    params.distinguished_name = subject;
    let now = OffsetDateTime::now_utc();
    params.not_before = now - BEFORE;
    let end = time::Duration::try_from(validity).ok();
    let end = end.and_then(|validity| now.checked_add(validity));
    params.not_after =
        end.ok_or_else(|| TlsError::Make("it would be valid for too long".to_owned()))?;
    Ok(params)
}

fn host(name: &str) -> Result<SanType, TlsError> {
    match name.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) => Ok(SanType::IpAddress(address)),
        Err(_) if name.eq_ignore_ascii_case(node_name()) => Err(TlsError::Name(name.to_owned())),
        Err(_) => {
            let is_name = ServerName::try_from(name).is_ok();
            if is_name {
                dns(name)
            } else {
                Err(TlsError::Name(name.to_owned()))
            }
        }
    }
}

fn dns(name: &str) -> Result<SanType, TlsError> {
    let name = name
        .try_into()
        .map_err(|_| TlsError::Name(name.to_owned()))?;
    Ok(SanType::DnsName(name))
}

fn make(error: rcgen::Error) -> TlsError {
    TlsError::Make(error.to_string())
}

#[cfg(test)]
#[path = "authority_test.rs"]
mod authority_test;
