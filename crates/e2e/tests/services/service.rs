//! An instance of a service: a process that listens where it listened before, also after it was killed.

use brickyard_e2e::binary::example;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::{PATIENCE, try_wait_for};
use brickyard_e2e::http::{Answer, Site};
use brickyard_e2e::process::Process;
use brickyard_e2e::server::program_at;
use std::io::ErrorKind;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// What a service prints when it listens, behind where.
const READY: &str = " (Ctrl-C stops it)";

/// See the module.
pub(crate) struct Service {
    name: &'static str,
    arguments: Vec<String>,
    process: Option<Process>,
    port: u16,
    launches: usize,
    scratch: TempDir,
}

/// A service's program, with nothing from the environment.
pub(crate) fn program(name: &str, cluster: &Cluster) -> Command {
    let mut command = program_at(&example(name));
    command.arg("--cluster").arg(cluster.seeds().join(","));
    command
}

impl Service {
    /// Starts an instance on a free port.
    pub(crate) fn start(name: &'static str, cluster: &Cluster, arguments: &[&str]) -> Self {
        let seeds = cluster.seeds().join(",");
        let own = ["--cluster", &seeds]
            .into_iter()
            .chain(arguments.iter().copied());
        let mut service = Self {
            name,
            arguments: own.map(str::to_owned).collect(),
            process: None,
            port: 0,
            launches: 0,
            scratch: tempfile::tempdir().expect("a temporary folder"),
        };
        service.launch();
        service
    }

    /// Starts it where it was, until it listens: one that finds no cluster that answers ends, and is started again.
    pub(crate) fn launch(&mut self) {
        let port = try_wait_for(PATIENCE, || self.try_launch());
        self.port = port.unwrap_or_else(|| panic!("{} does not start", self.name));
    }

    fn try_launch(&mut self) -> Option<u16> {
        self.launches += 1;
        let log = self.scratch.path().join(format!("output{}", self.launches));
        let mut command = program_at(&example(self.name));
        command.args(&self.arguments);
        command
            .arg("--listen")
            .arg(format!("127.0.0.1:{}", self.port));
        let mut process = Process::start(&mut command, &log);
        let port = try_wait_for(PATIENCE, || match process.output().split_once(READY) {
            Some((said, _)) => {
                let (_, port) = said.trim_end_matches('/').rsplit_once(':')?;
                Some(port.parse::<u16>().ok())
            }
            None => process.exit_status().map(|_| None),
        });
        let port = port.flatten();
        match port {
            Some(_) => self.process = Some(process),
            None => println!(
                "{} has to be started again:\n{}",
                self.name,
                process.output()
            ),
        }
        port
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    pub(crate) fn signal(&self, signal: &str) {
        self.process.as_ref().expect("it runs").signal(signal);
    }

    /// Ends it as Ctrl-C does; what it said.
    pub(crate) fn stop(&mut self) -> String {
        let mut process = self.process.take().expect("it runs");
        process.signal("INT");
        let status = process.wait();
        let said = process.output();
        assert!(
            status.success(),
            "{} ended with {status}:\n{said}",
            self.name
        );
        said
    }
}

/// What became of a request.
pub(crate) enum Outcome {
    /// It was answered, also if with a refusal.
    Done(Answer),
    /// It was not executed, and will not be.
    NotDone,
    /// Nobody knows.
    Unknown,
}

/// Asks an instance that may fail meanwhile.
pub(crate) fn ask(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Outcome {
    match Site::local(port).try_ask(method, path, headers, body) {
        Ok(answer) => match answer.status {
            503 => Outcome::NotDone,
            status if status < 500 => Outcome::Done(answer),
            504 => Outcome::Unknown,
            status => panic!("{method} {path}: {status} {}", answer.body),
        },
        // Nobody listened, so nobody was asked.
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            // Only spares the processor until it is asked again.
            sleep(Duration::from_millis(2));
            Outcome::NotDone
        }
        Err(_) => Outcome::Unknown,
    }
}

/// Asks for what changes nothing until it is answered.
pub(crate) fn look(ports: &[u16], path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut turn = 0;
    let answered = try_wait_for(PATIENCE, || {
        turn += 1;
        match ask(ports[turn % ports.len()], "GET", path, headers, "") {
            Outcome::Done(answer) => Some(answer),
            Outcome::NotDone | Outcome::Unknown => None,
        }
    });
    answered.unwrap_or_else(|| panic!("nobody answers GET {path}"))
}
