//! Searches scopes of the model, and prints how many states there are or the way to a violation.
//!
//! ```sh
//! cargo run --release -p brickyard-model --example search              # the small scopes, all rules
//! cargo run --release -p brickyard-model --example search -- power     # one scope
//! cargo run --release -p brickyard-model --example search -- --without # every rule, taken out
//! cargo run --release -p brickyard-model --example search -- power --without PrimariesAccept
//! ```

use brickyard_model::{Found, Replication, Rule, Scope};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let without = arguments.iter().position(|it| it == "--without");
    let rule = without.map(|at| arguments.get(at + 1).map(String::as_str));
    let scope = arguments.first().filter(|it| !it.starts_with("--"));
    let scope = match scope.map(|name| (name, Scope::named(name))) {
        Some((name, None)) => {
            return complain(
                "scope",
                name,
                Scope::SMALL
                    .iter()
                    .chain(Scope::LARGE)
                    .chain(Scope::HUGE)
                    .map(|it| it.name),
            );
        }
        Some((_, scope)) => scope,
        None => None,
    };
    let rules: Vec<Rule> = match rule {
        Some(Some(name)) => match Rule::ALL.iter().find(|rule| rule.name() == name) {
            Some(rule) => vec![*rule],
            None => return complain("rule", name, Rule::ALL.iter().map(|rule| rule.name())),
        },
        Some(None) => Rule::ALL.to_vec(),
        None => {
            let scopes = scope.map_or_else(|| Scope::SMALL.to_vec(), |scope| vec![scope]);
            let is_sound = scopes
                .into_iter()
                .map(|scope| search(&Replication::new(scope), scope.name));
            // All of them, also after a violation.
            return finish(is_sound.filter(|found| found.violation.is_some()).count() == 0);
        }
    };
    let found = rules.into_iter().map(|rule| {
        let scope = scope.unwrap_or_else(|| Scope::of_rule(rule));
        search(
            &Replication::without(scope, rule),
            &format!("without {rule}"),
        )
    });
    finish(found.filter(|found| found.violation.is_none()).count() == 0)
}

fn search(model: &Replication, name: &str) -> Found {
    let started = Instant::now();
    let found = model.search();
    let seconds = started.elapsed().as_secs_f64();
    let Found { states, depth, .. } = found;
    match &found.violation {
        None => {
            println!("{name}: {states} states, {depth} steps deep, no violation ({seconds:.1} s)")
        }
        Some((claim, steps)) => {
            println!("{name}: not so after {states} states ({seconds:.1} s): {claim}");
            for step in steps {
                println!("    {step}");
            }
        }
    }
    found
}

fn finish(is_as_wanted: bool) -> ExitCode {
    if is_as_wanted {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn complain<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> ExitCode {
    let known: Vec<&str> = known.collect();
    eprintln!("there is no {what} '{name}'; one of: {}", known.join(", "));
    ExitCode::FAILURE
}
