//! `brickyard status`: how a cluster is.
//!
//! In:  the HTTP port of any node. Out: nodes, tables, partitions; an exit code for scripts.
//! The work is in `crate::status`.

use crate::{
    exit::NOT_WHOLE,
    http::{self, Access},
    status::{collect, report::Report, text},
    target::with_port,
    tls::TlsArguments,
};
use anyhow::{Context as _, bail};
use clap::Args;
use std::{
    io::{self, IsTerminal as _, Write as _},
    process::ExitCode,
    time::{Duration, Instant},
};

const HTTP_DEFAULT: &str = "127.0.0.1:7379";

/// HTTP's port is so far above the node port, unless a node is told otherwise.
const HTTP_ABOVE: u16 = 1000;

/// Names the nodes to ask, where the flag does not.
const ADDRESSES: &str = "BRICKYARD_STATUS_HTTP";

/// How long a node may take to say whether it serves.
const READY_LIMIT: Duration = Duration::from_secs(2);

/// How often it is looked whether something is missing still.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// What is shown to nodes that ask for a token.
const TOKEN: &str = "BRICKYARD_HTTP_TOKEN";

const EXPLANATION: &str = "\
The node that is asked names the others, and each is asked for its lease, version and bricks.
BRICKYARD_HTTP_TOKEN has the token that they ask for, if they do (http_tokens).

Exit codes:
  0  every partition is served and has all its copies, every node is up, nothing is damaged
  1  no node answered
  4  something is missing; the first lines say what

States of a partition, the worst first:
  unserved          its primary is on a node that is down
  short             it has fewer copies in sync than the table's MIN_IN_SYNC: writes are refused
  under-replicated  it has fewer copies in sync than the table's REPLICAS
  changing          another primary or other members are about to take over
  learning          a copy more than there need be is catching up
  in sync           as it should be";

/// What `brickyard status` takes.
#[derive(Args, Debug)]
#[command(after_help = EXPLANATION)]
pub(crate) struct Arguments {
    /// HTTP ports of nodes, HOST:PORT,...; the first that answers is asked (1000 above its node port)
    #[arg(long, value_name = "HOST:PORT", env = ADDRESSES, default_value = HTTP_DEFAULT, value_delimiter = ',')]
    http: Vec<String>,
    /// Instead of --http: node ports, HOST:PORT,..., as the other commands have them; HTTP is 1000 above
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    address: Vec<String>,
    /// Say only whether the node that is asked serves, for health checks: 0 if so, 4 if not yet or no more
    #[arg(long, conflicts_with_all = ["watch", "bricks", "json"])]
    ready: bool,
    /// Wait until nothing is missing, at most so many seconds: between two nodes that are restarted, say; with --ready, until
    /// the node serves
    #[arg(long, value_name = "SECONDS", conflicts_with = "watch")]
    wait: Option<u64>,
    /// Show it again and again, until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// Time between two looks, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 1.0,
        requires = "watch"
    )]
    every: f64,
    /// Show the bricks too
    #[arg(long)]
    bricks: bool,
    /// Print JSON; with --watch a line a look
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    tls: TlsArguments,
}

impl Arguments {
    /// The HTTP ports to ask.
    fn asked(&self) -> anyhow::Result<Vec<String>> {
        if self.address.is_empty() {
            return Ok(self.http.clone());
        }
        self.address.iter().map(|it| http_of(it)).collect()
    }

    /// Until when what is waited for may take.
    fn deadline(&self) -> Instant {
        Instant::now() + Duration::from_secs(self.wait.unwrap_or(0))
    }

    fn access(&self) -> anyhow::Result<Access> {
        Ok(Access {
            tls: self.tls.dialer()?,
            token: std::env::var(TOKEN).ok().map(token).transpose()?,
        })
    }
}

/// Where HTTP is of a node whose node port that is, unless it was told otherwise.
fn http_of(node: &str) -> anyhow::Result<String> {
    let node = with_port(node);
    let http = node.rsplit_once(':').and_then(|(host, port)| {
        let port = port.parse::<u16>().ok()?.checked_add(HTTP_ABOVE)?;
        Some(format!("{host}:{port}"))
    });
    http.with_context(|| format!("{node}: no port is {HTTP_ABOVE} above; name HTTP's with --http"))
}

