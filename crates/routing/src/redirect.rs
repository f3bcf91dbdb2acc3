//! What a client is told that asked the wrong brick.

use brickyard_types::Slot;
use std::fmt;

/// The `MOVED` error of Redis Cluster: the text after the `-`.
///
/// It promises that the command was not executed and will not be (clients send it again).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved<'a> {
    /// The slot of the command's keys.
    pub slot: Slot,
    /// Host of the brick port to ask; never empty, since clients differ in what they make of that.
    pub host: &'a str,
    /// Its port.
    pub port: u16,
}

impl fmt::Display for Moved<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MOVED {} {}:{}", self.slot, self.host, self.port)
    }
}

#[cfg(test)]
mod redirect_test {
    use super::*;

    #[test]
    fn moved_reads_as_redis_writes_it() {
        let moved = Moved {
            slot: Slot(3999),
            host: "127.0.0.1",
            port: 6381,
        };
        assert_eq!(moved.to_string(), "MOVED 3999 127.0.0.1:6381");
    }
}
