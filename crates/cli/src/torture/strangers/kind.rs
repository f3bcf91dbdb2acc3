//! Kinds of strangers: who they are, and what they do.
//!
//! In:  a kind, what strangers have. Out: the steps that it takes.
//!
//! Not here: what they are to be answered (`expected`).

use super::arsenal::{self, Arsenal};
use super::secrets::Identity;

/// One step of a stranger.
#[derive(Debug)]
pub(super) enum Step {
    /// Send it, under TLS where there is TLS.
    Send(Vec<u8>),
    /// Send it as it is, whatever has gone before.
    SendBare(Vec<u8>),
    /// Send it as it is, byte by byte.
    Drip(Vec<u8>),
    /// Send it under TLS, byte by byte.
    DripUnderTls(Vec<u8>),
}

/// What a stranger does.
#[derive(Debug)]
pub(super) struct Script {
    /// Begins with a handshake of TLS.
    pub(super) shows: Option<Identity>,
    pub(super) steps: Vec<Step>,
}

/// A kind of stranger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Silent,
    Noise,
    PlainRequests,
    PlainPage,
    PlainHuge,
    HalfHello,
    SlowHello,
    HelloInPieces,
    HelloThenNoise,
    HugeRecord,
    HugeHello,
    EncryptedPeer,
    PlainPeer,
    Nobody,
    NobodyPage,
    NobodySilent,
    NobodySlowPage,
    Foreign,
    Expired,
    ClientSilent,
    ClientRequests,
    ClientGuess,
    ClientHuge,
    ClientHalf,
    ClientSlow,
    ClientPage,
    ClientHugePage,
    ClientNoise,
    ClientBareNoise,
}

impl Kind {
    pub(super) const ALL: [Self; 29] = [
        Self::Silent,
        Self::Noise,
        Self::PlainRequests,
        Self::PlainPage,
        Self::PlainHuge,
        Self::HalfHello,
        Self::SlowHello,
        Self::HelloInPieces,
        Self::HelloThenNoise,
        Self::HugeRecord,
        Self::HugeHello,
        Self::EncryptedPeer,
        Self::PlainPeer,
        Self::Nobody,
        Self::NobodyPage,
        Self::NobodySilent,
        Self::NobodySlowPage,
        Self::Foreign,
        Self::Expired,
        Self::ClientSilent,
        Self::ClientRequests,
        Self::ClientGuess,
        Self::ClientHuge,
        Self::ClientHalf,
        Self::ClientSlow,
        Self::ClientPage,
        Self::ClientHugePage,
        Self::ClientNoise,
        Self::ClientBareNoise,
    ];

