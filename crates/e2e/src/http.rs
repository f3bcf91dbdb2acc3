//! HTTP as a browser or a program asks it: one request a connection.
//!
//! In:  where, what, which headers. Out: status, headers, body.

use crate::client::Stream;
use crate::deadline::PATIENCE;
use brickyard_tls::Dialer;
use serde_json::Value;
use std::io::{self, Read as _, Write as _};

/// Who is asked.
#[derive(Clone, Debug)]
pub struct Site {
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What its connections go by.
    pub tls: Option<Dialer>,
}

/// What it answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Such as 200.
    pub status: u16,
    head: String,
    /// What follows the headers.
    pub body: String,
}

impl Site {
    /// A port of this machine, in the clear.
    #[must_use]
    pub fn local(port: u16) -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port,
            tls: None,
        }
    }

    /// `host:port`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Asks for a page.
    ///
    /// # Panics
    /// If nobody answers.
    #[must_use]
    pub fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask("GET", path, headers, "")
    }

    /// Asks, with a body.
    ///
    /// # Panics
    /// If nobody answers.
    #[must_use]
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let answer = self.try_ask(method, path, headers, body);
        answer.unwrap_or_else(|error| panic!("{method} {}{path}: {error}", self.name()))
    }

    /// Asks, with a body.
    ///
    /// # Errors
    /// Nobody answers, or not in HTTP.
    pub fn try_ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> io::Result<Answer> {
        let mut stream = Stream::connect(&self.host, self.port, self.tls.as_ref())?;
        stream.socket().set_read_timeout(Some(PATIENCE))?;
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            request += &format!("Host: {}\r\n", self.name());
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes())?;
        // Not everybody ends the connection who is asked to.
        let mut answer = Vec::new();
        let mut part = [0; 16 * 1024];
        while !is_whole(&answer) {
            match stream.read(&mut part)? {
                0 => break,
                got => answer.extend_from_slice(&part[..got]),
            }
        }
        let answer = String::from_utf8(answer).map_err(io::Error::other)?;
        let no_http = || io::Error::other(format!("no HTTP: {answer}"));
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(no_http)?;
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        let body = match is_chunked(head) {
            true => unchunked(body).ok_or_else(no_http)?,
            false => body.to_owned(),
        };
        Ok(Answer {
            status: status.ok_or_else(no_http)?,
            head: head.to_owned(),
            body,
        })
    }
}

fn is_chunked(head: &str) -> bool {
    let head = head.to_ascii_lowercase();
    head.contains("\r\ntransfer-encoding: chunked")
}

/// What was sent in pieces, each behind its length; none: it is cut.
fn unchunked(mut rest: &str) -> Option<String> {
    let mut body = String::new();
    loop {
        let (length, from) = rest.split_once("\r\n")?;
        let length = usize::from_str_radix(length.trim(), 16).ok()?;
        if length == 0 {
            return Some(body);
        }
        body += from.get(..length)?;
        rest = from.get(length + 2..)?;
    }
}

/// Whether an answer has as many bytes behind its headers as it announces.
fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|it| it == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let mut lines = head.lines();
    let length = lines.find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    length.is_some_and(|length: usize| answer.len() >= end + 4 + length)
}

impl Answer {
    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1);
        let mut pairs = lines.filter_map(|line| line.split_once(": "));
        pairs.find_map(|(own, value)| own.eq_ignore_ascii_case(name).then_some(value))
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {} {}", self.status, self.body))
    }
}
