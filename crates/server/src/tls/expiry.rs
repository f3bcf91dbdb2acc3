//! When the certificates that this node shows end, for whoever watches.
//!
//! In:  files, each time that they are read. Out: a time for each kind of connections, which any thread may read.
//!
//! Not here: who refuses a certificate that has ended (the other end of a connection).

use brickyard_tls::IdentityFiles;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expiries(Vec<(&'static str, Noted)>);

/// Seconds since the Unix epoch; 0: not known.
#[derive(Clone, Debug, Default)]
pub(super) struct Noted(Arc<AtomicU64>);

impl Expiries {
    /// Those of one kind of connections are noted there.
    pub(super) fn watch(&mut self, who_sees_it: &'static str) -> Noted {
        let noted = Noted::default();
        self.0.push((who_sees_it, noted.clone()));
        noted
    }

    /// Who sees the certificate, and when it ends, in seconds since the Unix epoch.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let all = self.0.iter();
        all.map(|(who, noted)| (*who, noted.0.load(Relaxed)))
            .filter(|(_, until)| *until > 0)
    }
}

impl Noted {
    /// Connections go by what is in these files from now on.
    pub(super) fn note(&self, files: &IdentityFiles) {
        match files.valid_until() {
            Ok(until) => self.0.store(until, Relaxed),
            // It can be used, so this is about the figure alone.
            Err(error) => tracing::warn!(%error, "until when a certificate is valid is not known"),
        }
    }
}
