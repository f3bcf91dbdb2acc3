//! A suite: the sources of a release of Redis or Valkey, of which its tests are copied, and one unit of it run.
//!
//! In:  a folder with `runtest`, `tests/` and `src/version.h`; a port. Out: what the runner prints.
//!
//! Invariants:
//! - The copy differs from the original by [`EDITS`] alone, which change how the runner prepares a server, and no test.

use super::servers::Port;
use crate::planted::patience;
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, io};

/// A unit may take so long.
const PATIENCE: Duration = Duration::from_secs(600);

/// And be silent for so long, in seconds.
const SILENCE: &str = "60";

/// So many ports the runner tries.
const RUNNER_PORTS: u32 = 32;

/// Tags of tests that need what a server like ours does not have.
const DENIED: &str = "-needs:debug -needs:pfdebug -needs:repl -needs:config-maxmemory";

/// What the runner does, and a server like ours may refuse: it asks before a unit, and goes on; and settings of Redis's own
/// encodings it keeps to itself.
const EDITS: [(&str, &str, &str); 3] = [
    (
        "tests/support/server.tcl",
        "\n    r function flush\n",
        "\n    catch {r function flush}\n",
    ),
    (
        "tests/support/server.tcl",
        "        r config set $param $val\n",
        "        catch {r config set $param $val}\n",
    ),
    (
        "tests/test_helper.tcl",
        "    [srv $level \"client\"] {*}$args\n",
        "    if {[regexp -nocase {^config (get|set) ((hash|list|set|zset|stream)-max-|hz|latency-monitor-threshold|lua-time-limit|busy-reply-threshold)} $args]} {return {}}\n    [srv $level \"client\"] {*}$args\n",
    ),
];

/// A copy of a suite.
#[derive(Debug)]
pub(super) struct Suite {
    /// `redis` or `valkey`.
    pub(super) name: String,
    pub(super) version: String,
    folder: PathBuf,
    /// The names of its units, in order.
    pub(super) units: Vec<String>,
}

impl Suite {
    /// Copies the tests of a release.
    pub(super) fn copy(source: &Path, scratch: &Path) -> io::Result<Self> {
        let missing = |what: &str| {
            let path = source.display();
            io::Error::other(format!(
                "{path} has no {what}: is it the source of a release of Redis or Valkey?"
            ))
        };
        let header = fs::read_to_string(source.join("src/version.h"));
        let header = header.map_err(|_| missing("src/version.h"))?;
        let (name, version) = name_and_version(&header).ok_or_else(|| missing("version"))?;
        let folder = scratch.join(format!("{name}-{version}"));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let status = Command::new("cp")
            .arg("-r")
            .arg(source.join("tests"))
            .arg(&folder)
            .status()?;
        if !status.success() {
            return Err(missing("tests"));
        }
        fs::create_dir_all(folder.join("tests/tmp"))?;
        stand_in(&folder.join("src"), &name)?;
        for (file, old, new) in EDITS {
            let path = folder.join(file);
            let text = fs::read_to_string(&path)?;
            if !text.contains(old) {
                let why = format!("{file} of {name} {version} has no line `{}`", old.trim());
                return Err(io::Error::other(why));
            }
            fs::write(&path, text.replace(old, new))?;
        }
        let mut units = Vec::new();
        for below in ["unit", "unit/type"] {
            for entry in fs::read_dir(folder.join("tests").join(below))? {
                let name = entry?.file_name();
                if let Some(unit) = name.to_str().and_then(|it| it.strip_suffix(".tcl")) {
                    units.push(format!("{below}/{unit}"));
                }
            }
        }
        units.sort();
        Ok(Self {
            name,
            version,
            folder,
            units,
        })
    }

    /// `redis-7.2.6`.
    pub(super) fn title(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }

    /// Runs a unit, but for these tests of it, and hands out what was printed.
    pub(super) fn run(
        &self,
        unit: &str,
        port: Port,
        number: u16,
        skipped: &BTreeSet<String>,
    ) -> io::Result<String> {
        let skips = self.folder.join("tests/tmp/skipped");
        let names: Vec<&str> = skipped.iter().map(String::as_str).collect();
        fs::write(&skips, names.join("\n"))?;
        let printed = self.folder.join("tests/tmp/printed");
        let output = fs::File::create(&printed)?;
        let mut runner = Command::new("tclsh");
        runner
            .current_dir(&self.folder)
            // No colours.
            .env("TERM", "dumb")
            .args(["tests/test_helper.tcl", "--host", "127.0.0.1", "--port"])
            .arg(number.to_string())
            .args(["--single", unit, "--durable", "--ignore-digest"])
            .args(["--baseport", &base_port()?.to_string()])
            .args(["--tags", DENIED, "--timeout", SILENCE, "--skipfile"])
            .arg("tests/tmp/skipped")
            .args(port.arguments())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        patience::groups(&mut runner);
        let runner = runner.spawn().map_err(|error| {
            io::Error::other(format!(
                "cannot run tclsh: {error}; on Debian: apt-get install tcl"
            ))
        })?;
        patience::wait(runner, PATIENCE)?;
        Ok(String::from_utf8_lossy(&fs::read(&printed)?).into_owned())
    }
}

/// What the runner and its half that runs the tests speak over is one of the [`RUNNER_PORTS`] below it.
fn base_port() -> io::Result<u32> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    Ok(u32::from(listener.local_addr()?.port()) + RUNNER_PORTS)
}

/// Valkey's runner wants a server of its own to be there, though none is started from outside.
fn stand_in(folder: &Path, name: &str) -> io::Result<()> {
    let server = folder.join(format!("{name}-server"));
    fs::create_dir_all(folder)?;
    fs::write(
        &server,
        "#!/bin/sh\necho 'no server of the suite itself is started' >&2\nexit 1\n",
    )?;
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755))
}

/// What `src/version.h` says. Valkey names the Redis that it stands for, too.
fn name_and_version(header: &str) -> Option<(String, String)> {
    ["VALKEY", "REDIS"].into_iter().find_map(|name| {
        let start = format!("#define {name}_VERSION \"");
        let mut lines = header.lines();
        let version = lines.find_map(|line| line.strip_prefix(&start))?;
        let version = version.trim_end().trim_end_matches('"');
        Some((name.to_lowercase(), version.to_owned()))
    })
}

#[cfg(test)]
#[path = "unit_test.rs"]
mod unit_test;
