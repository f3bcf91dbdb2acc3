//! Streams of bricks: connected and introduced here, then handed to the brick's loop.

use super::outgoing::greet_stream;
use super::{Event, Events, Stream};
use crate::config::HostPort;
use crate::tls::PeerSocket;
use brickyard_brick::Direction;
use brickyard_node::peer::{ConnectionKind, Introduction};
use brickyard_routing::Replica;
use brickyard_tls::NodeSide;

/// Dials; the outcome comes as an event.
pub(crate) fn dial(
    own: Replica,
    peer: Replica,
    connection: u64,
    at: HostPort,
    introduction: &Introduction,
    tls: Option<NodeSide>,
    events: Events,
) {
    let hello = introduction.hello(ConnectionKind::Stream {
        from: own,
        to: peer,
        connection,
    });
    tokio::task::spawn_local(async move {
        let stream = greet_stream(&at, &hello.frame(), tls.as_ref()).await;
        let event = match stream.and_then(PeerSocket::into_loop) {
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
