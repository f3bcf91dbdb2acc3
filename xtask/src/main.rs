//! `cargo xtask tidy | arrows | lengths`: the checks, by hand; `hunts` writes what they found into docs/sabotage.md.

use std::{fs, io, path::Path, process::ExitCode};
use xtask::{Finding, Tree, arrows, hunts, tidy};

const USAGE: &str = "usage: cargo xtask <check>
  tidy     house rules of the source: sans-IO rooms, module doors, dead files, strangers, unsafe
  arrows   dependencies between rooms point one way
  lengths  files that have grown long (a report, never a failure)
  hunts    puts what hunts for deliberate bugs print (standard input) into docs/sabotage.md";

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
        "hunts" => match write_hunts(&root.join("docs/sabotage.md")) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("cannot write docs/sabotage.md: {error}");
                ExitCode::FAILURE
            }
        },
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn write_hunts(page: &Path) -> io::Result<()> {
    let lines = io::read_to_string(io::stdin())?;
    let text = fs::read_to_string(page)?;
    fs::write(page, hunts::update(&text, &lines))
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
