//! Streams of bricks: connected and introduced here, then handed to the brick's loop.

use super::outgoing::greet_stream;
use super::{Event, Events, Stream};
use crate::config::HostPort;
use brickyard_brick::Direction;
use brickyard_node::peer::{ConnectionKind, Introduction};
use brickyard_routing::Replica;

/// Dials; the outcome comes as an event.
pub(crate) fn dial(
    own: Replica,
    peer: Replica,
    connection: u64,
    at: HostPort,
    introduction: &Introduction,
    events: Events,
) {
    let hello = introduction.hello(ConnectionKind::Stream {
        from: own,
        to: peer,
        connection,
    });
    tokio::task::spawn_local(async move {
        let stream = greet_stream(&at, &hello.frame()).await;
        let event = match stream.and_then(tokio::net::TcpStream::into_std) {
            Ok(socket) => Event::Stream(Stream {
                own,
                peer,
                direction: Direction::Outgoing,
                connection,
                socket,
            }),
            Err(error) => {
                tracing::debug!(%own, %peer, %error, "no stream to a brick");
                Event::NoStream(own, peer)
            }
        };
        drop(events.send(event).await);
    });
}
