//! A connection to one of the node's own bricks.
//!
//! In:  commands. Out: replies. Invariant: after an error nothing more comes of it: what follows could be another command's reply.

use crate::control::status::View;
use brickyard_wire::{ReplyDecoder, ReplyLimits, ReplyStep, Value, encode_request};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// How long a command may take. Writes are answered within `write_timeout`, 5 s by default.
pub(super) const TIME_MAX: Duration = Duration::from_secs(10);

/// Longest reply: a page for people. Values are read in pieces.
const REPLY_BYTES_MAX: usize = 4 << 20;

/// See the module.
#[derive(Debug)]
pub(super) struct Link {
    stream: UnixStream,
    input: Vec<u8>,
    decoder: ReplyDecoder,
    /// The table that it works on, if not the one that its user starts in.
    table: Option<String>,
}

impl Link {
    /// To a brick, on behalf of somebody.
    ///
    /// # Errors
    /// The node is not open yet, or there is no such brick.
    pub(super) fn enter(view: &View, brick: usize, peer: SocketAddr) -> io::Result<Self> {
        let opened = view.opened.get();
        let doors = &opened.ok_or(io::ErrorKind::NotConnected)?.doors;
        let stream = doors.enter(brick, peer)?;
        stream.set_nonblocking(true)?;
        let limits = ReplyLimits {
            reply_bytes_max: REPLY_BYTES_MAX,
            ..ReplyLimits::default()
        };
        Ok(Self {
            stream: UnixStream::from_std(stream)?,
            input: Vec::new(),
            decoder: ReplyDecoder::new(limits),
            table: None,
        })
    }

    /// Whether the brick has ended it: as far as it waits for no reply, nothing else comes of it.
    pub(super) fn has_ended(&self) -> bool {
        match self.stream.try_read(&mut [0]) {
            Ok(_) => true,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }

    /// The reply to a command on a table; none: the one that the user starts in.
    pub(super) async fn call_on<A: AsRef<[u8]>>(
        &mut self,
        table: Option<&str>,
        words: &[A],
    ) -> io::Result<Value> {
        let called = async {
            match self.choose(table).await? {
                Some(refusal) => Ok(refusal),
                None => self.call(words).await,
            }
        };
        timeout(TIME_MAX, called).await?
    }

    /// The refusal, if the table cannot be worked on. The brick would end the connection: so it is asked first.
    async fn choose(&mut self, table: Option<&str>) -> io::Result<Option<Value>> {
        if self.table.as_deref() == table {
            return Ok(None);
        }
        let reply = match table {
            None => self.call(&["SELECT", "0"]).await?,
            Some(name) => {
                let list = self.call(&["TABLE", "LIST"]).await?;
                let names = match list.elements() {
                    Some(names) => names,
                    None => return Ok(Some(list)),
                };
                if !names.iter().any(|it| it.bytes() == Some(name.as_bytes())) {
                    let text = format!("ERR there is no table '{name}' that this user may use");
                    return Ok(Some(Value::Error(text.into_bytes())));
                }
                self.call(&["TABLE", "USE", name]).await?
            }
        };
        if reply.error().is_some() {
            return Ok(Some(reply));
        }
        self.table = table.map(str::to_owned);
        Ok(None)
    }

    /// Sends a command and waits for its reply.
    async fn call<A: AsRef<[u8]>>(&mut self, words: &[A]) -> io::Result<Value> {
        let mut request = Vec::new();
        encode_request(&mut request, words);
        self.stream.write_all(&request).await?;
        loop {
            let step = self.decoder.decode(&self.input);
            match step.map_err(io::Error::other)? {
                ReplyStep::Reply { consumed, value } => {
                    self.input.drain(..consumed);
                    return Ok(value);
                }
                ReplyStep::Incomplete { .. } => {
                    if self.stream.read_buf(&mut self.input).await? == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
            }
        }
    }
}
