//! File descriptors: how many there may be, and what to do when they run out.

use crate::control::HTTP_CONNECTIONS_MAX;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that a brick needs besides its clients: poll, waker, listener, segments, idle work.
const PER_BRICK: u64 = 128;

/// Descriptors of the node itself: HTTP; standard streams, the lock, other nodes, spare ones.
const PER_NODE: u64 = HTTP_CONNECTIONS_MAX as u64 + 80;

/// Raises the process's bound to what `maxclients` needs, and returns how many clients fit.
pub(crate) fn reserve(maxclients: u32, bricks: u32) -> u32 {
    let other = PER_NODE + u64::from(bricks) * PER_BRICK;
    let wanted = u64::from(maxclients) + other;
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current.unwrap_or(u64::MAX);
    if current >= wanted {
        return maxclients;
    }
    let raised = wanted.min(limit.maximum.unwrap_or(u64::MAX));
    let asked = Rlimit {
        current: Some(raised),
        maximum: limit.maximum,
    };
    let current = match setrlimit(Resource::Nofile, asked) {
        Ok(()) => raised,
        Err(_) => current,
    };
    if current >= wanted {
        return maxclients;
    }
    let clients = u32::try_from(current.saturating_sub(other).max(16)).unwrap_or(maxclients);
    tracing::warn!(
        maxclients,
        lowered_to = clients,
        limit = current,
        "the process may not open enough files for maxclients; raise LimitNOFILE or `ulimit -n`"
    );
    clients.min(maxclients)
}
