//! Runs seeds without the command line around it: `seeds FIRST COUNT [tell]`.

use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|it| it.parse::<u64>().ok());
    let (first, count) = (number().unwrap_or(1), number().unwrap_or(10));
    let is_told = std::env::args().any(|it| it == "tell");
    let started = Instant::now();
    let (mut events, mut length, mut served, mut failed) = (0, 0, 0, 0);
    let mut counts = std::collections::BTreeMap::new();
    std::panic::set_hook(Box::new(|_| {}));
    for seed in first..first + count {
        let outcome = if is_told {
            let (outcome, story) = brickyard_sim::tell(seed, brickyard_sim::plan_of(seed));
            println!("{}", story.join("\n"));
            outcome
        } else {
            brickyard_sim::run(seed)
        };
        events += outcome.events;
        length += outcome.length;
        served += outcome.served;
        for (what, count) in outcome.counts {
            *counts.entry(what).or_insert(0) += count;
        }
        if let Some(violation) = outcome.violation {
            failed += 1;
            let violation: String = violation.chars().take(600).collect();
            println!("seed {seed}: {violation}");
        }
    }
    let took = started.elapsed().as_secs_f64();
    println!(
        "{count} seeds, {failed} failed, {took:.1} s: {:.1} seeds/s, {:.1} simulated hours, {} events, {served} \
         served, {counts:?}",
        count as f64 / took,
        length as f64 / 3.6e12,
        events
    );
}
