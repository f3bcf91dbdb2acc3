//! Nodes for tests, on free ports, and ways to look at them.

use brickyard_server::config::{
    ByteSize, Config, Fields, HostPort, HostPorts, HttpListen, LogFormat,
};
use brickyard_server::{ListenAddresses, RunningNode, Signals, StartError, Stopper};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Whatever takes longer is broken.
const DEADLINE: Duration = Duration::from_secs(45);

/// A node that has its ports and directory before it is started, and keeps them over restarts.
pub(crate) struct Machine {
    pub(crate) config: Config,
    _directory: TempDir,
}

/// A node that is starting, or runs.
pub(crate) struct Started {
    thread: Option<JoinHandle<Result<RunningNode, StartError>>>,
    node: Option<RunningNode>,
    stopper: Option<Stopper>,
    pub(crate) http: SocketAddr,
}

/// Four ports in a row that are free and that no other test of this process is given: the node's, its
/// brick's, the one for nodes, HTTP's. Below those that the system gives to connections.
fn free_ports() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let begin = std::process::id() * 64;
    loop {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let first = 11_000 + ((begin + step * 4) % 20_000) as u16;
        let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if (first..first + 4).all(is_free) {
            return first;
        }
    }
}

/// Shows what the nodes log, if `BRICKYARD_TEST_LOG` has levels.
fn show_log() {
    if let Ok(levels) = std::env::var("BRICKYARD_TEST_LOG") {
        // Another test of this process may have done it.
        drop(brickyard_server::log::start(LogFormat::Text, &levels));
    }
}

/// So many machines that know each other's addresses.
pub(crate) fn machines(count: usize, expect: u32) -> Vec<Machine> {
    let mut machines: Vec<Machine> = (0..count).map(|_| machine()).collect();
    // The peers' ports are not at the usual distance: each is told by its own port.
    let seeds: Vec<HostPort> = machines
        .iter()
        .map(|it| HostPort {
            host: "127.0.0.1".to_owned(),
            port: it.config.peer_port,
        })
        .collect();
    for machine in &mut machines {
        machine.meet(&seeds);
        machine.config.fields.expect = expect;
    }
    machines
}

/// One that knows nobody.
pub(crate) fn machine() -> Machine {
    show_log();
    let directory = tempfile::tempdir().expect("a directory");
    let listen = free_ports();
    let (peer, http) = (listen + 2, listen + 3);
    let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let fields = Fields {
        listen: at(listen),
        http: HttpListen::At(at(http)),
        peer_port: peer,
        data: directory.path().join("data").display().to_string(),
        bricks: 1,
        segment_bytes: ByteSize::mebibytes(4),
        stop_timeout: Duration::from_secs(3),
        ..Fields::default()
    };
    Machine {
        config: Config {
            fields,
            ..Config::default()
        },
        _directory: directory,
    }
}

impl Machine {
    /// Names the nodes to be joined, by their ports for nodes.
    pub(crate) fn meet(&mut self, peers: &[HostPort]) {
        let fields = &mut self.config.fields;
        let offset = fields.peer_port.wrapping_sub(fields.listen.port());
        fields.join = HostPorts(
            peers
                .iter()
                .map(|peer| HostPort {
                    host: peer.host.clone(),
                    port: peer.port.wrapping_sub(offset),
                })
                .collect(),
        );
    }

    pub(crate) fn peer(&self) -> HostPort {
        HostPort {
            host: "127.0.0.1".to_owned(),
            port: self.config.peer_port,
        }
    }

    /// Starts it; it may have to wait for others.
    pub(crate) fn start(&self) -> Started {
        let config = self.config.clone();
        let HttpListen::At(http) = config.http else {
            panic!("HTTP is on");
        };
        let thread = std::thread::spawn(move || RunningNode::start(&config, Signals::Ignore));
        Started {
            thread: Some(thread),
            node: None,
            stopper: None,
            http,
        }
    }
}

impl Started {
    fn node(&mut self) -> &RunningNode {
        if let Some(thread) = self.thread.take() {
            let node = thread.join().expect("no panic").expect("the node starts");
            self.stopper = Some(node.stopper());
            self.node = Some(node);
        }
        self.node.as_ref().expect("started before")
    }

    pub(crate) fn addresses(&mut self) -> ListenAddresses {
        self.node().addresses().clone()
    }

    pub(crate) fn client(&mut self) -> Client {
        Client::connect(self.addresses().node)
    }

    /// `/status`, if the node answers.
    pub(crate) fn status(&self) -> Option<Value> {
        let mut stream = TcpStream::connect(self.http).ok()?;
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .ok()?;
        let request = "GET /status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let (_, body) = text.split_once("\r\n\r\n")?;
        serde_json::from_str(body).ok()
    }

    /// Stops it as an operator does.
    pub(crate) fn stop(mut self) {
        self.node();
        let node = self.node.take().expect("started");
        node.stopper().stop();
        node.wait();
    }
}

/// Polls until it is so; what was seen last is told if it never is.
pub(crate) fn until<T: std::fmt::Debug>(what: &str, mut check: impl FnMut() -> Result<(), T>) {
    let started = Instant::now();
    loop {
        let Err(seen) = check() else { return };
        assert!(started.elapsed() < DEADLINE, "{what}: {seen:#?}");
        std::thread::yield_now();
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Waits until all of these serve, in one cluster of so many nodes and voters, with one leader and the
/// same catalog.
pub(crate) fn until_agreed(nodes: &[&Started], count: usize, voters: usize) {
    until("the nodes agree", || {
        let seen: Vec<Option<Value>> = nodes.iter().map(|node| node.status()).collect();
        let field = |value: &Value, path: &str| value.pointer(path).cloned().unwrap_or_default();
        let is_one = |path: &str| {
            let mut values = seen.iter().flatten().map(|it| field(it, path));
            let first = values.next().unwrap_or_default();
            !first.is_null() && values.all(|it| it == first)
        };
        let len = |value: &Value, path: &str| field(value, path).as_array().map_or(0, Vec::len);
        let is_well = seen.iter().all(|status| {
            status.as_ref().is_some_and(|it| {
                field(it, "/phase") == "ready"
                    && len(it, "/nodes") == count
                    && len(it, "/membership/voters") == voters
            })
        });
        let agreed = [
            "/cluster",
            "/catalog_version",
            "/membership/leader",
            "/membership/term",
        ];
        if is_well && agreed.into_iter().all(is_one) {
            Ok(())
        } else {
            let seen = seen.iter().flatten().map(|it| {
                (
                    field(it, "/phase"),
                    field(it, "/membership"),
                    field(it, "/catalog_version"),
                    len(it, "/nodes"),
                )
            });
            Err(seen.collect::<Vec<_>>())
        }
    });
}

pub(crate) struct Client(BufReader<TcpStream>);

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connected");
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .expect("a timeout");
        Self(BufReader::new(stream))
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a reply");
        line.trim_end().to_owned()
    }

    /// The first line of the reply, or the value of a bulk string.
    pub(crate) fn call(&mut self, command: &str) -> String {
        let request = format!("{command}\r\n");
        self.0
            .get_mut()
            .write_all(request.as_bytes())
            .expect("sent");
        let line = self.line();
        let len = line
            .strip_prefix('$')
            .and_then(|len| len.parse::<usize>().ok());
        let Some(len) = len else { return line };
        let mut value = vec![0; len + 2];
        self.0.read_exact(&mut value).expect("a value");
        String::from_utf8_lossy(&value[..len]).into_owned()
    }
}
