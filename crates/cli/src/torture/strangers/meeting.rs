//! One stranger at one port.
//!
//! In:  a script, an address, patience. Out: what was answered.

use super::answer::{self, Answer, Ending};
use super::arsenal::Arsenal;
use super::kind::{Script, Step};
use anyhow::Context as _;
use brickyard_tls::Session;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout_at};

/// Between two bytes of somebody slow.
pub(super) const DRIP: Duration = Duration::from_millis(100);

/// No more of an answer is kept.
const HEARD_BYTES_MAX: usize = 64 << 10;

/// A stranger's end of a connection.
struct Stranger {
    socket: TcpStream,
    session: Option<Session>,
    /// As it came.
    bare: Vec<u8>,
    /// What that said under TLS.
    plain: Vec<u8>,
    /// What its own end of TLS ended with.
    error: Option<String>,
    has_ended: bool,
}

/// Connects, does what the script says, and listens until the port closes or patience ends.
pub(super) async fn meet(
    arsenal: &Arsenal,
    script: Script,
    port: u16,
    patience: Duration,
) -> anyhow::Result<Answer> {
    let begin = Instant::now();
    let session = script.shows.map(|it| arsenal.session(it)).transpose()?;
    let until = begin + patience;
    let connected = timeout_at(until, TcpStream::connect((super::arsenal::HOST, port))).await;
    let Ok(Ok(socket)) = connected else {
        return Ok(Answer {
            said: String::new(),
            ending: Ending::NotTaken,
            after: begin.elapsed(),
        });
    };
    socket
        .set_nodelay(true)
        .context("a stranger's own socket")?;
    let mut stranger = Stranger {
        socket,
        session,
        bare: Vec::new(),
        plain: Vec::new(),
        error: None,
        has_ended: false,
    };
    let met = timeout_at(until, stranger.play(script.steps)).await;
    let ending = if met.is_ok() {
        Ending::Closed
    } else {
        Ending::Open
    };
    Ok(Answer {
        said: stranger.said(),
        ending,
        after: begin.elapsed(),
    })
}

impl Stranger {
    /// Comes back when the port has closed.
    async fn play(&mut self, steps: Vec<Step>) {
        // However it goes wrong, the end is heard: what is said before it counts.
        drop(self.act(steps).await);
        while !self.has_ended {
            self.hear().await;
        }
    }

    async fn act(&mut self, steps: Vec<Step>) -> io::Result<()> {
        self.flush().await?;
        while self.session.as_ref().is_some_and(Session::is_handshaking) && !self.has_ended {
            self.hear().await;
        }
        for step in steps {
            match step {
                Step::Send(bytes) => self.send(&bytes).await?,
                Step::SendBare(bytes) => self.send_bare(&bytes).await?,
                Step::Drip(bytes) => {
                    for byte in bytes {
                        self.send_bare(&[byte]).await?;
                        self.pause().await;
                    }
                }
                Step::DripUnderTls(bytes) => {
                    for byte in bytes {
                        self.send(&[byte]).await?;
                        self.pause().await;
                    }
                }
            }
        }
        Ok(())
    }

    /// Hears meanwhile.
    async fn pause(&mut self) {
        let pause = sleep(DRIP);
        tokio::pin!(pause);
        while !self.has_ended {
            tokio::select! {
                () = &mut pause => return,
                () = self.hear() => {}
            }
        }
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(session) = &mut self.session else {
            return self.send_bare(bytes).await;
        };
        let mut sent = 0;
        while sent < bytes.len() {
            let taken = match &self.error {
                None if !session.is_handshaking() => session.encrypt(&bytes[sent..]),
                _ => 0,
            };
            if taken == 0 {
                // It was sent away.
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            sent += taken;
            let mut out = Vec::new();
            session.send_to(&mut out)?;
            self.socket.write_all(&out).await?;
        }
        Ok(())
    }

    async fn send_bare(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.has_ended {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.socket.write_all(bytes).await
    }

    async fn flush(&mut self) -> io::Result<()> {
        let mut out = Vec::new();
        if let Some(session) = &mut self.session {
            session.send_to(&mut out)?;
        }
        self.socket.write_all(&out).await
    }

    /// Takes what comes next, and answers as TLS wants it.
    async fn hear(&mut self) {
        let mut chunk = [0; 4096];
        let got = match self.socket.read(&mut chunk).await {
            // A reset is an end too.
            Ok(0) | Err(_) => {
                self.has_ended = true;
                return;
            }
            Ok(got) => &chunk[..got],
        };
        if self.bare.len() < HEARD_BYTES_MAX {
            self.bare.extend_from_slice(got);
        }
        if self.error.is_none()
            && let Some(session) = &mut self.session
        {
            if let Err(error) = session.receive(got, &mut self.plain) {
                self.error = Some(answer::error(&error));
            }
            // Its own alert may find nobody any more.
            drop(self.flush().await);
        }
    }

    fn said(&self) -> String {
        match (&self.error, &self.session) {
            (Some(error), _) if self.plain.is_empty() => error.clone(),
            (Some(error), _) => format!("{}, {error}", answer::lines(&self.plain)),
            (None, Some(session)) if session.is_handshaking() => answer::bare(&self.bare),
            (None, Some(_)) => answer::lines(&self.plain),
            (None, None) => answer::bare(&self.bare),
        }
    }
}
