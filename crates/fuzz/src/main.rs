//! The program `fuzz`: drives the targets for a while, or writes their seeds to files.

use brickyard_fuzz::{Target, Until, all, drive, named};
use clap::Parser;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Runs decoders on bytes that nobody sends, and looks for panics.
#[derive(Debug, Parser)]
struct Arguments {
    /// The targets; all of them if none is named
    targets: Vec<String>,
    /// How long, all targets together
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Which inputs are made
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where an input that was found goes
    #[arg(long, default_value = "target/fuzz")]
    out: PathBuf,
    /// Write the seeds of each target into a folder of this one, and run nothing
    #[arg(long)]
    write_seeds: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut targets = Vec::new();
    for name in &arguments.targets {
        let Some(target) = named(name) else {
            let known: Vec<&str> = all().iter().map(|target| target.name).collect();
            eprintln!("there is no target '{name}'; one of: {}", known.join(", "));
            return ExitCode::FAILURE;
        };
        targets.push(target);
    }
    if targets.is_empty() {
        targets = all().iter().collect();
    }
    if let Some(folder) = &arguments.write_seeds {
        for target in targets {
            if let Err(error) = write_seeds(folder, target) {
                eprintln!("cannot write seeds below {}: {error}", folder.display());
                return ExitCode::FAILURE;
            }
        }
        return ExitCode::SUCCESS;
    }
    let share = Duration::from_secs(arguments.seconds) / targets.len() as u32;
    let mut is_sound = true;
    for target in targets {
        match drive(target, Until::Time(share), arguments.seed) {
            Ok(report) => println!("{}: {} inputs", target.name, report.inputs),
            Err(failure) => {
                is_sound = false;
                let file = arguments.out.join(format!("{}.bin", target.name));
                let kept = fs::create_dir_all(&arguments.out)
                    .and_then(|()| fs::write(&file, &failure.input));
                eprintln!(
                    "{} with --seed {}: {}",
                    target.name, arguments.seed, failure.what
                );
                eprintln!("    input: {}", failure.input.escape_ascii());
                match kept {
                    Ok(()) => eprintln!("    kept as {}", file.display()),
                    Err(error) => eprintln!("    not kept as {}: {error}", file.display()),
                }
            }
        }
    }
    if is_sound {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn write_seeds(folder: &Path, target: &Target) -> std::io::Result<()> {
    let folder = folder.join(target.name);
    fs::create_dir_all(&folder)?;
    for (number, seed) in (target.seeds)().iter().enumerate() {
        fs::write(folder.join(format!("seed-{number:02}")), seed)?;
    }
    Ok(())
}
