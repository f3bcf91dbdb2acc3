//! Which ports the nodes of a trial cluster have.
//!
//! In:  how many nodes and bricks, a wish, what is free. Out: [`Ports`] for each node.
//!
//! Node ports lie a round step apart, so that a node's bricks fit between: 6379, 6389, 6399. What else a
//! node listens at is where `brickyard server` has it by default, seen from there: HTTP 1000 above, other
//! nodes 10,000 above. So a cluster is told by its first port.

/// Redis's port, which clients take without being told.
pub(crate) const REDIS: u16 = 6379;

const STEP: u16 = 10;
const HTTP_OFFSET: u16 = 1000;
const PEER_OFFSET: u16 = 10_000;

/// Where to look when [`REDIS`] or what lies beside it is taken: below the ports that systems give to
/// outgoing connections, also for peers.
const OTHERS: std::ops::Range<u16> = 10_079..20_000;
const OTHERS_STEP: usize = 100;

/// What a node listens at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ports {
    pub(crate) node: u16,
    pub(crate) http: u16,
    pub(crate) peer: u16,
    bricks: u16,
}

impl Ports {
    /// The bricks' ports.
    pub(crate) fn bricks(self) -> std::ops::RangeInclusive<u16> {
        self.node + 1..=self.node + self.bricks
    }

    fn all(self) -> impl Iterator<Item = u16> {
        [self.node, self.http, self.peer]
            .into_iter()
            .chain(self.bricks())
    }
}

/// Chooses ports: from `preferred` on if there is one, else from [`REDIS`] on, or else where all are free.
pub(crate) fn choose(
    nodes: u16,
    bricks: u16,
    preferred: Option<u16>,
    is_free: impl Fn(u16) -> bool,
) -> Result<Vec<Ports>, String> {
    if let Some(first) = preferred {
        let ports = from(first, nodes, bricks)?;
        let taken = ports
            .iter()
            .flat_map(|it| it.all())
            .find(|it| !is_free(*it));
        return taken.map_or(Ok(ports), |taken| {
            Err(format!(
                "port {taken} is taken, and nodes from port {first} on need it; choose another --port"
            ))
        });
    }
    let firsts = std::iter::once(REDIS).chain(OTHERS.step_by(OTHERS_STEP));
    for first in firsts {
        let ports = from(first, nodes, bricks)?;
        if ports.iter().flat_map(|it| it.all()).all(&is_free) {
            return Ok(ports);
        }
    }
    Err(format!(
        "there is no room for {nodes} nodes between the ports {} and {}; choose one with --port",
        OTHERS.start, OTHERS.end
    ))
}

fn from(first: u16, nodes: u16, bricks: u16) -> Result<Vec<Ports>, String> {
    let step = bricks.saturating_add(1).next_multiple_of(STEP);
    // Else the last bricks would be where the first node has HTTP.
    if u32::from(step) * u32::from(nodes) > u32::from(HTTP_OFFSET) {
        return Err(format!(
            "{nodes} nodes with {bricks} bricks each need more than {HTTP_OFFSET} ports in a row; ask for fewer"
        ));
    }
    let span = step * nodes + PEER_OFFSET;
    if first == 0 || first.checked_add(span).is_none() {
        let most = u16::MAX - span;
        return Err(format!(
            "--port {first}: the ports above it do not suffice; choose one from 1 to {most}"
        ));
    }
    let node = |at: u16| Ports {
        node: first + at * step,
        http: first + at * step + HTTP_OFFSET,
        peer: first + at * step + PEER_OFFSET,
        bricks,
    };
    Ok((0..nodes).map(node).collect())
}

/// Whether nobody listens there.
pub(crate) fn is_free(port: u16) -> bool {
    std::net::TcpListener::bind(("127.0.0.1", port)).is_ok()
}

#[cfg(test)]
#[path = "ports_test.rs"]
mod ports_test;
