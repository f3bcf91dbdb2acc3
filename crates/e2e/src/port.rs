//! Free loopback ports for a node: the node's, one a brick after it, HTTP a thousand above.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the range from which Linux draws the local ports of outgoing connections (32768 and up), so
/// that a client's socket cannot take a port between our look and the server's bind.
const PORT_BEGIN: u16 = 21_000;
const PORT_END: u16 = 31_000;

/// From a node's port to its HTTP port.
pub const HTTP_OFFSET: u16 = 1000;

/// Ports tried at once: a node, its bricks, and room for a peer.
const BLOCK: u16 = 16;

/// Finds a port `p` such that `p..=p + bricks` and `p + HTTP_OFFSET` are free.
///
/// Another process may still take one of them before the server binds it; [`crate::server`] then
/// tries again with the next block.
///
/// # Panics
/// If there is none: something is very wrong with this machine's network.
#[must_use]
pub fn free_block(bricks: u16) -> u16 {
    // Each process starts elsewhere, and each call within a process goes on from there.
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let blocks = (PORT_END - PORT_BEGIN - HTTP_OFFSET) / BLOCK;
    let first = u16::try_from(std::process::id() * 37 % u32::from(blocks)).unwrap_or(0);
    for _ in 0..blocks {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let block = first.wrapping_add(step) % blocks;
        let port = PORT_BEGIN + block * BLOCK;
        let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if (port..=port + bricks).all(is_free) && is_free(port + HTTP_OFFSET) {
            return port;
        }
    }
    panic!("no free block of ports between {PORT_BEGIN} and {PORT_END}");
}
