//! Handshakes of those who come as nodes, on a thread of their own.
//!
//! In:  sockets of people who may be anybody. Out: sockets of nodes.
//!
//! A handshake takes as long as thousands of messages, and strangers can begin hundreds of them a second. On the control thread
//! leases and the lead of the control plane would wait behind them.
//!
//! Not here: how long a handshake may take, and how many there may be at a time (`peer::incoming`).

use super::PeerSocket;
use brickyard_tls::NodeSide;
use std::io;
use std::sync::OnceLock;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

/// See the module. The thread is there once there is a handshake.
#[derive(Debug, Default)]
pub(crate) struct Handshakes(OnceLock<Runtime>);

impl Handshakes {
    /// The end that was dialed. What nobody waits for any more is broken off.
    ///
    /// # Errors
    /// The other end shows nothing that makes it a node, or has gone; or there can be no thread.
    pub(crate) async fn accept(
        &self,
        socket: TcpStream,
        tls: Option<&NodeSide>,
    ) -> io::Result<PeerSocket> {
        let Some(tls) = tls.cloned() else {
            return PeerSocket::accepted(socket, None).await;
        };
        let mut handshake = JoinSet::new();
        let accepted = async move { PeerSocket::accepted(socket, Some(&tls)).await };
        handshake.spawn_on(accepted, self.runtime()?.handle());
        let accepted = handshake.join_next().await;
        let accepted = accepted.ok_or(io::ErrorKind::ConnectionAborted)?;
        accepted.map_err(io::Error::other)?
    }

    fn runtime(&self) -> io::Result<&Runtime> {
        if let Some(runtime) = self.0.get() {
            return Ok(runtime);
        }
        // It waits for no socket and no clock itself: these are the control thread's.
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("handshakes")
            .build()?;
        Ok(self.0.get_or_init(|| runtime))
    }
}

impl Drop for Handshakes {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // The control thread waits for nobody.
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
#[path = "handshakes_test.rs"]
mod handshakes_test;
