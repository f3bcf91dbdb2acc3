//! What another `brickyard dev` asks of the one that looks after a cluster: kill, stop, start, list.
//!
//! In:  a line on the socket in the cluster's directory. Out: `ok` or `no`, and words for people.

use super::{
    cluster::{Cluster, serving},
    node::{Order, ProcessState},
    place::{find, socket_of},
};
use anyhow::{Context as _, bail};
use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    rc::Rc,
};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

/// Longest request that is read.
const REQUEST_BYTES_MAX: u64 = 128;

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Kill(usize),
    Stop(usize),
    Start(usize),
    List,
}

impl Request {
    fn line(self) -> String {
        match self {
            Self::Kill(node) => format!("kill {node}\n"),
            Self::Stop(node) => format!("stop {node}\n"),
            Self::Start(node) => format!("start {node}\n"),
            Self::List => "list\n".to_owned(),
        }
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let verb = words.next()?;
        let node = words.next().map(str::parse::<usize>);
        match (verb, node) {
            ("kill", Some(Ok(node))) => Some(Self::Kill(node)),
            ("stop", Some(Ok(node))) => Some(Self::Stop(node)),
            ("start", Some(Ok(node))) => Some(Self::Start(node)),
            ("list", None) => Some(Self::List),
            _ => None,
        }
    }
}

/// Asks the cluster in `dir`, or the one that runs, and prints what it says.
pub(crate) fn ask(request: Request, dir: Option<&Path>) -> anyhow::Result<()> {
    let place = find(dir)?;
    let socket = socket_of(&place);
    let mut stream = UnixStream::connect(&socket)
        .with_context(|| format!("cannot connect to {}", socket.display()))?;
    stream.write_all(request.line().as_bytes())?;
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    read.context("the cluster ended before it answered")?;
    match answer.split_once('\n') {
        Some(("ok", text)) => std::io::stdout().write_all(text.as_bytes())?,
        Some(("no", text)) => bail!("{}", text.trim_end()),
        _ => bail!("the cluster ended before it answered"),
    }
    Ok(())
}

/// Answers whoever asks, for ever.
pub(super) async fn answer(listener: &tokio::net::UnixListener, cluster: &Rc<Cluster>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let cluster = Rc::clone(cluster);
                tokio::task::spawn_local(async move {
                    // Whoever asked may have gone.
                    drop(converse(stream, &cluster).await);
                });
            }
            Err(error) => {
                eprintln!("brickyard dev: cannot be asked for anything more: {error}");
                std::future::pending::<()>().await;
            }
        }
    }
}

async fn converse(mut stream: tokio::net::UnixStream, cluster: &Cluster) -> std::io::Result<()> {
    let (input, mut output) = stream.split();
    let mut line = String::new();
    let mut input = BufReader::new(input.take(REQUEST_BYTES_MAX));
    input.read_line(&mut line).await?;
    let result = match Request::parse(&line) {
        Some(request) => execute(request, cluster).await,
        None => Err(format!("'{}' is no request", line.trim_end())),
    };
    let answer = match result {
        Ok(text) => format!("ok\n{text}\n"),
        Err(text) => format!("no\n{text}\n"),
    };
    output.write_all(answer.as_bytes()).await?;
    output.shutdown().await
}

async fn execute(request: Request, cluster: &Cluster) -> Result<String, String> {
    match request {
        Request::Kill(node) => cluster.node(node)?.order(Order::Kill).await,
        Request::Stop(node) => cluster.node(node)?.order(Order::Stop).await,
        Request::Start(number) => {
            let node = cluster.node(number)?;
            node.order(Order::Start).await?;
            serving(node).await.map_err(|error| format!("{error:#}"))?;
            let port = node.launch.ports.node;
            Ok(format!("node {number} serves at 127.0.0.1:{port}"))
        }
        Request::List => {
            let line = |node: &super::node::Node| {
                let launch = &node.launch;
                let how = match &*node.process_state.borrow() {
                    ProcessState::Running(id) => format!("running, process {id}"),
                    ProcessState::Ended => "stopped".to_owned(),
                    ProcessState::Died(how) => format!("ended by itself: {how}"),
                };
                let (port, http) = (launch.ports.node, launch.ports.http);
                format!(
                    "node {}  127.0.0.1:{port}  http 127.0.0.1:{http}  {how}",
                    launch.number
                )
            };
            let lines: Vec<String> = cluster.nodes.iter().map(line).collect();
            Ok(lines.join("\n"))
        }
    }
}

#[cfg(test)]
mod remote_test {
    use super::*;

    #[test]
    fn requests_are_read_as_they_are_written() {
        for request in [
            Request::Kill(2),
            Request::Stop(0),
            Request::Start(15),
            Request::List,
        ] {
            assert_eq!(Request::parse(&request.line()), Some(request));
        }
        for line in ["", "kill", "kill x", "kill -1", "explode 2", "list 1"] {
            assert_eq!(Request::parse(line), None, "{line}");
        }
    }
}
