//! One connection: a user's, or for a message another gateway's.
//!
//! In:  lines. Out: an answer to each, and what comes for the user meanwhile.

use crate::gateway::{Gateway, LINES_MAX, Told};
use crate::line::{LINE_BYTES_MAX, Line};
use crate::post;
use crate::store::Binding;
use brickyard_client::Error;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// Takes connections for ever.
pub(crate) async fn accept(gateway: &Arc<Gateway>, listener: &TcpListener) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, or a client that left: others may still come.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            continue;
        };
        let gateway = Arc::clone(gateway);
        tokio::spawn(async move {
            let mut session = Session::new(gateway);
            // A broken connection is how many users leave.
            let _ = session.run(stream).await;
            session.leave().await;
        });
    }
}

struct Session {
    gateway: Arc<Gateway>,
    /// While the user is signed on.
    binding: Option<Binding>,
    told: mpsc::Sender<Told>,
    tellings: mpsc::Receiver<Told>,
}

impl Session {
    fn new(gateway: Arc<Gateway>) -> Self {
        let (told, tellings) = mpsc::channel(LINES_MAX);
        Self {
            gateway,
            binding: None,
            told,
            tellings,
        }
    }

    async fn run(&mut self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let (input, mut output) = stream.split();
        let mut input = BufReader::new(input);
        // What was read of a line stays here while something is told in between.
        let mut line = Vec::new();
        loop {
            let left = LINE_BYTES_MAX.saturating_sub(line.len() as u64);
            let mut bounded = (&mut input).take(left);
            let answer = tokio::select! {
                read = bounded.read_until(b'\n', &mut line) => {
                    let got = read?;
                    if line.last() != Some(&b'\n') {
                        if got > 0 && (line.len() as u64) < LINE_BYTES_MAX {
                            continue;
                        }
                        return Ok(());
                    }
                    let text = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
                    line.clear();
                    match self.answer(&text).await {
                        Some(answer) => answer,
                        None => return Ok(()),
                    }
                }
                Some(told) = self.tellings.recv() => match told {
                    Told::Message(message) => message,
                    Told::Gone(binding) => {
                        // He may have signed on again meanwhile.
                        if self.binding.as_ref() != Some(&binding) {
                            continue;
                        }
                        self.binding = None;
                        "GONE".to_owned()
                    }
                },
            };
            output.write_all(format!("{answer}\n").as_bytes()).await?;
        }
    }

    /// The answer to a line; none: the session ends.
    async fn answer(&mut self, line: &str) -> Option<String> {
        let answer = match Line::parse(line) {
            Err(wrong) => format!("ERR {wrong}"),
            Ok(Line::On(user)) => self.sign_on(user).await,
            Ok(Line::Off) => self.sign_off().await,
            Ok(Line::Where(user)) => match self.gateway.bindings.find(user).await {
                Ok(Some(address)) => format!("AT {address}"),
                Ok(None) => "NOWHERE".to_owned(),
                Err(error) => told(&error),
            },
            Ok(Line::Send { to, text }) => match &self.binding {
                Some(binding) => post::send(&self.gateway, to, &binding.user, text).await,
                None => "ERR sign on first: ON user".to_owned(),
            },
            Ok(Line::Deliver { to, from, text }) => {
                let is_here = self.gateway.deliver(to, from, text);
                if is_here { "OK" } else { "NOWHERE" }.to_owned()
            }
            Ok(Line::Quit) => return None,
        };
        Some(answer)
    }

    async fn sign_on(&mut self, user: &str) -> String {
        if self.binding.is_some() {
            return "ERR sign off first: OFF".to_owned();
        }
        match self.gateway.sign_on(user, self.told.clone()).await {
            Ok(Some(binding)) => {
                self.binding = Some(binding);
                "OK".to_owned()
            }
            Ok(None) => "AGAIN the user is signing on or off elsewhere".to_owned(),
            Err(error) => told(&error),
        }
    }

    async fn sign_off(&mut self) -> String {
        let Some(binding) = self.binding.take() else {
            return "GONE".to_owned();
        };
        match self.gateway.sign_off(&binding).await {
            Ok(true) => "OK".to_owned(),
            Ok(false) => "GONE".to_owned(),
            Err(error) => told(&error),
        }
    }

    /// The connection has ended. Where the table does not answer, the lease ends the binding.
    async fn leave(&mut self) {
        if let Some(binding) = self.binding.take() {
            let _ = self.gateway.sign_off(&binding).await;
        }
    }
}

/// What a user is told of an error.
fn told(error: &Error) -> String {
    let word = if error.is_not_executed() {
        "AGAIN"
    } else {
        "UNKNOWN"
    };
    format!("{word} {error}").replace('\n', " ")
}
