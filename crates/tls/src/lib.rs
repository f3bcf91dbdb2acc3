//! TLS: certificates by role, who is believed with which, and a connection's records without its socket.
//!
//! In:  PEM files, bytes of a socket. Out: configurations for both ends of a connection, plain bytes, errors that say what
//! to do.
//!
//! ```text
//!  authority ── issues ──▶ certificates of the role node, or client
//!  node  ◀─ peers ─▶ node          both show a node's certificate of the cluster's authority
//!  client ── dialer ──▶ clients    the node shows one that has its name; the client, if it is asked
//! ```
//! Invariants:
//! - Between nodes nothing is believed but the cluster's own authority, and of its certificates only a node's.
//! - No session is resumed where certificates decide who is believed: an authority that was taken out counts no more.
//!
//! Not here: sockets, when files are read again (`server`), what users may do (`brick`).

mod authority;
mod clients;
mod dialer;
mod error;
mod files;
mod machine;
mod peers;
mod session;

pub use authority::{Authority, CertificateRequest, CertificateRole, Issued};
pub use clients::client_port;
pub use dialer::{Dialer, DialerFiles};
pub use error::{TlsError, explain, in_words};
pub use files::{IdentityFiles, fingerprint};
pub use machine::MachineFiles;
pub use peers::{NodeSide, node_name};
pub use session::Session;

pub use rustls;

use rustls::crypto::CryptoProvider;
use std::sync::Arc;

/// The one provider of ciphers that all connections use, whatever else in the program brings one.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
