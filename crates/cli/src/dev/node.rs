//! One node's process, and the task that looks after it.
//!
//! In:  orders; the end of the process. Out: an answer to each order; a line to the terminal if the process
//! ended unasked.

use super::ports::Ports;
use crate::http::Access;
use anyhow::Context as _;
use brickyard_torture::Network;
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs::File,
    io,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    rc::Rc,
};
use tokio::{
    process::{Child, Command},
    sync::{mpsc, oneshot, watch},
};

/// What a node is started with.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) number: usize,
    pub(crate) host: String,
    pub(crate) ports: Ports,
    pub(crate) bricks: u16,
    pub(crate) data: PathBuf,
    pub(crate) log: PathBuf,
    /// The node ports of all nodes, `host:port`; none for one that founds the cluster.
    pub(crate) join: Vec<String>,
    /// Where the nodes have a network that can be cut.
    pub(crate) network: Option<Rc<Network>>,
    /// Further arguments of `brickyard server`.
    pub(crate) settings: Vec<String>,
    /// How it is asked over HTTP.
    pub(crate) access: Access,
}

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Start,
    /// By SIGKILL: nothing is handed over, nothing is synced.
    Kill,
    /// By SIGTERM.
    Stop,
    /// By SIGSTOP: it stands still, and knows nothing of it.
    Pause,
    /// By SIGCONT.
    Resume,
}

/// How the process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProcessState {
    /// Never started, or ended as it was told to.
    Ended,
    /// With this process id.
    Running(u32),
    /// Ended by itself.
    Died(String),
}

/// What became of an order, in words.
pub(crate) type Answer = Result<String, String>;

/// A node, as the cluster sees it.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) launch: Launch,
    pub(crate) process_state: watch::Receiver<ProcessState>,
    orders: mpsc::UnboundedSender<(Order, oneshot::Sender<Answer>)>,
}

impl Node {
    /// Looks after a node; it is not started yet.
    pub(crate) fn new(launch: Launch) -> Self {
        let (orders, from_cluster) = mpsc::unbounded_channel();
        let (state_out, process_state) = watch::channel(ProcessState::Ended);
        let keeper = Keeper {
            launch: launch.clone(),
            child: None,
            process_state: state_out,
            waiting: Vec::new(),
        };
        tokio::task::spawn_local(keeper.run(from_cluster));
        Self {
            launch,
            process_state,
            orders,
        }
    }

    /// Orders something and waits until it is done.
    pub(crate) async fn order(&self, order: Order) -> Answer {
        let (reply, answer) = oneshot::channel();
        let gone = || format!("node {} is not looked after any more", self.launch.number);
        let asked = self.orders.send((order, reply));
        asked.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(*self.process_state.borrow(), ProcessState::Running(_))
    }
}

struct Keeper {
    launch: Launch,
    child: Option<Child>,
    process_state: watch::Sender<ProcessState>,
    /// Who waits for the end of the process.
    waiting: Vec<oneshot::Sender<Answer>>,
}

