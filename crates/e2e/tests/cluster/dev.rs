//! `brickyard dev`: a trial cluster, and what one plays with it.

use brickyard_e2e::client::Client;
use brickyard_e2e::deadline::{PATIENCE, wait_for};
use brickyard_e2e::port::free_dev;
use brickyard_e2e::process::{Finished, Process, run};
use brickyard_e2e::server::program;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Starts that are tried before a test gives up.
const ATTEMPTS: usize = 5;

/// A `brickyard dev` that runs, and folders that stand for the user's.
struct Dev {
    process: Process,
    folder: TempDir,
}

impl Dev {
    /// Starts one at ports that are free. One of them may be taken in between: then at others.
    fn start(folder: TempDir, nodes: u16, arguments: &[&str]) -> Self {
        let mut folder = folder;
        for _ in 0..ATTEMPTS {
            let [nodes, port] = [nodes, free_dev(nodes)].map(|it| it.to_string());
            let all = [arguments, &["--nodes", &nodes, "--port", &port]].concat();
            match Self::try_start(folder, &all) {
                Ok(dev) => return dev,
                Err(left) => folder = left,
            }
        }
        panic!("another program took a port each time");
    }

    /// Starts one that must start.
    fn start_again(folder: TempDir, arguments: &[&str]) -> Self {
        Self::try_start(folder, arguments).expect("the ports of last time")
    }

    /// `Err`: a port is taken.
    fn try_start(folder: TempDir, arguments: &[&str]) -> Result<Self, TempDir> {
        std::fs::create_dir_all(folder.path().join("tmp")).unwrap();
        // Each run has an output of its own: what is waited for is not what the last one said.
        let outputs = std::fs::read_dir(folder.path()).unwrap().count();
        let log = folder.path().join(format!("output{outputs}"));
        let mut command = command(folder.path());
        let process = Process::start(command.args(arguments), &log);
        let mut dev = Self { process, folder };
        let is_up = wait_for("the greeting", || {
            let has_ended = dev.process.exit_status().is_some();
            let output = dev.process.output();
            if output.contains("Ctrl-C stops") {
                return Some(true);
            }
            let is_taken = ["Address already in use", "is taken"];
            let is_taken = is_taken.iter().any(|it| output.contains(it));
            assert!(!has_ended || is_taken, "it ended:\n{output}");
            has_ended.then_some(false)
        });
        if is_up { Ok(dev) } else { Err(dev.folder) }
    }

    /// The node ports, as the greeting has them.
    fn ports(&self) -> Vec<u16> {
        let output = self.process.output();
        let words = output.split("redis://127.0.0.1:").skip(1);
        let number = |text: &str| text.split_whitespace().next().unwrap().parse().unwrap();
        words.map(number).collect()
    }

    /// What another terminal asks of it.
    fn ask(&self, arguments: &[&str]) -> Finished {
        let mut command = command(self.folder.path());
        run(command.args(arguments), b"", PATIENCE).unwrap()
    }

    fn must(&self, arguments: &[&str]) -> String {
        let finished = self.ask(arguments);
        assert!(
            finished.status.success(),
            "{arguments:?}: {}",
            finished.text()
        );
        finished.stdout
    }

    fn stop(mut self, signal: &str) -> TempDir {
        self.process.signal(signal);
        let status = self.process.wait();
        assert!(status.success(), "{status}: {}", self.process.output());
        self.folder
    }
}

fn command(folder: &Path) -> Command {
    let mut command = program();
    command.arg("dev");
    command.env("TMPDIR", folder.join("tmp"));
    command.env("XDG_RUNTIME_DIR", folder);
    command
}

/// Waits until a command through a port has this reply.
fn wait_for_reply(port: u16, command: &[&str], wanted: &str) {
    wait_for(&format!("{command:?} to be {wanted}"), || {
        let reply = Client::try_connect(port)
            .and_then(|mut client| client.try_call(command))
            .ok()?;
        (reply.text() == wanted).then_some(())
    });
}

