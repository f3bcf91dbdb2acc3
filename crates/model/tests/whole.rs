//! With all rules no state of the whole space breaks a claim.

use brickyard_model::{Replication, Scope};

fn holds(scope: Scope) {
    let found = Replication::new(scope).search();
    if let Some((claim, steps)) = found.violation {
        let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
        panic!(
            "{}: not so: {claim}\n    {}",
            scope.name,
            steps.join("\n    ")
        );
    }
    assert!(found.is_all, "{}: the search ended early", scope.name);
    println!(
        "{}: {} states, {} steps deep",
        scope.name, found.states, found.depth
    );
}

/// The scopes at these places of the list; two lists, so that two tests share the work.
fn all_hold(is_mine: impl Fn(usize) -> bool) {
    let scopes = Scope::SMALL.iter().enumerate();
    for (_, scope) in scopes.filter(|(at, _)| is_mine(*at)) {
        holds(*scope);
    }
}

#[test]
fn small_scopes_hold_even() {
    all_hold(|at| at % 2 == 0);
}

#[test]
fn small_scopes_hold_odd() {
    all_hold(|at| at % 2 == 1);
}

/// The scopes of the rules hold as well: what breaks them is the rule's absence, and nothing else.
#[test]
fn scopes_of_the_rules_hold_with_all_rules() {
    use brickyard_model::Rule;
    // The rest are in the large ones.
    let short = [
        Rule::RefusalsGoAhead,
        Rule::GrantsNameMaps,
        Rule::TheLoopAcknowledges,
        Rule::ViewsTakeTwoSteps,
        Rule::LeadersAskAfresh,
        Rule::ViewsNameLives,
        Rule::ClocksAreRead,
    ];
    for rule in short {
        holds(Scope::of_rule(rule));
    }
}

/// Minutes and gigabytes: `cargo test --release -p brickyard-model --test whole -- --ignored --nocapture`.
#[test]
#[ignore = "millions of states: run it alone, in release, after a change of the model"]
fn large_scopes_hold() {
    for scope in Scope::LARGE {
        holds(*scope);
    }
}
