//! Parts of the suite that cannot run on this machine say so in one line.

use std::io::Write;

/// Announces that `what` is not tested here, why, and what to do about it.
///
/// Written past the test runner's capture, so that the line is seen although the test passes; and
/// to the file named by `BRICKYARD_E2E_SKIPS`, from which `.ci/run` prints its summary.
pub fn announce(what: &str, reason: &str) {
    let line = format!("skipped: {what}: {reason}\n");
    // A closed stderr or a missing folder must not fail a test that has nothing to test.
    drop(std::io::stderr().write_all(line.as_bytes()));
    if let Some(path) = std::env::var_os("BRICKYARD_E2E_SKIPS") {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path);
        if let Ok(mut file) = file {
            drop(file.write_all(line.as_bytes()));
        }
    }
}

/// A number from the environment, for longer runs than the default.
#[must_use]
pub fn number_from_environment(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} is '{text}'; give a whole number")),
        Err(_) => default,
    }
}
