//! Streams of bricks: connected and introduced here, then handed to the brick's loop.

use super::outgoing::greet_stream;
use super::{Event, Events, Hello, Kind};
use crate::config::HostPort;
use brickyard_brick::Direction;
use brickyard_routing::Seat;

/// A stream whose both ends have said who they are.
#[derive(Debug)]
pub(crate) struct Stream {
    /// The brick here.
    pub(crate) own: Seat,
    /// The brick there.
    pub(crate) peer: Seat,
    /// Who dialed.
    pub(crate) direction: Direction,
    /// Drawn by the one that dialed.
    pub(crate) connection: u64,
    /// Non-blocking, without delay; nothing beyond the answer was read.
    pub(crate) stream: std::net::TcpStream,
}

/// Dials; the outcome comes as an event.
pub(crate) fn dial(
    own: Seat,
    peer: Seat,
    connection: u64,
    at: HostPort,
    hello: Hello,
    events: Events,
) {
    let hello = Hello {
        kind: Kind::Stream {
            from: own,
            to: peer,
            connection,
        },
        ..hello
    };
    tokio::task::spawn_local(async move {
        let stream = greet_stream(&at, &hello.frame()).await;
        let event = match stream.and_then(tokio::net::TcpStream::into_std) {
            Ok(stream) => Event::Stream(Stream {
                own,
                peer,
                direction: Direction::Outgoing,
                connection,
                stream,
            }),
            Err(error) => {
                tracing::debug!(%own, %peer, %error, "no stream to a brick");
                Event::NoStream(own, peer)
            }
        };
        drop(events.send(event).await);
    });
}