/// What can be sent in a header: a line end in it would be another header.
fn token(text: String) -> anyhow::Result<String> {
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        bail!("{TOKEN} is no token; give one line of the nodes' http_tokens");
    }
    Ok(token.to_owned())
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.watch {
        watch(arguments)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.ready {
        return ready(arguments);
    }
    let report = look(arguments)?;
    let mut output = io::stdout().lock();
    if arguments.json {
        writeln!(output, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        write!(output, "{}", text::render(&report, arguments.bricks))?;
    }
    Ok(if report.is_whole {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(NOT_WHOLE)
    })
}

/// Whether the node serves, as it says itself: no other is asked, and it asks for no token.
fn ready(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let [address] = &arguments.asked()?[..] else {
        bail!("--ready asks one node; name one with --http or --address");
    };
    let access = Access {
        tls: arguments.tls.dialer()?,
        token: None,
    };
    let deadline = arguments.deadline();
    loop {
        let answer = http::get(address, "/readyz", READY_LIMIT, &access);
        let is_ready = answer.as_ref().is_ok_and(|answer| answer.status == 200);
        if is_ready || Instant::now() + LOOK_EVERY >= deadline {
            print!("{}", String::from_utf8_lossy(&answer?.body));
            return Ok(if is_ready {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(NOT_WHOLE)
            });
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// One look, or the one that is whole; once the time to wait for it is over, whatever there is then.
fn look(arguments: &Arguments) -> anyhow::Result<Report> {
    let (asked, access) = (arguments.asked()?, arguments.access()?);
    let deadline = arguments.deadline();
    loop {
        let report = collect::snapshot(&asked, &access).map(|it| Report::new(&it));
        let is_whole = report.as_ref().is_ok_and(|report| report.is_whole);
        if is_whole || Instant::now() + LOOK_EVERY >= deadline {
            return report;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Looks for ever. A node that was asked and does not answer any more is no end: others are asked.
fn watch(arguments: &Arguments) -> anyhow::Result<()> {
    let pause = Duration::try_from_secs_f64(arguments.every.max(0.1))
        .context("--every: choose a number of seconds")?;
    let asked = arguments.asked()?;
    let mut known = asked.clone();
    let access = arguments.access()?;
    let is_terminal = io::stdout().is_terminal();
    loop {
        let text = match collect::snapshot(&known, &access) {
            Ok(snapshot) => {
                let report = Report::new(&snapshot);
                let others = report.nodes.iter().filter_map(|node| node.http.clone());
                known = asked.iter().cloned().chain(others).collect();
                known.dedup();
                if arguments.json {
                    serde_json::to_string(&report)? + "\n"
                } else {
                    text::render(&report, arguments.bricks)
                }
            }
            Err(error) if arguments.json => {
                serde_json::json!({ "error": format!("{error:#}") }).to_string() + "\n"
            }
            Err(error) => format!("{error:#}\n"),
        };
        let mut output = io::stdout().lock();
        if is_terminal && !arguments.json {
            // To the top of an empty screen.
            write!(output, "\x1b[H\x1b[2J")?;
        }
        output.write_all(text.as_bytes())?;
        if !is_terminal && !arguments.json {
            output.write_all(b"\n")?;
        }
        output.flush()?;
        drop(output);
        std::thread::sleep(pause);
    }
}

#[cfg(test)]
mod status_test {
    use super::http_of;

    #[test]
    fn http_is_above_the_node_port() {
        let of = |node: &str| http_of(node).ok();
        assert_eq!(of("n1:7001").as_deref(), Some("n1:8001"));
        assert_eq!(of("n1").as_deref(), Some("n1:7379"));
        assert_eq!(of("[::1]:6379").as_deref(), Some("[::1]:7379"));
        assert_eq!(of("n1:65000"), None);
    }
}
