//! `brickyard experiments`: the papers' experiments on this machine.
//!
//! In:  which, how long. Out: raw data, drawings and one page in a directory. The work is in `brickyard-experiments`.

use anyhow::Context as _;
use brickyard_experiments::{Settings, by_words, list, page, run as run_all};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  brickyard experiments list                    what there is
  brickyard experiments run                     all of them, within an hour
  brickyard experiments run E6 E8               these alone
  brickyard experiments run --quick --out /tmp/try   seconds each, to see that all works
  brickyard experiments run --fetch             with Infinispan, whose jars Maven fetches into the directory
  brickyard experiments page                    the page anew, of what has been measured

What has been measured is kept: a run that was interrupted goes on where it was. Peers (Redis, Valkey, memcached,
etcd, MariaDB, OpenDHT, Infinispan) take part if they are on this machine; the page names those that are missing, and how to
get them. docs/experiments.md tells how to read it.";

/// What `brickyard experiments` takes.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Name the experiments, and what they ask
    List,
    /// Measure, and write the page
    Run(RunArguments),
    /// Write the page of what has been measured
    Page {
        /// Where the results are
        #[arg(long, value_name = "DIR", default_value = "experiments")]
        out: PathBuf,
    },
}

#[derive(Args, Debug)]
struct RunArguments {
    /// Which, as E6 or 6 [default: all]
    experiments: Vec<String>,
    /// Where results go; the file system matters for what is on disk
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    out: PathBuf,
    /// Seconds each, to see that all works; figures of such a run mean nothing
    #[arg(long)]
    quick: bool,
    /// How long all of them may take together, as 60m; those that are chosen have their shares
    #[arg(long, value_name = "TIME", default_value = "60m", value_parser = time)]
    budget: Duration,
    /// Measure also what has been measured
    #[arg(long)]
    again: bool,
    /// Have Maven fetch the jars of peers in Java
    #[arg(long)]
    fetch: bool,
    /// The program that serves [default: this one]
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::List => {
            for it in list() {
                println!("{:>3}  {}\n     {}", it.name(), it.title, it.question);
            }
            Ok(ExitCode::SUCCESS)
        }
        Action::Page { out } => {
            println!("{}", page(out)?.display());
            Ok(ExitCode::SUCCESS)
        }
        Action::Run(arguments) => measure(arguments),
    }
}

fn measure(arguments: &RunArguments) -> anyhow::Result<ExitCode> {
    let chosen = by_words(&arguments.experiments)?;
    let program = match &arguments.server {
        Some(path) => path.clone(),
        None => std::env::current_exe().context("the program's own file is not known")?,
    };
    let settings = Settings {
        program,
        out: arguments.out.clone(),
        is_quick: arguments.quick,
        budget: arguments.budget,
        again: arguments.again,
        is_fetching: arguments.fetch,
    };
    let is_over = on_interrupt()?;
    let finished = run_all(&settings, &chosen, &is_over)?;
    if !finished.kept.is_empty() {
        let kept = finished.kept.join(", ");
        println!("Measured before, and kept: {kept} (--again measures anew).");
    }
    if finished.is_interrupted {
        println!("Interrupted; the same command goes on from here.");
    }
    println!("The page: {}", finished.page.display());
    let is_good = finished.failed.is_empty() && !finished.is_interrupted;
    Ok(if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// A flag that Ctrl-C sets. A second Ctrl-C ends the program as usual; servers end with it.
fn on_interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    let is_over = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_over);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot wait for Ctrl-C")?;
    let wait = move || {
        runtime.block_on(async {
            if tokio::signal::ctrl_c().await.is_ok() {
                eprintln!("Ending; a second Ctrl-C ends at once.");
                flag.store(true, Ordering::Relaxed);
            }
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(130);
            }
        });
    };
    std::thread::Builder::new()
        .name("interrupt".to_owned())
        .spawn(wait)
        .context("cannot wait for Ctrl-C")?;
    Ok(is_over)
}

/// `90s`, `60m` or `2h`.
fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is no time; use 90s, 60m or 2h");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1.0,
        'm' => 60.0,
        'h' => 3_600.0,
        _ => return Err(wrong()),
    };
    let count: f64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    if (0.0..=1e6).contains(&count) {
        Ok(Duration::from_secs_f64(count * seconds))
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod experiments_test {
    use super::time;
    use std::time::Duration;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(time("60m"), Ok(Duration::from_secs(3_600)));
        assert_eq!(time("1.5h"), Ok(Duration::from_secs(5_400)));
        assert_eq!(time("90s"), Ok(Duration::from_secs(90)));
        for wrong in ["60", "", "m", "-1m", "1x", "nanm", "µ"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
