//! `cargo xtask TASK`: what is done with the repository itself. `cargo xtask help` lists the tasks.

use std::{fs, path::Path, process::ExitCode};
use xtask::{Finding, Shape, Tree, arrows, mutants, sabotage, suites, tasks, tidy};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    if let [] | ["help" | "--help" | "-h"] = words.as_slice() {
        print!("{}", tasks::map());
        return ExitCode::SUCCESS;
    }
    let tree = match Tree::read(&root) {
        Ok(tree) => tree,
        Err(error) => {
            return failed(&format!(
                "cannot read the repository at {}: {error}",
                root.display()
            ));
        }
    };
    match words.as_slice() {
        ["tidy"] => verdict(&tidy::findings(&tree)),
        ["arrows"] => verdict(&arrows::findings(&tree)),
        ["lengths"] => {
            for (path, lines) in tidy::length::report(&tree) {
                println!("{lines:6} {path}");
            }
            ExitCode::SUCCESS
        }
        ["sabotage", options @ ..] => hunt(&root, &tree, options),
        ["mutants", options @ ..] => try_mutants(&root, &tree, options),
        ["suites", options @ ..] => run_suites(&root, &tree, options),
        ["shape", options @ ..] => match Shape::measure(&tree) {
            Ok(shape) => show_shape(&shape, options, &root),
            Err(error) => failed(&error),
        },
        _ => {
            eprint!("no task `{}`\n\n{}", words.join(" "), tasks::map());
            ExitCode::from(2)
        }
    }
}

fn show_shape(shape: &Shape, options: &[&str], root: &Path) -> ExitCode {
    match options {
        [] => print!("{}", shape.table()),
        ["--names"] => print!("{}", shape.twins()),
        ["--circles"] => print!("{}", shape.circles()),
        ["--check"] => {
            if shape.slack() > 0 {
                println!(
                    "{} limits can be lower: cargo xtask shape --lower",
                    shape.slack()
                );
            }
            return verdict(shape.findings());
        }
        ["--lower"] => {
            let written = fs::write(root.join("xtask/shape.toml"), shape.lowered_limits());
            if let Err(error) = written {
                return failed(&format!("cannot write xtask/shape.toml: {error}"));
            }
        }
        _ => return failed("usage: cargo xtask shape [--check | --lower | --names | --circles]"),
    }
    ExitCode::SUCCESS
}

fn hunt(root: &Path, tree: &Tree, options: &[&str]) -> ExitCode {
    let options = options.iter().map(|it| (*it).to_owned());
    let Some(options) = sabotage::Options::parse(options) else {
        return failed("usage: cargo xtask sabotage [--every] [--release] [--page | --page-only]");
    };
    match sabotage::run(root, tree, options) {
        Ok(findings) => verdict(&findings),
        Err(error) => failed(&format!("cannot hunt for deliberate bugs: {error}")),
    }
}

fn try_mutants(root: &Path, tree: &Tree, options: &[&str]) -> ExitCode {
    let Some(options) = mutants::Options::parse(options.iter().copied()) else {
        return failed(
            "usage: cargo xtask mutants [--sample N] [--seed S] [--crate C] [--file F] [--mutant M] [--own] [--quick] [--again] [--known] [--jobs J] [--list] [--page]",
        );
    };
    match mutants::run(root, tree, &options) {
        Ok(findings) => verdict(&findings),
        Err(error) => failed(&format!("cannot try mutants: {error}")),
    }
}

fn run_suites(root: &Path, tree: &Tree, options: &[&str]) -> ExitCode {
    let Some(options) = suites::Options::parse(options.iter().copied()) else {
        return failed(
            "usage: cargo xtask suites FOLDER ... [--ports node,cluster,brick] [--unit U] [--program P] [--page]",
        );
    };
    match suites::run(root, tree, &options) {
        Ok(findings) => verdict(&findings),
        Err(error) => failed(&format!("cannot run the suites: {error}")),
    }
}

fn failed(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::FAILURE
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
