//! Files are read again when they change: certificates, and the tokens of HTTP.
//!
//! In:  files' contents, looked at every [`LOOK`] or when somebody says so (SIGHUP). Out: what is gone by at the moment, each kind of its own.
//!
//! Invariants:
//! - Files that cannot be used change nothing, and are told of once.
//! - Without being told to, files are read when two looks have found the same: their writer may have written one of a pair.
//! - A thread of its own does this: the control thread waits for no disk.
//!
//! Not here: when somebody asks what is so now. A connection does when it is made, and goes on with that; HTTP does at each request.

use crate::fatal;
use brickyard_tls::fingerprint;
use std::fmt::Display;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::watch;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// What connections, or requests, of a kind go by at the moment.
#[derive(Clone, Debug)]
pub(crate) struct Current<T>(Option<watch::Receiver<T>>);

/// All kinds, until a thread looks after them.
#[derive(Default)]
pub(crate) struct Sources(Vec<Box<dyn Look + Send>>);

/// The thread that looks at the files.
#[derive(Debug)]
pub(crate) struct Reloader {
    wake: Sender<()>,
    thread: JoinHandle<()>,
}

trait Look {
    /// Looks at the files, and reads them if they changed.
    fn look(&mut self, is_told: bool);
}

struct Source<T, Read> {
    /// Who goes by what.
    what: &'static str,
    paths: Vec<PathBuf>,
    read: Read,
    current: watch::Sender<T>,
    /// Of the contents that were read last, whether they could be used or not.
    read_last: u64,
    /// Of the contents at the last look.
    seen_last: u64,
}

impl<T> Current<T> {
    pub(crate) const fn new(receiver: Option<watch::Receiver<T>>) -> Self {
        Self(receiver)
    }

    /// Whether there are no such files.
    pub(crate) const fn is_plain(&self) -> bool {
        self.0.is_none()
    }
}

impl<T: Clone> Current<T> {
    /// What a connection that is made now goes by, or a request; `None`: there are no such files.
    pub(crate) fn now(&self) -> Option<T> {
        self.0.as_ref().map(|current| current.borrow().clone())
    }
}

impl Sources {
    /// Reads for the first time. `what` is the beginning of what the log says: who goes by what.
    pub(crate) fn watch<T, E, Read>(
        &mut self,
        what: &'static str,
        paths: Vec<PathBuf>,
        read: Read,
    ) -> Result<watch::Receiver<T>, E>
    where
        T: Send + Sync + 'static,
        E: Display + 'static,
        Read: Fn() -> Result<T, E> + Send + 'static,
    {
        // Before they are read: what changes meanwhile is found by the next look.
        let seen = fingerprint(paths.iter().map(PathBuf::as_path));
        let (current, receiver) = watch::channel(read()?);
        self.0.push(Box::new(Source {
            what,
            paths,
            read,
            current,
            read_last: seen,
            seen_last: seen,
        }));
        Ok(receiver)
    }
}

impl<T, E: Display, Read: Fn() -> Result<T, E>> Look for Source<T, Read> {
    fn look(&mut self, is_told: bool) {
        let now = fingerprint(self.paths.iter().map(PathBuf::as_path));
        let is_settled = std::mem::replace(&mut self.seen_last, now) == now;
        if now == self.read_last || !(is_settled || is_told) {
            return;
        }
        self.read_last = now;
        match (self.read)() {
            Ok(read) => {
                self.current.send_replace(read);
                tracing::info!("{} that were read now", self.what);
            }
            Err(error) => tracing::error!(
                %error,
                "{} of before: the files have changed and cannot be used",
                self.what
            ),
        }
    }
}

impl Reloader {
    /// Looks at the files from now on.
    pub(crate) fn start(sources: Sources) -> io::Result<Self> {
        let (wake, woken) = channel();
        let thread = fatal::spawn("reload".to_owned(), move || run(sources, &woken))?;
        Ok(Self { wake, thread })
    }

    /// Has it look at once.
    pub(crate) fn waker(&self) -> Sender<()> {
        self.wake.clone()
    }

    /// Ends it, when nobody else has a waker any more.
    pub(crate) fn finish(self) {
        drop(self.wake);
        // A panic there ends the process.
        drop(self.thread.join());
    }
}

fn run(mut sources: Sources, woken: &Receiver<()>) {
    loop {
        let is_told = match woken.recv_timeout(LOOK) {
            Ok(()) => true,
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        for source in &mut sources.0 {
            source.look(is_told);
        }
    }
}
