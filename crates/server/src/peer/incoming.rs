//! Connections that others make to this node.

use super::frame;
use super::outgoing::{read_all, write_all};
use super::refusals::Refusals;
use super::strangers::Strangers;
use super::{Event, Events, SendQueue, Stream};
use crate::reload::Current;
use crate::tls::{Handshakes, PeerSocket};
use brickyard_brick::Direction;
use brickyard_node::Source;
use brickyard_node::peer::{
    ANSWER, Answer, ConnectionKind, Greeted, HELLO_BYTES_MAX, Hello, on_hello,
};
use brickyard_tls::NodeSide;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};

/// How long to wait when a connection cannot be accepted.
const RETRY: Duration = Duration::from_millis(200);

/// Somebody who said hello and waits for the answer.
#[derive(Debug)]
pub(crate) struct Arrived {
    /// Names the connection.
    pub(crate) id: u64,
    pub(crate) hello: Hello,
    pub(crate) from: SocketAddr,
    /// For what is to be sent to it.
    pub(crate) queue: Rc<SendQueue>,
    pub(crate) answer: oneshot::Sender<Answer>,
}

/// Accepts connections for ever.
pub(crate) async fn accept(listener: TcpListener, tls: Current<NodeSide>, events: Events) {
    let strangers = Rc::new(Strangers::default());
    let refusals = Rc::new(Refusals::default());
    let handshakes = Rc::new(Handshakes::default());
    for id in 1.. {
        match listener.accept().await {
            Ok((stream, from)) => {
                let events = events.clone();
                let tls = tls.now();
                let (known, told) = (Rc::clone(&strangers), Rc::clone(&refusals));
                let handshakes = Rc::clone(&handshakes);
                let task = tokio::task::spawn_local(async move {
                    let stream =
                        shake_hands(stream, from, (&handshakes, tls.as_ref()), &told).await;
                    let greeted = match stream {
                        Ok((stream, deadline)) => {
                            let greeted = greet(stream, from, id, &events);
                            let greeted = timeout_at(deadline, greeted).await;
                            greeted.map_err(io::Error::from).flatten()
                        }
                        Err(error) => Err(error),
                    };
                    known.on_known(id);
                    match greeted {
                        Ok(Some(taken)) => serve(taken, &events).await,
                        Ok(None) => {}
                        Err(error) => {
                            tracing::debug!(%from, %error, "a connection from a node came to nothing");
                        }
                    }
                });
                if let Some(from) = strangers.on_arrived(id, from, task.abort_handle()) {
                    let error = io::Error::other(
                        "it had not said who it is, and others came who might be nodes",
                    );
                    refusals.tell(from, &error, Instant::now());
                }
            }
            Err(error) => {
                tracing::debug!(%error, "cannot accept a connection from a node");
                sleep(RETRY).await;
            }
        }
    }
}

/// A connection that was welcomed.
struct Taken {
    stream: PeerSocket,
    id: u64,
    kind: ConnectionKind,
    queue: Rc<SendQueue>,
}

/// TLS; with the time by which hello and its answer have to follow.
async fn shake_hands(
    stream: TcpStream,
    from: SocketAddr,
    (handshakes, tls): (&Handshakes, Option<&NodeSide>),
    refusals: &Refusals,
) -> io::Result<(PeerSocket, Instant)> {
    let deadline = Instant::now() + ANSWER;
    stream.set_nodelay(true)?;
    let accepted = timeout_at(deadline, handshakes.accept(stream, tls)).await;
    let accepted = accepted.map_err(io::Error::from).flatten();
    match accepted {
        Ok(stream) => Ok((stream, deadline)),
        Err(error) => {
            refusals.tell(from, &error, Instant::now());
            Err(error)
        }
    }
}

async fn greet(
    mut stream: PeerSocket,
    from: SocketAddr,
    id: u64,
    events: &Events,
) -> io::Result<Option<Taken>> {
    let body = frame::read(&mut stream, HELLO_BYTES_MAX).await?;
    let hello = match on_hello(&body) {
        Greeted::Ok(hello) => hello,
        Greeted::Refused(refused) => {
            let refused = Answer::Refused(refused);
            frame::write(&mut stream, &refused.frame()).await?;
            return Ok(None);
        }
        Greeted::Stranger(what) => return Err(io::Error::other(what)),
    };
    let queue = Rc::new(SendQueue::default());
    let kind = hello.kind;
    let (answer, answered) = oneshot::channel();
    let arrived = Arrived {
        id,
        hello,
        from,
        queue: Rc::clone(&queue),
        answer,
    };
    let stopping = || io::Error::other("the node is stopping");
    let sent = events.send(Event::Arrived(arrived)).await;
    sent.map_err(|_| stopping())?;
    let answer = answered.await.map_err(|_| stopping())?;
    frame::write(&mut stream, &answer.frame()).await?;
    let is_welcome = matches!(answer, Answer::Welcome(_));
    Ok(is_welcome.then_some(Taken {
        stream,
        id,
        kind,
        queue,
    }))
}

async fn serve(taken: Taken, events: &Events) {
    let Taken {
        stream,
        id,
        kind,
        queue,
    } = taken;
    match kind {
        ConnectionKind::Control => {
            let (reader, mut writer) = tokio::io::split(stream);
            let error = tokio::select! {
                error = read_all(reader, Source::Arrived(id), events) => error,
                error = write_all(&mut writer, &queue) => error,
            };
            tracing::debug!(connection = id, %error, "a node's connection has ended");
            drop(events.send(Event::Left(id)).await);
        }
        ConnectionKind::Stream {
            from,
            to,
            connection,
        } => {
            let socket = match stream.into_loop() {
                Ok(socket) => socket,
                Err(error) => return tracing::warn!(%error, "a stream cannot be handed over"),
            };
            let stream = Stream {
                own: to,
                peer: from,
                direction: Direction::Incoming,
                connection,
                socket,
            };
            drop(events.send(Event::Stream(stream)).await);
        }
    }
}
