//! A server that was started for measuring: pinned, watched, and stopped again.
//!
//! In:  a command line. Out: its processor time and memory, from /proc.
//!
//! Invariant: the server is gone when its [`Process`] is dropped.

use crate::{
    Link, Options, Report, Target,
    peer::{Found, Setup},
};
use anyhow::{Context, bail};
use brickyard_wire::Value;
use rustix::{
    param::clock_ticks_per_second,
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};
use std::{
    fs::{self, File},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The server's core, with all of its threads.
pub const SERVER_CORE: usize = 0;
/// The client's core.
pub const CLIENT_CORE: usize = 1;

/// Lines of a server's log that are shown when it fails.
const LAST_WORDS: usize = 10;

const START_LIMIT: Duration = Duration::from_secs(30);

/// A server is quiet that takes less than this share of a core for so long.
const QUIET_SHARE: f64 = 0.02;
const QUIET_SPAN: Duration = Duration::from_millis(300);
const QUIET_LIMIT: Duration = Duration::from_secs(60);

/// A running server.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
    /// Where it answers.
    pub target: Target,
}

/// Processor time of a process up to now: all of its threads, and the children that it forks to
/// rewrite its log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// In user mode, in steps of a clock tick (10 ms).
    user_s: f64,
    /// In the kernel, in steps of a clock tick.
    system_s: f64,
    /// Both together, to the nanosecond, where the kernel keeps it.
    exact_s: Option<f64>,
}

impl Cpu {
    fn add(&mut self, other: &Self) {
        self.user_s += other.user_s;
        self.system_s += other.system_s;
    }

    /// User and system time since `before`, in seconds: the exact sum where there is one, shared as
    /// the ticks are.
    #[must_use]
    pub fn since(&self, before: &Self) -> (f64, f64) {
        let (user, system) = (self.user_s - before.user_s, self.system_s - before.system_s);
        match (self.exact_s, before.exact_s) {
            // A thread that has ended takes its count along; the ticks still have it.
            (Some(now), Some(then)) if now > then && user + system > 0.0 => {
                let scale = (now - then) / (user + system);
                (user * scale, system * scale)
            }
            // Less than a tick: how it is shared is not known, how much it is.
            (Some(now), Some(then)) if now > then => (now - then, 0.0),
            _ => (user, system),
        }
    }
}

impl Process {
    /// Starts the server in a directory of its own under `dir` and waits until it answers.
    ///
    /// # Errors
    /// If it does not; the text has its last words.
    pub fn start(found: &Found, setup: &Setup, dir: &Path) -> anyhow::Result<Self> {
        let [port, brick_port] = free_ports().context("cannot find free ports")?;
        let process = Self::spawn(found, port, dir, |data| {
            found.command(setup, port, brick_port, data)
        })?;
        process.ready()
    }

