//! Connections that come about, or do not: what is made of a hello and of the answer, and when another attempt follows.

use super::hello::{Answer, HandshakeRefused, Hello, Unreadable, Welcome};
use brickyard_metadata::NodeKey;
use std::time::Duration;

/// How long a connection may take to come about.
pub const CONNECT: Duration = Duration::from_secs(1);

/// How long the other end may take to say who it is.
pub const ANSWER: Duration = Duration::from_secs(2);

/// How long one frame may take to be taken by the other end, before the connection counts as dead.
pub const WRITE: Duration = Duration::from_secs(10);

/// Connections that may not have said hello yet; one more, and the oldest of them is closed.
pub const STRANGERS_MAX: usize = 256;

/// Between two attempts.
const RETRY: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(1);

/// What came of a connection's first frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Greeted<T> {
    /// They are who they should be.
    Ok(T),
    /// Somebody is there who does not want this node.
    Refused(HandshakeRefused),
    /// It is not one of the cluster's nodes, or another than it should be; in words.
    Stranger(&'static str),
}

/// What the first frame of a connection that somebody made says. [`Greeted::Refused`] is what is answered, before it is
/// closed.
#[must_use]
pub fn on_hello(body: &[u8]) -> Greeted<Hello> {
    match Hello::read(body) {
        Ok(hello) => Greeted::Ok(hello),
        // In this version's words: the other end at least reads which one it is.
        Err(Unreadable::Version(version)) => Greeted::Refused(HandshakeRefused::Version(version)),
        Err(Unreadable::Foreign) => Greeted::Stranger("it is no node of a cluster"),
    }
}

/// What the answer to a hello says. `expected`: whose data directory should be there.
#[must_use]
pub fn on_answer(body: &[u8], expected: Option<NodeKey>) -> Greeted<Welcome> {
    match Answer::read(body) {
        Ok(Answer::Welcome(welcome)) if expected.is_some_and(|key| key != welcome.key) => {
            Greeted::Stranger("another node than the one that should answers there")
        }
        Ok(Answer::Welcome(welcome)) => Greeted::Ok(welcome),
        Ok(Answer::Refused(refused)) => Greeted::Refused(refused),
        Err(Unreadable::Version(version)) => Greeted::Refused(HandshakeRefused::Version(version)),
        Err(Unreadable::Foreign) => Greeted::Stranger("what answers there is no node of a cluster"),
    }
}

/// When a connection is made again that is gone, or never was.
#[derive(Clone, Copy, Debug)]
pub struct Redial(Duration);

impl Default for Redial {
    fn default() -> Self {
        Self(RETRY)
    }
}

impl Redial {
    /// The connection has come about.
    pub fn on_connected(&mut self) {
        self.0 = RETRY;
    }

    /// The other end does not want this node.
    pub fn on_refused(&mut self) {
        self.0 = RETRY_MAX;
    }

    /// It is gone, or there was none: how long to wait before the next attempt.
    pub fn pause(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(RETRY_MAX);
        pause
    }
}

#[cfg(test)]
#[path = "redial_test.rs"]
mod redial_test;