fn wait_until_closed(port: u16) {
    wait_for("a port to be closed", || {
        Client::try_connect(port).is_err().then_some(())
    });
}

#[test]
fn trial_cluster_is_played_with_and_is_there_again() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("trial");
    let dir_argument = dir.to_str().unwrap().to_owned();
    let arguments = ["--dir", &dir_argument];
    let dev = Dev::start(folder, 3, &arguments);
    let ports = dev.ports();
    assert_eq!(ports.len(), 3, "{}", dev.process.output());
    let mut client = Client::connect(ports[0]);
    for key in 0..100 {
        let key = format!("key{key}");
        assert_eq!(client.call(&["SET", &key, &key]).text(), "OK");
    }
    let mut other = Client::connect(ports[2]);
    for key in 0..100 {
        let key = format!("key{key}");
        assert_eq!(other.call(&["GET", &key]).text(), key);
    }

    // A second one in the same directory is refused, and changes nothing.
    let second = dev.ask(&arguments);
    assert!(!second.status.success());
    assert!(second.text().contains("already"), "{}", second.text());

    assert!(dev.must(&["kill", "2"]).contains("node 2 has ended"));
    wait_until_closed(ports[2]);
    let again = dev.ask(&["kill", "2"]);
    assert!(!again.status.success());
    assert!(again.text().contains("not running"), "{}", again.text());
    let nobody = dev.ask(&["start", "7"]);
    assert!(nobody.text().contains("0 to 2"), "{}", nobody.text());
    for key in 0..100 {
        wait_for_reply(ports[0], &["SET", &format!("key{key}"), "without"], "OK");
    }
    assert!(dev.must(&["start", "2"]).contains("node 2 serves at"));
    for key in 0..100 {
        wait_for_reply(ports[2], &["GET", &format!("key{key}")], "without");
    }
    assert!(
        dev.must(&["stop", "1", "--dir", &dir_argument])
            .contains("node 1")
    );
    let list = dev.must(&["list"]);
    assert_eq!(list.matches("running").count(), 2, "{list}");
    assert_eq!(list.matches("stopped").count(), 1, "{list}");
    dev.must(&["start", "1"]);

    // A node that dies by itself is told.
    let list = dev.must(&["list"]);
    let line = list.lines().next().unwrap();
    let id = line.rsplit(' ').next().unwrap();
    let killed = Command::new("sh")
        .args(["-c", &format!("kill -9 {id}")])
        .status();
    assert!(killed.unwrap().success());
    wait_for("word of the dead node", || {
        let output = dev.process.output();
        output.contains("Node 0 has ended by itself").then_some(())
    });
    let log = dir.join("logs/node0.log");
    assert!(std::fs::read_to_string(&log).unwrap().contains("READY"));

    // Stopped as a whole, started again: everything is there.
    let folder = dev.stop("TERM");
    for port in &ports {
        wait_until_closed(*port);
    }
    // The port is remembered.
    let dev = Dev::start_again(folder, &arguments);
    assert_eq!(dev.ports(), ports);
    for key in 0..100 {
        wait_for_reply(ports[1], &["GET", &format!("key{key}")], "without");
    }

    // Whatever ends it ends the nodes.
    let Dev {
        mut process,
        folder: _folder,
    } = dev;
    process.kill();
    for port in &ports {
        wait_until_closed(*port);
    }
}

#[test]
fn temporary_cluster_leaves_nothing_behind() {
    let dev = Dev::start(tempfile::tempdir().unwrap(), 2, &[]);
    let ports = dev.ports();
    assert_eq!(ports.len(), 2);
    wait_for_reply(ports[1], &["SET", "k", "v"], "OK");
    let folder = dev.stop("INT");
    for port in ports {
        wait_until_closed(port);
    }
    let left: Vec<PathBuf> = std::fs::read_dir(folder.path().join("tmp"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