    /// Starts the server with its node port at `port`, in a directory of its own under `dir`; it need not answer yet.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn spawn(
        found: &Found,
        port: u16,
        dir: &Path,
        command: impl FnOnce(&Path) -> Command,
    ) -> anyhow::Result<Self> {
        let mut target = Target::resp(format!("127.0.0.1:{port}"));
        target.protocol = found.peer.protocol();
        let name = format!("{}-{port}", found.peer.name().replace(' ', "-"));
        Self::spawn_on(Some(SERVER_CORE), &name, target, dir, command)
    }

    /// Starts any program on one core, or on all, in a directory under `dir` that has this name; it need not answer yet.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn spawn_on(
        core: Option<usize>,
        name: &str,
        target: Target,
        dir: &Path,
        command: impl FnOnce(&Path) -> Command,
    ) -> anyhow::Result<Self> {
        let data = dir.join(name);
        fs::create_dir_all(&data).with_context(|| format!("cannot make {}", data.display()))?;
        // Beside the data, not in it: a server may refuse a directory that holds strangers.
        let log = data.with_extension("log");
        let output = File::options().create(true).append(true).open(&log);
        let output = output.with_context(|| format!("cannot open {}", log.display()))?;
        let mut command = command(&data);
        command
            .stdin(Stdio::null())
            .stderr(output.try_clone()?)
            .stdout(output);
        let child = pinned_to(core, || command.spawn())?
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        Ok(Self { child, log, target })
    }

    /// Waits until it answers.
    ///
    /// # Errors
    /// If it ends or does not answer; the text has its last words.
    pub fn ready(mut self) -> anyhow::Result<Self> {
        let ready = self.wait_until_ready();
        ready.with_context(|| format!("a server did not start; {}", self.last_words()))?;
        Ok(self)
    }

    /// Runs a load against the server.
    ///
    /// # Errors
    /// As [`crate::run`], with what the server said last.
    pub fn run(&self, options: &Options) -> anyhow::Result<Report> {
        crate::run(options).with_context(|| self.last_words())
    }

    /// The end of what it wrote.
    #[must_use]
    pub fn last_words(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        let tail = &lines[lines.len().saturating_sub(LAST_WORDS)..];
        format!("the server's last words:\n{}\n", tail.join("\n"))
    }

    fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let begin = Instant::now();
        while begin.elapsed() < START_LIMIT {
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended with {status}");
            }
            // A connection is enough: a server that is still loading answers with an error that the
            // filling run would report.
            if Link::open(&self.target).is_ok() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!(
            "it does not accept connections after {} s",
            START_LIMIT.as_secs()
        )
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its processor time up to now.
    ///
    /// # Errors
    /// If it is gone.
    pub fn cpu(&self) -> anyhow::Result<Cpu> {
        let id = self.child.id();
        let path = format!("/proc/{id}/stat");
        let stat = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let ticks_per_s = clock_ticks_per_second();
        let (mut cpu, ended) =
            cpu_of(&stat, ticks_per_s).with_context(|| format!("cannot understand {path}"))?;
        cpu.exact_s = exact_cpu_s(id).map(|own| own + ended.user_s + ended.system_s);
        cpu.add(&ended);
        for child in children_of(id) {
            // It may end at any moment, and is then among those that have ended.
            let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            if let Some((running, _)) = cpu_of(&stat, ticks_per_s) {
                cpu.exact_s = cpu
                    .exact_s
                    .zip(exact_cpu_s(child))
                    .map(|(sum, more)| sum + more);
                cpu.add(&running);
            }
        }
        Ok(cpu)
    }

    /// Waits until the server does next to nothing by itself, within bounds.
    ///
    /// # Errors
    /// If it is gone.
    pub fn wait_until_quiet(&self) -> anyhow::Result<()> {
        let begin = Instant::now();
        let mut before = self.cpu()?;
        while begin.elapsed() < QUIET_LIMIT {
            thread::sleep(QUIET_SPAN);
            let now = self.cpu()?;
            let (user_s, system_s) = now.since(&before);
            if user_s + system_s < QUIET_SHARE * QUIET_SPAN.as_secs_f64() {
                break;
            }
            before = now;
        }
        Ok(())
    }

    /// Of a Brickyard: bytes that went into its log since it began, and those of them that its cleaner moved.
    #[must_use]
    pub fn log_bytes(&self) -> Option<(u64, u64)> {
        let mut link = Link::open(&self.target).ok()?;
        let Ok(Value::Bulk(info)) = link.call(&["INFO", "persistence"]) else {
            return None;
        };
        let info = String::from_utf8_lossy(&info).into_owned();
        let field = |name: &str| {
            let line = info.lines().find_map(|line| line.strip_prefix(name))?;
            line.strip_prefix(':')?.trim().parse().ok()
        };
        Some((
            field("log_appended_bytes")?,
            field("log_clean_moved_bytes")?,
        ))
    }

    /// Resident memory, in bytes.
    ///
    /// # Errors
    /// If it is gone.
    pub fn resident_bytes(&self) -> anyhow::Result<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok())
            .map(|kilobytes| kilobytes * 1024)
            .with_context(|| format!("{path} has no VmRSS; is the server still running?"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its data is thrown away, so there is nothing to end gracefully for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `work` with this thread on `core`, or on all; a child started in it inherits the pin, before it has any
/// threads that could escape. Without that many cores, nothing is pinned.
///
/// # Errors
/// If the operating system refuses.
pub fn pinned_to<T>(core: Option<usize>, work: impl FnOnce() -> T) -> anyhow::Result<T> {
    let before = sched_getaffinity(None).context("cannot read which cores may be used")?;
    match core {
        Some(core) => pin(core)?,
        None => unpin()?,
    }
    let result = work();
    sched_setaffinity(None, &before).context("cannot unpin")?;
    Ok(result)
}

/// Keeps this thread on `core`, if the machine has it.
///
/// # Errors
/// If the operating system refuses.
pub fn pin(core: usize) -> anyhow::Result<()> {
    if can_pin() {
        let mut one = CpuSet::new();
        one.set(core);
        sched_setaffinity(None, &one).with_context(|| format!("cannot pin to core {core}"))?;
    }
    Ok(())
}

/// Gives this thread all cores of the machine again.
///
/// # Errors
/// If the operating system refuses.
pub fn unpin() -> anyhow::Result<()> {
    let mut all = CpuSet::new();
    for core in 0..cores().min(CpuSet::MAX_CPU) {
        all.set(core);
    }
    sched_setaffinity(None, &all).context("cannot unpin")
}

/// Whether there is a core for the server and another for the client.
#[must_use]
pub fn can_pin() -> bool {
    thread::available_parallelism().is_ok_and(|cores| cores.get() >= 2) || is_pinned()
}

/// Once pinned, this process sees one core only; the machine still has the others.
fn is_pinned() -> bool {
    cores() >= 2
}

/// Cores of the machine, whatever this thread may use of them.
#[must_use]
pub fn cores() -> usize {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let lines = text.lines().filter(|line| line.starts_with("processor"));
    lines.count().max(1)
}

/// So many ports of loopback that nobody has now.
///
/// # Errors
/// If the operating system has none.
pub fn free_ports<const COUNT: usize>() -> std::io::Result<[u16; COUNT]> {
    // Held together, so that they differ; given back just before the server takes them.
    let mut held = Vec::with_capacity(COUNT);
    let mut ports = [0; COUNT];
    for port in &mut ports {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}

/// The sum of what the scheduler has counted for each thread of process `id`; `None` if the kernel does not.
fn exact_cpu_s(id: u32) -> Option<f64> {
    let mut sum_ns = 0u64;
    for task in fs::read_dir(format!("/proc/{id}/task")).ok()? {
        let text = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        sum_ns += text.split_ascii_whitespace().next()?.parse::<u64>().ok()?;
    }
    (sum_ns > 0).then_some(sum_ns as f64 / 1e9)
}

/// Seconds, since the machine started, for which the host gave the server's core to others; 0 where it does not tell.
#[must_use]
pub fn stolen_s() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let core = format!("cpu{SERVER_CORE}");
    stolen_of(&stat, &core, clock_ticks_per_second()).unwrap_or(0.0)
}

/// The same of all cores together.
#[must_use]
pub fn stolen_of_all_s() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    stolen_of(&stat, "cpu", clock_ticks_per_second()).unwrap_or(0.0)
}

/// Reads a core's stolen time out of /proc/stat, by the name of its line.
fn stolen_of(stat: &str, name: &str, ticks_per_s: u64) -> Option<f64> {
    let mut lines = stat.lines().map(str::split_ascii_whitespace);
    let mut fields = lines.find_map(|mut fields| (fields.next()? == name).then_some(fields))?;
    // user, nice, system, idle, iowait, irq, softirq, steal
    Some(fields.nth(7)?.parse::<u64>().ok()? as f64 / ticks_per_s as f64)
}

/// Processes that process `id` has forked from its first thread, and that run.
fn children_of(id: u32) -> Vec<u32> {
    fs::read_to_string(format!("/proc/{id}/task/{id}/children"))
        .unwrap_or_default()
        .split_ascii_whitespace()
        .filter_map(|child| child.parse().ok())
        .collect()
}

/// Reads user and system time out of a line of /proc/PID/stat: its own, and that of its children which have ended.
fn cpu_of(stat: &str, ticks_per_s: u64) -> Option<(Cpu, Cpu)> {
    // The second field is the program's name in parentheses, and may hold spaces and parentheses.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let mut seconds = || Some(fields.next()?.parse::<u64>().ok()? as f64 / ticks_per_s as f64);
    let mut cpu = || {
        Some(Cpu {
            user_s: seconds()?,
            system_s: seconds()?,
            exact_s: None,
        })
    };
    Some((cpu()?, cpu()?))
}

#[cfg(test)]
#[path = "process_test.rs"]
mod process_test;
