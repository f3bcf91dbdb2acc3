//! A cluster's certificates, made as an operator makes them: by `brickyard cert`.

use crate::server::brickyard;
use brickyard_tls::rustls::pki_types::CertificateDer;
use brickyard_tls::rustls::pki_types::pem::PemObject as _;
use brickyard_tls::{Dialer, DialerFiles, IdentityFiles};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The name of the pair that tests' own clients show.
const CLIENT: &str = "tests";

/// Directories of authorities, and the places from which nodes and clients read.
///
/// What is read stands apart from what is made, so that it can be replaced as an operator does it: by a file of the same name.
#[derive(Debug)]
pub struct Certificates {
    made: TempDir,
    used: TempDir,
    /// The authority that issues.
    authority: usize,
    issued: usize,
}

impl Default for Certificates {
    fn default() -> Self {
        Self::new()
    }
}

impl Certificates {
    /// An authority of its own, a client of the tests, and nobody else yet.
    ///
    /// # Panics
    /// If they cannot be made.
    #[must_use]
    pub fn new() -> Self {
        let dir = || tempfile::tempdir().expect("a temporary folder");
        let mut this = Self {
            made: dir(),
            used: dir(),
            authority: 0,
            issued: 0,
        };
        this.make_authority();
        this.believe(&[0]);
        this.issue_client(CLIENT);
        this
    }

    fn make_authority(&self) {
        made(&["init", "--dir", text(&self.authority_dir(self.authority))]);
    }

    fn authority_dir(&self, authority: usize) -> PathBuf {
        self.made.path().join(format!("authority{authority}"))
    }

    /// From now on another authority issues; nobody believes it yet.
    pub fn replace_authority(&mut self) {
        self.authority += 1;
        self.make_authority();
    }

    /// Everybody believes these authorities from now on, and no others.
    ///
    /// # Panics
    /// If their certificates cannot be read.
    pub fn believe(&self, authorities: &[usize]) {
        let one = |authority: &usize| {
            let at = self.authority_dir(*authority).join("ca.crt");
            std::fs::read_to_string(at).expect("an authority")
        };
        let all: String = authorities.iter().map(one).collect();
        self.put("ca.crt", all.as_bytes());
    }

    /// Gives a node a certificate, its first or another.
    pub fn issue_node(&mut self, name: &str) {
        self.issue("node", name);
    }

    /// Gives a client a certificate, its first or another.
    pub fn issue_client(&mut self, name: &str) {
        self.issue("client", name);
    }

    /// Gives the tests' own client another certificate.
    pub fn issue_own(&mut self) {
        self.issue_client(CLIENT);
    }

    fn issue(&mut self, role: &str, name: &str) {
        self.issued += 1;
        let out = self.made.path().join(format!("issued{}", self.issued));
        std::fs::create_dir(&out).expect("a folder");
        let authority = self.authority_dir(self.authority);
        made(&[role, name, "--dir", text(&authority), "--out", text(&out)]);
        for kind in ["crt", "key"] {
            let file = format!("{name}.{kind}");
            let bytes = std::fs::read(out.join(&file)).expect("what was made");
            self.put(&file, &bytes);
        }
    }

    /// Puts a file where it is read from, whole.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let new = self.used.path().join(format!("{name}.new"));
        std::fs::write(&new, bytes).expect("written");
        std::fs::rename(&new, self.used.path().join(name)).expect("in its place");
    }

    /// Where a file is read from.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.used.path().join(name)
    }

    /// What a node is started with: mutual TLS between nodes, and with clients.
    #[must_use]
    pub fn arguments(&self, node: &str) -> Vec<String> {
        let (pair, ca) = (self.pair(node), self.path("ca.crt"));
        let flags = ["peer", "client"].into_iter().flat_map(|port| {
            [
                format!("--{port}-cert={}", pair.certificate.display()),
                format!("--{port}-key={}", pair.key.display()),
                format!("--{port}-ca={}", ca.display()),
            ]
        });
        flags.collect()
    }

    fn pair(&self, name: &str) -> IdentityFiles {
        IdentityFiles {
            certificate: self.path(&format!("{name}.crt")),
            key: self.path(&format!("{name}.key")),
        }
    }

    /// What the tests' own connections go by.
    ///
    /// # Panics
    /// If the files make no sense.
    #[must_use]
    pub fn dialer(&self) -> Dialer {
        self.dialer_of(Some(CLIENT))
    }

    /// What connections of some client go by; without a name it shows no certificate.
    ///
    /// # Panics
    /// If the files make no sense.
    #[must_use]
    pub fn dialer_of(&self, name: Option<&str>) -> Dialer {
        let files = DialerFiles {
            authority: self.path("ca.crt"),
            identity: name.map(|name| self.pair(name)),
        };
        Dialer::read(files).expect("certificates")
    }

    /// A certificate as it is shown.
    ///
    /// # Panics
    /// If there is no such certificate.
    #[must_use]
    pub fn certificate(&self, name: &str) -> CertificateDer<'static> {
        CertificateDer::from_pem_file(self.pair(name).certificate).expect("a certificate")
    }

    /// The same files for programs: the authority, the certificate, the key.
    #[must_use]
    pub fn client_files(&self) -> [PathBuf; 3] {
        let pair = self.pair(CLIENT);
        [self.path("ca.crt"), pair.certificate, pair.key]
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

fn made(arguments: &[&str]) {
    let arguments: Vec<&str> = std::iter::once("cert")
        .chain(arguments.iter().copied())
        .collect();
    let made = brickyard(&arguments);
    assert!(made.status.success(), "{arguments:?}: {}", made.text());
}
