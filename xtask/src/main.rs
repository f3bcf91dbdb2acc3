//! `cargo xtask tidy | arrows | lengths`: the checks, by hand; `sabotage` hunts for deliberate bugs.

use std::{path::Path, process::ExitCode};
use xtask::{Finding, Tree, arrows, sabotage, tidy};

const USAGE: &str = "usage: cargo xtask <check>
  tidy     house rules of the source: sans-IO rooms, module doors, dead files, strangers, unsafe
  arrows   dependencies between rooms point one way
  lengths  files that have grown long (a report, never a failure)
  sabotage has every deliberate bug hunted for: [--every] [--release] [--page | --page-only] (docs/sabotage.md)";

fn main() -> ExitCode {
    let check = std::env::args().nth(1).unwrap_or_default();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let tree = match Tree::read(&root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("cannot read the repository at {}: {error}", root.display());
            return ExitCode::FAILURE;
        }
    };
    match check.as_str() {
        "tidy" => verdict(&tidy::findings(&tree)),
        "arrows" => verdict(&arrows::findings(&tree)),
        "lengths" => {
            for (path, lines) in tidy::length::report(&tree) {
                println!("{lines:6} {path}");
            }
            ExitCode::SUCCESS
        }
        "sabotage" => hunt(&root, &tree),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn hunt(root: &Path, tree: &Tree) -> ExitCode {
    let Some(options) = sabotage::Options::parse(std::env::args().skip(2)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match sabotage::run(root, tree, options) {
        Ok(findings) => verdict(&findings),
        Err(error) => {
            eprintln!("cannot hunt for deliberate bugs: {error}");
            ExitCode::FAILURE
        }
    }
}

fn verdict(findings: &[Finding]) -> ExitCode {
    for finding in findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => ExitCode::SUCCESS,
        count => {
            eprintln!("{count} finding{}", if count == 1 { "" } else { "s" });
            ExitCode::FAILURE
        }
    }
}
