//! Thousands of connections that want nothing: held as long as the port lets them, then made anew.
//!
//! In:  ports, how many. Out: how many were made, and were open at once.

use super::arsenal::{Arsenal, HOST};
use super::secrets::Identity;
use brickyard_tls::Session;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The first ones come so far apart.
const APART: Duration = Duration::from_millis(2);

/// Between the end of a connection and the next one in its place.
const PAUSE: Duration = Duration::from_millis(500);

/// Some go by themselves after so long.
const STAY: Duration = Duration::from_secs(30);

/// What somebody in a crowd does.
#[derive(Clone, Copy, Debug)]
enum Manner {
    Silent,
    /// First words of TLS, and no more.
    Hello,
    /// The whole handshake, with what will not do at most ports.
    Nobody,
    /// The whole handshake with a client's certificate, and nothing after it.
    Client,
}

const MANNERS: [Manner; 4] = [
    Manner::Silent,
    Manner::Hello,
    Manner::Nobody,
    Manner::Client,
];

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Counts {
    made: AtomicU64,
    failed: AtomicU64,
    open: AtomicUsize,
    open_max: AtomicUsize,
}

impl Counts {
    /// Connections that were made.
    pub(super) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// Connections that could not be made.
    pub(super) fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Most that were open at once.
    pub(super) fn open_max(&self) -> usize {
        self.open_max.load(Ordering::Relaxed)
    }

    fn on_open(&self) {
        self.made.fetch_add(1, Ordering::Relaxed);
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.open_max.fetch_max(open, Ordering::Relaxed);
    }

    fn on_end(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// See the module; it goes with the value.
#[derive(Debug)]
pub(super) struct Crowd {
    pub(super) counts: Arc<Counts>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Crowd {
    /// Comes, spread over the ports, on a thread of its own.
    pub(super) fn start(
        arsenal: Arc<Arsenal>,
        ports: Vec<u16>,
        connections: usize,
    ) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let counts = Arc::new(Counts::default());
        let is_over = Arc::new(AtomicBool::new(false));
        let (shared, over) = (Arc::clone(&counts), Arc::clone(&is_over));
        let thread = std::thread::Builder::new()
            .name("crowd".to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    let mut all = JoinSet::new();
                    for number in 0..connections {
                        let port = ports[number % ports.len()];
                        let manner = MANNERS[number / ports.len() % MANNERS.len()];
                        let (arsenal, counts) = (Arc::clone(&arsenal), Arc::clone(&shared));
                        all.spawn(async move {
                            loop {
                                come(&arsenal, port, manner, &counts).await;
                                sleep(PAUSE).await;
                            }
                        });
                        sleep(APART).await;
                        if over.load(Ordering::Relaxed) {
                            return;
                        }
                    }
                    while !over.load(Ordering::Relaxed) {
                        sleep(PAUSE).await;
                    }
                });
            })?;
        Ok(Self {
            counts,
            is_over,
            thread: Some(thread),
        })
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It does nothing that could panic.
            drop(thread.join());
        }
    }
}

/// One connection, from its beginning to its end.
async fn come(arsenal: &Arsenal, port: u16, manner: Manner, counts: &Counts) {
    let connected = timeout(STAY, TcpStream::connect((HOST, port))).await;
    let Ok(Ok(socket)) = connected else {
        counts.failed.fetch_add(1, Ordering::Relaxed);
        return;
    };
    counts.on_open();
    // However it ends, it has ended.
    drop(timeout(STAY, stay(arsenal, socket, manner)).await);
    counts.on_end();
}

async fn stay(arsenal: &Arsenal, mut socket: TcpStream, manner: Manner) -> anyhow::Result<()> {
    let mut session: Option<Session> = match manner {
        Manner::Silent => None,
        Manner::Hello => {
            socket.write_all(&arsenal.hello()?).await?;
            None
        }
        Manner::Nobody => Some(arsenal.session(Identity::Nobody)?),
        Manner::Client => Some(arsenal.session(Identity::Client)?),
    };
    let mut chunk = [0; 4096];
    let mut plain = Vec::new();
    loop {
        if let Some(session) = &mut session {
            let mut out = Vec::new();
            session.send_to(&mut out)?;
            socket.write_all(&out).await?;
        }
        let got = socket.read(&mut chunk).await?;
        if got == 0 {
            return Ok(());
        }
        if let Some(session) = &mut session {
            session.receive(&chunk[..got], &mut plain)?;
        }
    }
}
