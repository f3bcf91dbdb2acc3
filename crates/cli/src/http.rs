//! One question to a node's HTTP port.
//!
//! In:  an address, a path, a time limit. Out: the status and the body.
//!
//! Nodes answer with short JSON or text, so a client of forty lines does: HTTP/1.0, one question a connection.

use anyhow::{Context, bail};
use brickyard_tls::rustls::StreamOwned;
use brickyard_tls::{Dialer, in_words};
use std::{
    fmt,
    io::{ErrorKind, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    time::{Duration, Instant},
};

/// Longest answer that is taken: a status lists a bounded number of partitions, and every node and table.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// How nodes are asked.
#[derive(Clone, Default)]
pub(crate) struct Access {
    /// Under TLS, if there is somebody who dials so.
    pub(crate) tls: Option<Dialer>,
    /// Shown to nodes that ask for one.
    pub(crate) token: Option<String>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("tls", &self.tls.is_some())
            .field("token", &self.token.as_ref().map(|_| "***"))
            .finish()
    }
}

/// What a node said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// Asks `address` (host:port) for `path`, within `limit` as a whole.
pub(crate) fn get(
    address: &str,
    path: &str,
    limit: Duration,
    access: &Access,
) -> anyhow::Result<Answer> {
    let deadline = Instant::now() + limit;
    let url = access.url(address, path);
    let stream =
        connect(address, deadline).with_context(|| format!("cannot connect to {address}"))?;
    stream.set_write_timeout(Some(limit))?;
    let token = access.token.as_ref();
    let token = token.map_or_else(String::new, |it| format!("Authorization: Bearer {it}\r\n"));
    let request =
        format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n{token}Connection: close\r\n\r\n");
    let answered = match &access.tls {
        None => ask(stream, |stream| stream, &request, deadline),
        Some(dialer) => {
            let connection = dialer.connection(address)?;
            let stream = StreamOwned::new(connection, stream);
            ask(stream, |stream| &stream.sock, &request, deadline)
        }
    };
    let bytes = answered.with_context(|| format!("no answer from {url}"))?;
    parse(&bytes).context(url)
}

impl Access {
    /// What is asked, as people write it.
    pub(crate) fn url(&self, address: &str, path: &str) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{address}{path}")
    }
}

fn ask<S: Read + Write>(
    mut stream: S,
    socket: impl Fn(&S) -> &TcpStream,
    request: &str,
    deadline: Instant,
) -> anyhow::Result<Vec<u8>> {
    socket(&stream).set_read_timeout(Some(left(deadline)?))?;
    stream.write_all(request.as_bytes()).map_err(in_words)?;
    receive(&mut stream, socket, deadline)
}

fn left(deadline: Instant) -> anyhow::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        bail!("it took too long");
    }
    Ok(left)
}

fn connect(address: &str, deadline: Instant) -> anyhow::Result<TcpStream> {
    let mut last = anyhow::anyhow!("the name has no address");
    for candidate in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&candidate, left(deadline)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

fn receive<S: Read>(
    stream: &mut S,
    socket: impl Fn(&S) -> &TcpStream,
    deadline: Instant,
) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        socket(stream).set_read_timeout(Some(left(deadline)?))?;
        match stream.read(&mut chunk).map_err(in_words) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Whoever cuts the end off is found out by the length that the head says.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof && !bytes.is_empty() => {
                return Ok(bytes);
            }
            Err(error) => return Err(error.into()),
        }
        if bytes.len() > ANSWER_BYTES_MAX {
            bail!("the answer is longer than {ANSWER_BYTES_MAX} bytes");
        }
    }
}

fn parse(bytes: &[u8]) -> anyhow::Result<Answer> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let end =
        end.context("this is not HTTP; is it the port of HTTP (1000 above the node port)?")?;
    let head = std::str::from_utf8(&bytes[..end]).context("the head is not text")?;
    let body = &bytes[end + 4..];
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .filter(|line| line.starts_with("HTTP/"))
        .and_then(|line| line.split(' ').nth(1)?.parse().ok())
        .context("the answer has no status")?;
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    if length.is_some_and(|length| length != body.len()) {
        bail!("the answer was cut off");
    }
    Ok(Answer {
        status,
        body: body.to_vec(),
    })
}

#[cfg(test)]
#[path = "http_test.rs"]
mod http_test;
