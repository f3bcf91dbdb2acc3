//! Child processes that end with the value that started them, and whose output is shown on failure.

use crate::deadline::{PATIENCE, try_wait_for};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Lines of a process's output that a failing test prints.
const LINES_SHOWN: usize = 20;

/// A running child process.
#[derive(Debug)]
pub struct Process {
    child: Child,
    name: String,
    log: PathBuf,
}

impl Process {
    /// Starts `command` with its output appended to `log`.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start(command: &mut Command, log: &Path) -> Self {
        let name = command.get_program().to_string_lossy().into_owned();
        let output = File::options()
            .create(true)
            .append(true)
            .open(log)
            .expect("the log file can be opened");
        let errors = output.try_clone().expect("the log file can be shared");
        let child = command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {name}: {error}"));
        Self {
            child,
            name,
            log: log.to_owned(),
        }
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be waited for")
    }

    /// Kills it without warning (`SIGKILL`) and waits until it is gone.
    pub fn kill(&mut self) {
        // It may have ended by itself already; gone is what was asked for.
        drop(self.child.kill());
        self.child.wait().expect("a killed child can be waited for");
    }

    /// Sends a signal by name, e.g. `TERM` or `STOP`.
    ///
    /// # Panics
    /// If `kill` cannot be run.
    pub fn signal(&self, name: &str) {
        // The shell's builtin, since the standard library only knows SIGKILL and minimal machines have
        // no kill program.
        let status = Command::new("sh")
            .args(["-c", &format!("kill -{name} {}", self.id())])
            .status()
            .expect("sh can be started");
        assert!(
            status.success(),
            "could not send SIG{name} to {}",
            self.name
        );
    }

    /// Waits until it has ended by itself.
    ///
    /// # Panics
    /// If it has not after [`PATIENCE`].
    pub fn wait(&mut self) -> ExitStatus {
        try_wait_for(PATIENCE, || self.exit_status())
            .unwrap_or_else(|| panic!("{} does not end; its output:\n{}", self.name, self.output()))
    }

    /// What it has written so far.
    #[must_use]
    pub fn output(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Resident memory in bytes, from the kernel's account of the process.
    ///
    /// # Panics
    /// If the process is gone.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        self.account("VmRSS:")
            .and_then(|it| it.strip_suffix("kB")?.trim().parse::<u64>().ok())
            .map(|kib| kib * 1024)
            .expect("the kernel reports VmRSS in kB")
    }

    /// Whether the process may have huge pages.
    ///
    /// # Panics
    /// If the process is gone.
    #[must_use]
    pub fn may_have_huge_pages(&self) -> bool {
        self.account("THP_enabled:").as_deref() == Some("1")
    }

    /// What the kernel's account of the process says there.
    fn account(&self, name: &str) -> Option<String> {
        let path = format!("/proc/{}/status", self.id());
        let status = fs::read_to_string(path).expect("the process is alive");
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let output = self.output();
            let lines: Vec<&str> = output.lines().collect();
            let shown = &lines[lines.len().saturating_sub(LINES_SHOWN)..];
            eprintln!(
                "--- end of the output of {} ---\n{}",
                self.name,
                shown.join("\n")
            );
        }
    }
}

/// What a program that ran to its end left behind.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output.
    pub stdout: String,
    /// The same as it came.
    pub stdout_bytes: Vec<u8>,
    /// Standard error.
    pub stderr: String,
}

impl Finished {
    /// Both outputs, for messages and for tests that do not care which one it was.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// Runs a program to its end, with `input` on its standard input.
///
/// # Errors
/// If it cannot be started, or is still running after `patience` (it is killed then).
pub fn run(command: &mut Command, input: &[u8], patience: Duration) -> io::Result<Finished> {
    let folder = tempfile::tempdir()?;
    let [stdin, stdout, stderr] =
        ["stdin", "stdout", "stderr"].map(|name| folder.path().join(name));
    fs::write(&stdin, input)?;
    // Files rather than pipes: nothing has to be pumped while we wait with a deadline.
    let mut child = command
        .stdin(File::open(&stdin)?)
        .stdout(File::create(&stdout)?)
        .stderr(File::create(&stderr)?)
        .spawn()?;
    let status = try_wait_for(patience, || child.try_wait().ok().flatten());
    if status.is_none() {
        child.kill()?;
        child.wait()?;
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let stdout_bytes = fs::read(&stdout)?;
    let (stdout, stderr) = (text(&stdout_bytes), text(&fs::read(&stderr)?));
    match status {
        Some(status) => Ok(Finished {
            status,
            stdout,
            stdout_bytes,
            stderr,
        }),
        None => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("still running after {patience:?}; it wrote:\n{stdout}{stderr}"),
        )),
    }
}
