//! What all nodes count.
//!
//! In:  the catalog's nodes, and where their HTTP ports are. Out: each node's figures, or why there are none.
//!
//! A browser may ask its own node alone, so that one asks the others. Nodes let one another in as they let anybody in who asks for
//! `/status`: by a token of their own, which is the same on all nodes, or by none.
//!
//! Invariant: however many browsers ask, the others are asked once in [`AGE_MAX`].

use super::figures;
use crate::control::status::View;
use crate::control::tokens::Tokens;
use crate::reload::Current;
use brickyard_tls::Dialer;
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

/// How old figures may be.
const AGE_MAX: Duration = Duration::from_millis(800);

/// How long a node may take. What it says is in its memory.
const ANSWER_MAX: Duration = Duration::from_secs(1);

/// Longest answer: some hundred bytes a brick.
const ANSWER_BYTES_MAX: u64 = 256 << 10;

/// Nodes that are asked. A page that shows more is no picture.
const ASKED_MAX: usize = 64;

/// See the module.
#[derive(Debug)]
pub(super) struct Nodes {
    dialer: Option<Dialer>,
    has_tls: bool,
    tokens: Current<Arc<Tokens>>,
    seen: Mutex<Option<(Instant, Arc<Value>)>>,
}

impl Nodes {
    pub(super) fn new(dialer: Option<Dialer>, has_tls: bool, tokens: Current<Arc<Tokens>>) -> Self {
        Self {
            dialer,
            has_tls,
            tokens,
            seen: Mutex::default(),
        }
    }

    /// What is known now: an array of `{node, figures}` or `{node, why}`.
    pub(super) async fn look(&self, view: &View) -> Arc<Value> {
        let mut seen = self.seen.lock().await;
        if let Some((at, value)) = &*seen
            && at.elapsed() < AGE_MAX
        {
            return Arc::clone(value);
        }
        let value = Arc::new(self.ask(view).await);
        *seen = Some((Instant::now(), Arc::clone(&value)));
        value
    }

    async fn ask(&self, view: &View) -> Value {
        let Some(opened) = view.opened.get() else {
            return json!([]);
        };
        let me = opened.shared.identity.node;
        let catalog = opened.catalog.borrow().clone();
        let mut asked = JoinSet::new();
        for node in catalog.nodes().filter(|it| it.id != me).take(ASKED_MAX) {
            let addresses = &node.registration.addresses;
            let host = addresses.host.clone();
            let port = addresses.http_port;
            let (id, dialer) = (node.id.0, self.dialer.clone());
            let (token, has_tls) = (self.tokens.first(), self.has_tls);
            asked.spawn(async move {
                let answer = async {
                    let port = port.ok_or("it has no HTTP port")?;
                    let address = join(&host, port);
                    let tls = match (has_tls, dialer) {
                        (false, _) => None,
                        (true, Some(dialer)) => Some(dialer),
                        (true, None) => {
                            return Err(
                                "neither client_ca nor peer_ca says whom to believe".to_owned()
                            );
                        }
                    };
                    let got = timeout(ANSWER_MAX, fetch(&address, token.as_deref(), tls)).await;
                    let got = got.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
                    got.map_err(|error| error.to_string())
                };
                match answer.await {
                    Ok(figures) => json!({ "node": id, "figures": figures }),
                    Err(why) => json!({ "node": id, "why": why }),
                }
            });
        }
        let mut all = vec![json!({ "node": me.0, "figures": figures::figures(view) })];
        while let Some(answer) = asked.join_next().await {
            all.extend(answer);
        }
        all.sort_by_key(|it| it["node"].as_u64());
        Value::Array(all)
    }
}

/// `host:port`, with the brackets that an IPv6 address needs.
fn join(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

async fn fetch(address: &str, token: Option<&str>, tls: Option<Dialer>) -> io::Result<Value> {
    let stream = TcpStream::connect(address).await?;
    let Some(dialer) = tls else {
        return ask(stream, address, token).await;
    };
    let (config, name) = dialer.side(address).map_err(io::Error::other)?;
    let stream = TlsConnector::from(config).connect(name, stream).await?;
    ask(stream, address, token).await
}

async fn ask(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    address: &str,
    token: Option<&str>,
) -> io::Result<Value> {
    let authorization =
        token.map_or_else(String::new, |it| format!("Authorization: Bearer {it}\r\n"));
    let request =
        format!("GET /console/figures HTTP/1.0\r\nHost: {address}\r\n{authorization}\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    let read = stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await;
    // Whoever ends TLS without a word has said all the same.
    if let Err(error) = read
        && error.kind() != io::ErrorKind::UnexpectedEof
    {
        return Err(error);
    }
    read_answer(&answer)
}

fn read_answer(answer: &[u8]) -> io::Result<Value> {
    let strange = || io::Error::other("what it answered is no HTTP");
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n");
    let (head, body) = answer.split_at(end.ok_or_else(strange)?);
    let head = std::str::from_utf8(head).map_err(|_| strange())?;
    let status = head.split(' ').nth(1).ok_or_else(strange)?;
    match status {
        "200" => serde_json::from_slice(&body[4..]).map_err(io::Error::other),
        "401" => Err(io::Error::other("it has other http_tokens than this node")),
        "404" => Err(io::Error::other("it has no console")),
        other => Err(io::Error::other(format!("it answered {other}"))),
    }
}

#[cfg(test)]
mod nodes_test {
    use super::*;

    #[test]
    fn answer_is_read_or_its_fault_is_told() {
        let ok = b"HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n{\"node\": 3}";
        assert_eq!(read_answer(ok).unwrap()["node"], 3);
        for (answer, why) in [
            (&b"HTTP/1.0 401 Unauthorized\r\n\r\n"[..], "http_tokens"),
            (b"HTTP/1.0 404 Not Found\r\n\r\n", "no console"),
            (b"HTTP/1.0 500 Oh\r\n\r\n", "500"),
            (b"+OK\r\n", "no HTTP"),
            (b"", "no HTTP"),
        ] {
            let error = read_answer(answer).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn address_of_six_has_brackets() {
        assert_eq!(join("fe80::1", 7379), "[fe80::1]:7379");
        assert_eq!(join("n1.example", 7379), "n1.example:7379");
    }
}
