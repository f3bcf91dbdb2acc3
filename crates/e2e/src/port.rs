//! Free loopback ports for a node: the node's, one a brick after it, HTTP a thousand above; and for the nodes
//! of a `brickyard dev`, whose other ports follow from the first one.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the range from which Linux draws the local ports of outgoing connections (32768 and up), so
/// that a client's socket cannot take a port between our look and the server's bind.
const PORT_BEGIN: u16 = 22_000;
const PORT_END: u16 = 31_000;

/// Where the nodes of a `brickyard dev` begin. Their HTTP ports are 1000 above and those for other nodes 10,000:
/// so both stay below [`PORT_BEGIN`], and tests of both kinds at once are not in each other's way.
const DEV_BEGIN: u16 = 11_000;
const DEV_END: u16 = 12_000;

/// From the first port of a `brickyard dev` to that of the next: room for five nodes.
const DEV_STEP: u16 = 50;

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
    let has_room = |port: u16| (port..=port + bricks).all(is_free) && is_free(port + HTTP_OFFSET);
    let end = PORT_END - HTTP_OFFSET;
    next(&NEXT, (PORT_BEGIN, end), BLOCK, has_room)
}

/// Finds a first port for a `brickyard dev` of this many nodes of one brick each, five at most.
///
/// As with [`free_block`], another process may still take one of them.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn free_dev(nodes: u16) -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let has_room = |first: u16| {
        let mut ports = (0..nodes).map(|node| first + 10 * node);
        ports.all(|port| [0, 1, 1000, 10_000].iter().all(|it| is_free(port + it)))
    };
    next(&NEXT, (DEV_BEGIN, DEV_END), DEV_STEP, has_room)
}

/// The next block of ports that has room. Each process starts elsewhere, and each call within a process goes on
/// from there.
fn next(
    calls: &AtomicU16,
    (begin, end): (u16, u16),
    block: u16,
    has_room: impl Fn(u16) -> bool,
) -> u16 {
    let blocks = (end - begin) / block;
    let first = u16::try_from(std::process::id() * 37 % u32::from(blocks)).unwrap_or(0);
    let step = || first.wrapping_add(calls.fetch_add(1, Ordering::Relaxed)) % blocks;
    let mut ports = std::iter::repeat_with(|| begin + step() * block).take(usize::from(blocks));
    ports
        .find(|&port| has_room(port))
        .unwrap_or_else(|| panic!("no free block of ports between {begin} and {end}"))
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}
