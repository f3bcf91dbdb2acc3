//! Between nodes: both ends show a certificate of the cluster's authority, and it is a node's.
//!
//! In:  a node's certificate and key, the authorities that are believed. Out: what both ends of a connection go by.
//!
//! A node's role is a name among its certificate's names, not its address: nodes move, and one that is let in is
//! believed in all that it says anyhow. Which data directory speaks is said behind the handshake (`node`).

use crate::files::authorities;
use crate::{IdentityFiles, TlsError, provider};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::{
    ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme,
};
use std::path::Path;
use std::sync::Arc;

/// The name that every node's certificate has, and no other's. No host has it.
const NODE_NAME: &str = "node.brickyard.internal";

/// The name by which nodes know one another in certificates.
#[must_use]
pub const fn node_name() -> &'static str {
    NODE_NAME
}

/// What a node goes by, as the one that dials and as the one that is dialed.
#[derive(Clone, Debug)]
pub struct NodeSide {
    /// For connections that others make.
    pub accept: Arc<ServerConfig>,
    /// For those that it makes.
    pub dial: Arc<ClientConfig>,
}

impl NodeSide {
    /// Reads the node's certificate and key, and whom it believes.
    ///
    /// # Errors
    /// A file cannot be read, or is not what it should be.
    pub fn read(files: &IdentityFiles, authority: &Path) -> Result<Self, TlsError> {
        let identity = files.read()?;
        let roots = Arc::new(authorities(authority)?);
        let setup = |error: &dyn std::fmt::Display| TlsError::Setup(error.to_string());

        let chains = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), provider());
        let inner = chains.build().map_err(|error| setup(&error))?;
        let accept = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| setup(&error))?
            .with_client_cert_verifier(Arc::new(NodesAlone { inner }))
            .with_single_cert(identity.chain.clone(), identity.key.clone_key());
        let mut accept = accept.map_err(|error| files.refused(error))?;
        accept.session_storage = Arc::new(NoServerSessionStorage {});
        accept.send_tls13_tickets = 0;

        let servers = WebPkiServerVerifier::builder_with_provider(roots, provider());
        let servers = servers.build().map_err(|error| setup(&error))?;
        let dial = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| setup(&error))?
            .with_webpki_verifier(servers)
            .with_client_auth_cert(identity.chain, identity.key);
        let mut dial = dial.map_err(|error| files.refused(error))?;
        dial.resumption = rustls::client::Resumption::disabled();
        dial.enable_sni = false;
        Ok(Self {
            accept: Arc::new(accept),
            dial: Arc::new(dial),
        })
    }

    /// Whom a node that dials wants to meet.
    #[must_use]
    pub fn name() -> ServerName<'static> {
        #[expect(clippy::expect_used, reason = "it is a constant, and a name")]
        ServerName::try_from(NODE_NAME).expect("the name of nodes is a name")
    }
}

/// Believes certificates of the authority that are a node's.
#[derive(Debug)]
struct NodesAlone {
    inner: Arc<dyn ClientCertVerifier>,
}

impl ClientCertVerifier for NodesAlone {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        // A stranger is not told whose certificates open the door.
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self
            .inner
            .verify_client_cert(end_entity, intermediates, now)?;
        let certificate = ParsedCertificate::try_from(end_entity)?;
        verify_server_name(&certificate, &NodeSide::name())?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

#[cfg(test)]
#[path = "peers_test.rs"]
mod peers_test;