impl Keeper {
    async fn run(mut self, mut orders: mpsc::UnboundedReceiver<(Order, oneshot::Sender<Answer>)>) {
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some((order, reply)) => self.obey(order, reply),
                    None => return,
                },
                status = ended(&mut self.child) => self.on_end(status),
            }
        }
    }

    fn obey(&mut self, order: Order, reply: oneshot::Sender<Answer>) {
        let number = self.launch.number;
        let result = match (order, &mut self.child) {
            (Order::Start, None) => {
                match self.launch.command().and_then(|mut it| Ok(it.spawn()?)) {
                    Ok(child) => {
                        let id = child.id().unwrap_or_default();
                        self.process_state.send_replace(ProcessState::Running(id));
                        self.child = Some(child);
                        Ok(format!("node {number} is started"))
                    }
                    Err(error) => Err(format!("node {number} cannot be started: {error:#}")),
                }
            }
            (Order::Start, Some(_)) => Err(format!("node {number} is running already")),
            (_, None) => Err(format!("node {number} is not running")),
            (Order::Pause, Some(child)) => signalled(number, send(child, Signal::STOP)),
            (Order::Resume, Some(child)) => signalled(number, send(child, Signal::CONT)),
            (Order::Kill | Order::Stop, Some(child)) => {
                let signal = if order == Order::Kill {
                    Signal::KILL
                } else {
                    Signal::TERM
                };
                match send(child, signal) {
                    Ok(()) => return self.waiting.push(reply),
                    failed => signalled(number, failed),
                }
            }
        };
        // Whoever asked may have gone.
        drop(reply.send(result));
    }

    fn on_end(&mut self, status: io::Result<ExitStatus>) {
        let number = self.launch.number;
        self.child = None;
        let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        if self.waiting.is_empty() {
            eprintln!(
                "Node {number} has ended by itself ({how}); its log is {}. \
                 `brickyard dev start {number}` starts it again.",
                self.launch.log.display()
            );
            self.process_state.send_replace(ProcessState::Died(how));
            return;
        }
        self.process_state.send_replace(ProcessState::Ended);
        for reply in self.waiting.drain(..) {
            drop(reply.send(Ok(format!("node {number} has ended ({how})"))));
        }
    }
}

/// The end of the process, if there is one.
async fn ended(child: &mut Option<Child>) -> io::Result<ExitStatus> {
    match child {
        Some(child) => child.wait().await,
        None => std::future::pending().await,
    }
}

fn signalled(number: usize, sent: io::Result<()>) -> Answer {
    match sent {
        Ok(()) => Ok(format!("node {number} was told so")),
        Err(error) => Err(format!("node {number} cannot be told anything: {error}")),
    }
}

fn send(child: &Child, signal: Signal) -> io::Result<()> {
    let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    // One that has just ended is reported by its own event.
    id.map_or(Ok(()), |id| Ok(kill_process(id, signal)?))
}

impl Launch {
    /// Where the node takes any key.
    pub(crate) fn node_address(&self) -> String {
        format!("{}:{}", self.host, self.ports.node)
    }

    /// Where the node answers questions about itself.
    pub(crate) fn http_address(&self) -> String {
        format!("{}:{}", self.host, self.ports.http)
    }

    fn command(&self) -> anyhow::Result<Command> {
        let program = std::env::current_exe().context("the program's own file is not known")?;
        let log = File::options().create(true).append(true).open(&self.log);
        let log = log.with_context(|| format!("cannot open {}", self.log.display()))?;
        let address = |port: u16| format!("{}:{port}", self.host);
        let mut command = match &self.network {
            Some(network) => {
                let program = std::process::Command::new(program);
                Command::from(network.inside(self.number, &program))
            }
            None => Command::new(program),
        };
        command
            .args(["server", "--stop-with", &std::process::id().to_string()])
            .args(["--listen", &address(self.ports.node)])
            .args(["--brick-port", &self.ports.bricks().start().to_string()])
            .args(["--http", &address(self.ports.http)])
            .args(["--peer-port", &self.ports.peer.to_string()])
            .args(["--bricks", &self.bricks.to_string()])
            .args(["--log-format", "text"])
            .arg("--data")
            .arg(&self.data)
            .stdin(Stdio::null())
            .stdout(log.try_clone().context("cannot share the log")?)
            .stderr(log)
            // Ctrl-C at the terminal is for the one that looks after them, which tells them in its way.
            .process_group(0)
            .kill_on_drop(true);
        if !self.join.is_empty() {
            command.args(["--join", &self.join.join(",")]);
        }
        command.args(&self.settings);
        if self.network.is_some() {
            // There is no user, and the address is not loopback; it is nobody else's, though.
            command.arg("--insecure");
        }
        Ok(command)
    }
}
