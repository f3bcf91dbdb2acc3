//! What strangers say: bytes that were made up, and bytes that were overheard.
//!
//! In:  certificates, what was heard between nodes. Out: requests, noise, first words of TLS whole and in pieces.

use super::secrets::{Identity, Secrets};
use brickyard_tls::{Dialer, Session};
use brickyard_wire::encode_request;
use std::collections::BTreeMap;

/// The host by which strangers call every node.
pub(super) const HOST: &str = "127.0.0.1";

/// TLS's record of a handshake: its kind and version.
const RECORD: [u8; 3] = [22, 3, 1];

/// Before a record's payload.
const HEADER_BYTES: usize = 5;

/// Longest payload of a record.
const RECORD_BYTES_MAX: u16 = 1 << 14;

/// What somebody without rights might try, a request each.
const REQUESTS: [&[&str]; 14] = [
    &["PING"],
    &["GET", "key0"],
    &["SET", "key0", "theirs"],
    &["FLUSHALL"],
    &["TABLE", "LIST"],
    &["TABLE", "DROP", "untouched", "CONFIRM", "untouched"],
    &["TABLE", "DIGEST", "untouched", "0"],
    &["ACL", "SETUSER", "theirs", "on", "nopass", "+@all", "~*"],
    &["CONFIG", "SET", "maxclients", "1"],
    &["CLUSTER", "NODES"],
    &["CLIENT", "KILL", "TYPE", "normal"],
    &["MULTI"],
    &["INFO"],
    &["SHUTDOWN", "NOSAVE"],
];

/// See the module.
#[derive(Debug)]
pub(super) struct Arsenal {
    dialers: BTreeMap<Identity, Dialer>,
    /// Connections of a node to another of this cluster, as they were on the wire.
    pub(super) encrypted: Vec<Vec<u8>>,
    /// The same of a cluster without certificates.
    pub(super) plain: Vec<Vec<u8>>,
}

impl Arsenal {
    pub(super) fn new(
        secrets: &Secrets,
        encrypted: Vec<Vec<u8>>,
        plain: Vec<Vec<u8>>,
    ) -> anyhow::Result<Self> {
        let identities = [
            Identity::Nobody,
            Identity::Foreign,
            Identity::Expired,
            Identity::Client,
        ];
        let dialers = identities.map(|it| Ok((it, secrets.dialer(it)?)));
        Ok(Self {
            dialers: dialers.into_iter().collect::<anyhow::Result<_>>()?,
            encrypted,
            plain,
        })
    }

    /// The dialing end of a connection of somebody who shows this.
    pub(super) fn session(&self, identity: Identity) -> anyhow::Result<Session> {
        let connection = self.dialers[&identity].connection(HOST)?;
        Ok(Session::new(connection.into()))
    }

    /// The first words of TLS, of somebody who shows nothing.
    pub(super) fn hello(&self) -> anyhow::Result<Vec<u8>> {
        let mut hello = Vec::new();
        self.session(Identity::Nobody)?.send_to(&mut hello)?;
        Ok(hello)
    }

    /// The same in records of one byte each.
    pub(super) fn hello_in_pieces(&self) -> anyhow::Result<Vec<u8>> {
        let hello = self.hello()?;
        let pieces = hello[HEADER_BYTES..].iter();
        Ok(pieces.flat_map(|byte| record(&[*byte])).collect())
    }
}

/// Bytes that mean nothing, from the second of a record of TLS on for whoever takes them for one.
pub(super) fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// What somebody without rights might try, in a row.
pub(super) fn requests() -> Vec<u8> {
    let mut out = Vec::new();
    for request in REQUESTS {
        encode_request(&mut out, request);
    }
    out
}

/// An attempt to sign in.
pub(super) fn wrong_password() -> Vec<u8> {
    let mut out = Vec::new();
    encode_request(&mut out, &["AUTH", "operator", "guessed"]);
    out
}

/// A page that takes a token.
pub(super) fn page() -> Vec<u8> {
    b"GET /status HTTP/1.1\r\nHost: node\r\n\r\n".to_vec()
}

/// A request that announces more than it will ever send, and more than anybody may.
pub(super) fn huge_request() -> Vec<u8> {
    b"*3\r\n$3\r\nSET\r\n$4\r\nkey0\r\n$536870912\r\n".to_vec()
}

/// The same of HTTP.
pub(super) fn huge_page() -> Vec<u8> {
    b"POST /status HTTP/1.1\r\nHost: node\r\nContent-Length: 1099511627776\r\n\r\nbytes".to_vec()
}

/// A request whose head does not end for many minutes, a byte at a time.
pub(super) fn endless_page() -> Vec<u8> {
    let mut out = b"GET /livez HTTP/1.1\r\nHost: node\r\nX-Endless: ".to_vec();
    out.resize(10_000, b'x');
    out
}

/// A record that says it is longer than any may be.
pub(super) fn huge_record() -> Vec<u8> {
    let mut out = [&RECORD[..], &[0xff, 0xff]].concat();
    out.extend(noise(1 << 16, 5));
    out
}

/// First words of TLS that say they have 16 MiB, and a megabyte of them.
pub(super) fn huge_hello() -> Vec<u8> {
    let mut out = record(&[&[1, 0xff, 0xff, 0xff][..], &[0; 60]].concat());
    for _ in 0..64 {
        out.extend(record(&[0; RECORD_BYTES_MAX as usize]));
    }
    out
}

/// A handshake's record.
fn record(payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u16).to_be_bytes();
    [&RECORD[..], &len, payload].concat()
}
