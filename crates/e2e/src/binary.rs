//! Where the programs under test and beside it are.

pub use brickyard_bench::installed;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The `brickyard` program of this checkout, built if need be.
///
/// This package does not contain the program, so Cargo does not promise that it has been built. We ask
/// Cargo for it once a process, with the profile and into the folder of the running test; where it is up
/// to date that costs a fraction of a second. The features are those that `cargo test --workspace` chooses,
/// which is all crates and, since a test is asked for too, what only tests depend on: with other ones nearly
/// everything would be built twice. `BRICKYARD_BINARY` names another one instead.
///
/// # Panics
/// If it does not build; Cargo's own output is in the message.
pub fn brickyard() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("BRICKYARD_BINARY") {
        Some(path) => PathBuf::from(path),
        None => build(),
    })
}

/// The program of an earlier version that nodes are upgraded from: what `BRICKYARD_PREVIOUS` names, if it does.
///
/// # Panics
/// If there is no such file.
pub fn previous() -> Option<&'static Path> {
    static BINARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    let named = BINARY.get_or_init(|| {
        let path = PathBuf::from(std::env::var_os("BRICKYARD_PREVIOUS")?);
        assert!(
            path.is_file(),
            "BRICKYARD_PREVIOUS is {}, and there is no such file",
            path.display()
        );
        Some(path)
    });
    named.as_deref()
}

fn build() -> PathBuf {
    // <target>/<profile>/{deps,examples}/<this program>, wherever the target folder was configured to be.
    let program = std::env::current_exe().expect("the path of the running program");
    let profile_folder = program
        .ancestors()
        .find(|folder| {
            folder
                .file_name()
                .is_some_and(|name| name == "deps" || name == "examples")
        })
        .and_then(Path::parent)
        .expect(
            "tests run from <target>/<profile>/deps, examples from <target>/<profile>/examples",
        );
    let target_folder = profile_folder
        .parent()
        .expect("a profile's folder is in the target folder");
    let profile = match profile_folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let output = Command::new(cargo)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args([
            "build",
            "--quiet",
            "--workspace",
            "--bin",
            "brickyard",
            "--test",
            "cli",
        ])
        .args(["--profile", profile])
        .arg("--target-dir")
        .arg(target_folder)
        .output()
        .expect("cargo can be started");
    assert!(
        output.status.success(),
        "the brickyard program does not build:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let binary = profile_folder.join("brickyard");
    assert!(binary.exists(), "cargo built no {}", binary.display());
    binary
}
