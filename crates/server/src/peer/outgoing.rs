//! A connection to a node, dialed again whenever it is gone.

use super::frame;
use super::{Event, Events, SendQueue};
use crate::config::HostPort;
use crate::reload::Current;
use crate::tls::{NoTls, PeerSocket};
use brickyard_metadata::NodeKey;
use brickyard_node::peer::{
    ANSWER, CONNECT, ConnectionKind, Greeted, HELLO_BYTES_MAX, HandshakeRefused, Introduction,
    MESSAGE_BYTES_MAX, Redial, WRITE, Welcome, on_answer,
};
use brickyard_node::{Message, Source, Target};
use brickyard_tls::NodeSide;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

/// The connection; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) queue: Rc<SendQueue>,
    task: AbortHandle,
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Dialer {
    target: Target,
    address: HostPort,
    /// Whose data directory should answer there.
    expected: Option<NodeKey>,
    introduction: Rc<RefCell<Introduction>>,
    queue: Rc<SendQueue>,
    tls: Current<NodeSide>,
    events: Events,
}

/// Why a connection ended, or never was.
enum Ended {
    Io(io::Error),
    Refused(HandshakeRefused),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Outgoing {
    /// Keeps a connection to `address` as long as it lives.
    pub(crate) fn start(
        target: Target,
        address: HostPort,
        expected: Option<NodeKey>,
        introduction: Rc<RefCell<Introduction>>,
        tls: Current<NodeSide>,
        events: Events,
    ) -> Self {
        let queue = Rc::new(SendQueue::default());
        let dialer = Dialer {
            target,
            address,
            expected,
            introduction,
            queue: Rc::clone(&queue),
            tls,
            events,
        };
        Self {
            queue,
            task: tokio::task::spawn_local(dialer.run()).abort_handle(),
        }
    }
}

impl Dialer {
    async fn run(self) {
        let mut redial = Redial::default();
        let mut told = None;
        loop {
            let (ended, was_connected) = self.connect().await;
            self.queue.clear();
            if was_connected {
                redial.on_connected();
                told = None;
                self.tell(Event::Lost(self.target.clone())).await;
            }
            match ended {
                Ended::Io(error) => {
                    // The operator has to do something about it, but need not hear of each attempt.
                    let reason = error.get_ref().and_then(|it| it.downcast_ref::<NoTls>());
                    if let Some(reason) = reason.filter(|reason| told.as_ref() != Some(*reason)) {
                        tracing::warn!(address = %self.address, %reason, "no TLS with a node");
                        told = Some(reason.clone());
                    }
                    tracing::debug!(address = %self.address, %error, "no connection to a node");
                }
                Ended::Refused(refused) => {
                    redial.on_refused();
                    self.tell(Event::Refused(self.target.clone(), refused))
                        .await;
                }
            }
            sleep(redial.pause()).await;
        }
    }

    async fn tell(&self, event: Event) {
        // Without the driver there is nobody to tell, and this task is about to be dropped.
        drop(self.events.send(event).await);
    }

    /// One connection from its beginning to its end; whether it ever came about.
    async fn connect(&self) -> (Ended, bool) {
        let hello = self
            .introduction
            .borrow()
            .hello(ConnectionKind::Control)
            .frame();
        let (stream, welcome) = match greet(
            &self.address,
            &hello,
            self.expected,
            self.tls.now().as_ref(),
        )
        .await
        {
            Ok(greeted) => greeted,
            Err(ended) => return (ended, false),
        };
        self.queue.clear();
        self.tell(Event::Welcomed(self.target.clone(), welcome))
            .await;
        let (reader, mut writer) = tokio::io::split(stream);
        let source = Source::Dialed(self.target.clone());
        let error = tokio::select! {
            error = read_all(reader, source, &self.events) => error,
            error = write_all(&mut writer, &self.queue) => error,
        };
        (error.into(), true)
    }
}

/// Connects, says hello and hears the answer.
async fn greet(
    address: &HostPort,
    hello: &[u8],
    expected: Option<NodeKey>,
    tls: Option<&NodeSide>,
) -> Result<(PeerSocket, Welcome), Ended> {
    let connecting = brickyard_tcp::connect((address.host.as_str(), address.port));
    let stream = timeout(CONNECT, connecting)
        .await
        .map_err(io::Error::from)??;
    let answer = async {
        let mut stream = PeerSocket::dialed(stream, tls).await?;
        frame::write(&mut stream, hello).await?;
        let answer = frame::read(&mut stream, HELLO_BYTES_MAX).await?;
        Ok::<_, io::Error>((stream, answer))
    };
    let (stream, answer) = timeout(ANSWER, answer).await.map_err(io::Error::from)??;
    match on_answer(&answer, expected) {
        Greeted::Ok(welcome) => Ok((stream, welcome)),
        Greeted::Refused(refused) => Err(Ended::Refused(refused)),
        Greeted::Stranger(what) => Err(io::Error::other(what).into()),
    }
}

/// As [`greet`], for streams: any refusal is an error in words.
pub(super) async fn greet_stream(
    address: &HostPort,
    hello: &[u8],
    tls: Option<&NodeSide>,
) -> io::Result<PeerSocket> {
    match greet(address, hello, None, tls).await {
        Ok((stream, _)) => Ok(stream),
        Err(Ended::Refused(refused)) => Err(io::Error::other(refused.to_string())),
        Err(Ended::Io(error)) => Err(error),
    }
}

/// Passes messages on until the connection ends; why it did.
pub(super) async fn read_all(
    mut reader: impl AsyncRead + Unpin,
    source: Source,
    events: &Events,
) -> io::Error {
    loop {
        let body = match frame::read(&mut reader, MESSAGE_BYTES_MAX).await {
            Ok(body) => body,
            Err(error) => return error,
        };
        let Some(message) = Message::read(&body) else {
            return io::Error::other("a message that cannot be understood");
        };
        let event = Event::Received(source.clone(), message);
        if events.send(event).await.is_err() {
            return io::Error::other("the node is stopping");
        }
    }
}

/// Sends what waits, until the connection ends; why it did.
pub(super) async fn write_all(
    writer: &mut (impl AsyncWrite + Unpin),
    queue: &SendQueue,
) -> io::Error {
    loop {
        let Some(frame) = queue.next().await else {
            return io::Error::other("the life that its node had when it was made is over");
        };
        match timeout(WRITE, frame::write(writer, &frame)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return error,
            Err(elapsed) => return elapsed.into(),
        }
    }
}