    /// Whom, in a table's first column.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Silent => "says nothing",
            Self::Noise => "noise",
            Self::PlainRequests => "requests in the clear",
            Self::PlainPage => "HTTP in the clear",
            Self::PlainHuge => "a request in the clear that announces 512 MiB",
            Self::HalfHello => "half of TLS's first words, then nothing",
            Self::SlowHello => "TLS's first words, a byte each 100 ms",
            Self::HelloInPieces => "TLS's first words in records of a byte, then nothing",
            Self::HelloThenNoise => "TLS's first words, then noise",
            Self::HugeRecord => "a record of TLS longer than any may be",
            Self::HugeHello => "first words of TLS that announce 16 MiB",
            Self::EncryptedPeer => "a node's connections, overheard under TLS and played back",
            Self::PlainPeer => "those of a cluster without certificates",
            Self::Nobody => "TLS without a certificate, requests",
            Self::NobodyPage => "TLS without a certificate, HTTP without a token",
            Self::NobodySilent => "TLS without a certificate, then nothing",
            Self::NobodySlowPage => "TLS without a certificate, HTTP, a byte each 100 ms",
            Self::Foreign => "a node's certificate of another authority, requests",
            Self::Expired => "a certificate that has expired, requests",
            Self::ClientSilent => "a client's certificate, then nothing",
            Self::ClientRequests => "a client's certificate, requests before signing in",
            Self::ClientGuess => "a client's certificate, a wrong password",
            Self::ClientHuge => "a client's certificate, a request that announces 512 MiB",
            Self::ClientHalf => "a client's certificate, half a request, then nothing",
            Self::ClientSlow => "a client's certificate, half a request, a byte each 100 ms",
            Self::ClientPage => "a client's certificate, HTTP without a token",
            Self::ClientHugePage => "a client's certificate, HTTP that announces 1 TiB",
            Self::ClientNoise => "a client's certificate, noise under TLS",
            Self::ClientBareNoise => "a client's certificate, noise in place of TLS's records",
        }
    }

    /// What it does; several connections of those that play back.
    pub(super) fn scripts(self, arsenal: &Arsenal) -> anyhow::Result<Vec<Script>> {
        let shows = match self {
            Self::Silent
            | Self::Noise
            | Self::PlainRequests
            | Self::PlainPage
            | Self::PlainHuge
            | Self::HalfHello
            | Self::SlowHello
            | Self::HelloInPieces
            | Self::HelloThenNoise
            | Self::HugeRecord
            | Self::HugeHello
            | Self::EncryptedPeer
            | Self::PlainPeer => None,
            Self::Nobody | Self::NobodyPage | Self::NobodySilent | Self::NobodySlowPage => {
                Some(Identity::Nobody)
            }
            Self::Foreign => Some(Identity::Foreign),
            Self::Expired => Some(Identity::Expired),
            Self::ClientSilent
            | Self::ClientRequests
            | Self::ClientGuess
            | Self::ClientHuge
            | Self::ClientHalf
            | Self::ClientSlow
            | Self::ClientPage
            | Self::ClientHugePage
            | Self::ClientNoise
            | Self::ClientBareNoise => Some(Identity::Client),
        };
        let steps = match self {
            Self::Silent | Self::NobodySilent | Self::ClientSilent => Vec::new(),
            // A first byte that is no record's kind.
            Self::Noise => vec![Step::Send([&[b'@'][..], &arsenal::noise(4096, 1)].concat())],
            Self::ClientNoise => vec![Step::Send([&[b'@'][..], &arsenal::noise(4096, 2)].concat())],
            Self::ClientBareNoise => vec![Step::SendBare(arsenal::noise(4096, 3))],
            Self::PlainRequests
            | Self::Nobody
            | Self::Foreign
            | Self::Expired
            | Self::ClientRequests => vec![Step::Send(arsenal::requests())],
            Self::PlainPage | Self::NobodyPage | Self::ClientPage => {
                vec![Step::Send(arsenal::page())]
            }
            Self::PlainHuge | Self::ClientHuge => vec![Step::Send(arsenal::huge_request())],
            Self::ClientHugePage => vec![Step::Send(arsenal::huge_page())],
            Self::ClientGuess => vec![Step::Send(arsenal::wrong_password())],
            Self::HalfHello => {
                let hello = arsenal.hello()?;
                vec![Step::SendBare(hello[..hello.len() / 2].to_vec())]
            }
            Self::SlowHello => vec![Step::Drip(arsenal.hello()?)],
            Self::HelloInPieces => vec![Step::SendBare(arsenal.hello_in_pieces()?)],
            Self::HelloThenNoise => vec![
                Step::SendBare(arsenal.hello()?),
                Step::SendBare([&[b'@'][..], &arsenal::noise(4096, 4)].concat()),
            ],
            Self::HugeRecord => vec![Step::SendBare(arsenal::huge_record())],
            Self::HugeHello => vec![Step::SendBare(arsenal::huge_hello())],
            Self::EncryptedPeer | Self::PlainPeer => {
                let heard = match self {
                    Self::PlainPeer => &arsenal.plain,
                    _ => &arsenal.encrypted,
                };
                let script = |bytes: &Vec<u8>| Script {
                    shows,
                    steps: vec![Step::SendBare(bytes.clone())],
                };
                return Ok(heard.iter().map(script).collect());
            }
            Self::ClientHalf => vec![Step::Send(b"*3\r\n$3\r\nSET\r\n$4\r\nke".to_vec())],
            Self::NobodySlowPage => vec![Step::DripUnderTls(arsenal::endless_page())],
            Self::ClientSlow => vec![Step::DripUnderTls(arsenal::requests())],
        };
        Ok(vec![Script { shows, steps }])
    }
}
