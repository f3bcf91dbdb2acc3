//! Stands between two nodes and writes down what one sends to the other: for whoever plays it back.
//!
//! In:  an address to listen at, one to pass everything on to. Out: the bytes of each connection, of the one that dialed.

use anyhow::Context as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Of a connection so much is kept.
const KEPT_BYTES: usize = 64 << 10;

type Recorded = Arc<Mutex<Vec<Arc<Mutex<Vec<u8>>>>>>;

/// See the module; it ends with the value.
#[derive(Debug)]
pub(super) struct Tap {
    recorded: Recorded,
    task: AbortHandle,
}

impl Tap {
    /// Passes on from now on. It takes a local task set.
    pub(super) async fn start(at: SocketAddr, to: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(at).await;
        let listener = listener.with_context(|| format!("cannot listen at {at}"))?;
        let recorded = Recorded::default();
        let connections = Arc::clone(&recorded);
        let task = tokio::task::spawn_local(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let bytes = Arc::default();
                locked(&connections).push(Arc::clone(&bytes));
                tokio::task::spawn_local(pass_on(socket, to, bytes));
            }
        });
        Ok(Self {
            recorded,
            task: task.abort_handle(),
        })
    }

    /// What was heard so far, of each connection that said something.
    pub(super) fn heard(&self) -> Vec<Vec<u8>> {
        let connections = locked(&self.recorded);
        let all = connections.iter().map(|bytes| locked(bytes).clone());
        all.filter(|bytes| !bytes.is_empty()).collect()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass_on(socket: TcpStream, to: SocketAddr, heard: Arc<Mutex<Vec<u8>>>) {
    let Ok(other) = TcpStream::connect(to).await else {
        return;
    };
    let (mut from_dialer, mut to_dialer) = socket.into_split();
    let (mut from_dialed, mut to_dialed) = other.into_split();
    let there = async {
        let mut chunk = vec![0; 16 << 10];
        loop {
            let got = from_dialer.read(&mut chunk).await.unwrap_or(0);
            if got == 0 || to_dialed.write_all(&chunk[..got]).await.is_err() {
                return;
            }
            let mut heard = locked(&heard);
            let room = KEPT_BYTES.saturating_sub(heard.len()).min(got);
            heard.extend_from_slice(&chunk[..room]);
        }
    };
    // Whichever direction ends first ends both, as the sockets are closed with it.
    tokio::select! {
        () = there => {}
        _ = tokio::io::copy(&mut from_dialed, &mut to_dialer) => {}
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
