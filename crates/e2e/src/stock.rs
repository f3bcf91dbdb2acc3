//! Stock clients and programs that the tests run, in the versions that they expect.
//!
//! Clients are fetched by `.ci/clients` below `target/`, in the versions that stand in `clients/`; what the machine has of them is
//! not looked at. A runtime (Python, Go, Node, Java) is the machine's, and so are Redis's programs, of one accepted version.
//!
//! In:  a name. Out: what to start; or nothing, and a line that says what is missing and which command brings it ([`skip`]).

use crate::{binary::installed, skip};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// What Redis's programs have to be: replies, errors and outputs are compared with those of this one.
pub const REDIS_VERSION: &str = "7.0";

/// A client's language: where its workload is, where it is fetched to, and which file pins its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// go-redis.
    Go,
    /// Real programs of Go, which need a newer one than go-redis does.
    GoPrograms,
    /// Jedis.
    Java,
    /// ioredis.
    Node,
    /// redis-py.
    Python,
}

impl Language {
    const fn client(self) -> &'static str {
        match self {
            Self::Go => "go-redis",
            Self::GoPrograms => "programs of Go",
            Self::Java => "Jedis",
            Self::Node => "ioredis",
            Self::Python => "redis-py",
        }
    }

    const fn folder(self) -> &'static str {
        match self {
            Self::Go => "go",
            Self::GoPrograms => "go-programs",
            Self::Java => "java",
            Self::Node => "node",
            Self::Python => "python",
        }
    }

    const fn pins(self) -> &'static str {
        match self {
            Self::Go | Self::GoPrograms => "go.sum",
            Self::Java => "pom.xml",
            Self::Node => "package-lock.json",
            Self::Python => "requirements.txt",
        }
    }

    /// Our programs for this client.
    #[must_use]
    pub fn sources(self) -> PathBuf {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        here.join("clients").join(self.folder())
    }

    /// The client as it was fetched, if that is the version that is pinned now; otherwise says that its test is skipped.
    #[must_use]
    pub fn fetched(self) -> Option<PathBuf> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
        let folder = root.join(format!("target/clients-{}", self.folder()));
        let pinned = std::fs::read(self.sources().join(self.pins())).ok();
        let installed = std::fs::read(folder.join("installed")).ok();
        let what = match installed {
            Some(_) if installed == pinned => return Some(folder),
            Some(_) => "fetched in another version than the tests pin",
            None => "not fetched",
        };
        skip::announce(self.client(), &format!("{what}; run .ci/clients"));
        None
    }
}

/// A Python that has the pinned packages and sees no others.
#[must_use]
pub fn python() -> Option<Command> {
    let mut python = Command::new(Language::Python.fetched()?.join("bin/python"));
    // Neither the user's own packages nor PYTHONPATH.
    python.arg("-I");
    Some(python)
}

/// Where our own library for Python is.
#[must_use]
pub fn python_sources() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.unwrap_or_else(|| Path::new("")).join("clients/python")
}

/// The same Python, if it has our own library as its sources are now; otherwise says that its test is skipped.
#[must_use]
pub fn python_library() -> Option<Command> {
    let folder = Language::Python.fetched()?;
    let sources = python_sources();
    let crates = sources.ancestors().nth(2)?.join("crates");
    let native = ["client", "routing", "tcp", "tls", "types", "wire"];
    let folders = [sources.join("src"), sources.join("python")].into_iter();
    let changed = folders
        .chain(native.map(|it| crates.join(it).join("src")))
        .filter_map(|it| last_change(&it))
        .max();
    let built = std::fs::metadata(folder.join("library")).and_then(|it| it.modified());
    let why = match built.ok() {
        Some(built) if Some(built) >= changed => return python(),
        Some(_) => "built from older sources",
        None => "not built",
    };
    skip::announce("the Python library", &format!("{why}; run .ci/clients"));
    None
}

/// When a file of a folder, or of those in it, was changed last.
fn last_change(folder: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let changes = entries.filter_map(|entry| {
        let kind = entry.file_type().ok()?;
        if kind.is_dir() {
            // What Python writes there by itself is no source.
            let is_source = entry.file_name() != "__pycache__";
            is_source.then(|| last_change(&entry.path())).flatten()
        } else {
            entry.metadata().ok()?.modified().ok()
        }
    });
    changes.max()
}

/// A runtime of the machine, for a client that was fetched.
#[must_use]
pub fn runtime(name: &str, client: Language) -> Option<PathBuf> {
    let path = installed(name);
    if path.is_none() {
        let why = format!("no {name} on the PATH; install it, or as root run .ci/clients");
        skip::announce(client.client(), &why);
    }
    path
}

/// A program of Redis, of the accepted version; otherwise says that `what` is skipped.
#[must_use]
pub fn redis(name: &str, what: &str) -> Option<PathBuf> {
    let package = if name == "redis-server" {
        "redis-server"
    } else {
        "redis-tools"
    };
    let remedy = format!("on Debian 12: apt-get install {package}");
    let Some(path) = installed(name) else {
        skip::announce(what, &format!("no {name} on the PATH; {remedy}"));
        return None;
    };
    let said = Command::new(&path).arg("--version").output();
    let said = said.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned());
    let said = said.unwrap_or_else(|error| error.to_string());
    if is_version(&said, REDIS_VERSION) {
        return Some(path);
    }
    skip::announce(
        what,
        &format!("needs {name} {REDIS_VERSION}, found \"{said}\"; {remedy}"),
    );
    None
}

/// Whether `--version` said this one: "Redis server v=7.0.15 sha=...", "redis-cli 7.0.15".
fn is_version(said: &str, wanted: &str) -> bool {
    let words = said.split_ascii_whitespace();
    let versions = words.map(|word| word.trim_start_matches("v="));
    versions
        .filter_map(|it| it.strip_prefix(wanted))
        .any(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
#[path = "stock_test.rs"]
mod stock_test;
