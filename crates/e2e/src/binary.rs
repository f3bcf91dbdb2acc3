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
        None => {
            let folder = build(&["--bin", "brickyard", "--test", "cli"]);
            found(folder.join("brickyard"))
        }
    })
}

/// A program of `examples/` in this checkout, built as [`brickyard`] is. `BRICKYARD_EXAMPLES` names a folder with all of them instead.
///
/// # Panics
/// As [`brickyard`].
pub fn example(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| match std::env::var_os("BRICKYARD_EXAMPLES") {
        Some(path) => PathBuf::from(path),
        None => build(&["--bin", "brickyard-example-*", "--test", "program"]),
    });
    found(folder.join(format!("brickyard-example-{name}")))
}

fn found(binary: PathBuf) -> PathBuf {
    assert!(binary.exists(), "there is no {}", binary.display());
    binary
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

/// Has Cargo build some programs; the folder in which they are then.
fn build(which: &[&str]) -> PathBuf {
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
        .args(["build", "--quiet", "--workspace"])
        .args(which)
        .args(["--profile", profile])
        .arg("--target-dir")
        .arg(target_folder)
        .output()
        .expect("cargo can be started");
    assert!(
        output.status.success(),
        "{} does not build:\n{}",
        which.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    profile_folder.to_owned()
}
