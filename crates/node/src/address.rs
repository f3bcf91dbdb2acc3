//! Where a node is reached: a host, which may be a name, and a port.

use std::fmt;

/// A host, by name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPort {
    /// Host name or IP address, an IPv6 one without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl HostPort {
    /// Reads `host:port`; `None` if it is not that.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let is_bracketed = host.starts_with('[') && host.ends_with(']');
        let host = host.trim_matches(['[', ']']);
        let is_name = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic());
        let port = port.parse().ok().filter(|port| *port != 0)?;
        let is_host = is_name && (is_bracketed || !host.contains([':', '/', '@']));
        is_host.then(|| Self {
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}
