//! A real redis-server of this test's own, on a free port of the loopback.

use brickyard_command::OwnedArgs;
use brickyard_wire::{Protocol, encode_request};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the server may take to answer its first connection.
const START_SECONDS_MAX: u64 = 20;

pub(crate) struct Redis {
    child: Child,
    connection: BufReader<TcpStream>,
    _directory: tempfile::TempDir,
}

impl Redis {
    /// Starts a server; `None` if there is no `redis-server` of version 7.0 to start.
    pub(crate) fn start() -> Option<Self> {
        let version = Command::new("redis-server").arg("--version").output();
        let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        match version {
            Ok(version) if version.contains("v=7.0.") => {}
            Ok(version) => {
                println!(
                    "skipped: needs redis-server 7.0, found \"{}\"; on Debian 12: apt-get install redis-server",
                    version.trim()
                );
                return None;
            }
            Err(_) => {
                println!(
                    "skipped: no redis-server on the PATH; on Debian 12: apt-get install redis-server"
                );
                return None;
            }
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        // The port is free when the listener goes; nothing else on this machine asks for it.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr())
            .expect("a free port")
            .port();
        let mut child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--save", "", "--appendonly", "no"])
            .args(["--proto-max-bulk-len", "67108864"])
            .arg("--dir")
            .arg(directory.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server starts");
        let deadline = Instant::now() + Duration::from_secs(START_SECONDS_MAX);
        let stream = loop {
            match TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
                Ok(stream) => break stream,
                Err(error) if Instant::now() > deadline => {
                    let _ = child.kill();
                    panic!("redis-server does not answer on port {port}: {error}");
                }
                Err(_) => std::thread::yield_now(),
            }
        };
        stream.set_nodelay(true).expect("a TCP socket");
        Some(Self {
            child,
            connection: BufReader::new(stream),
            _directory: directory,
        })
    }

    /// Sends the requests to an empty server and returns the bytes of each reply.
    pub(crate) fn run(&mut self, protocol: Protocol, requests: &[OwnedArgs]) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        let version = protocol.version().to_string();
        encode_request(&mut out, &["HELLO", &version]);
        encode_request(&mut out, &["FLUSHALL"]);
        for request in requests {
            let arguments: Vec<&[u8]> = request.as_args().from(0).collect();
            encode_request(&mut out, &arguments);
        }
        // Replies are small, so that the server never waits for us to read while we write.
        self.connection
            .get_mut()
            .write_all(&out)
            .expect("redis-server reads");
        self.read_reply();
        self.read_reply();
        requests.iter().map(|_| self.read_reply()).collect()
    }

    fn read_reply(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.read_value(&mut bytes);
        bytes
    }

    fn read_value(&mut self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        self.connection
            .read_until(b'\n', bytes)
            .expect("redis-server answers");
        let line = &bytes[start..];
        let number = || -> i64 {
            let text = String::from_utf8_lossy(&line[1..]);
            text.trim_end().parse().expect("a length")
        };
        match line
            .first()
            .expect("redis-server keeps the connection open")
        {
            b'$' | b'=' => {
                if let Ok(len) = u64::try_from(number()) {
                    let body = self.connection.by_ref().take(len + 2).read_to_end(bytes);
                    assert_eq!(body.expect("redis-server answers") as u64, len + 2);
                }
            }
            b'*' | b'~' | b'>' => (0..number()).for_each(|_| self.read_value(bytes)),
            b'%' => (0..2 * number()).for_each(|_| self.read_value(bytes)),
            _ => {}
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
