//! What many cores would do, from costs that two can measure.
//!
//! In:  Brickyard. Out: the processor time of an operation at a brick's own port and at a node's of several bricks, and the throughput of
//! more cores that follows from both.
//!
//! A brick has a core and shares nothing with others that it writes (`work_on_a_bricks_own_keys_changes_nothing_that_bricks_share`), so an
//! operation that comes to the right brick costs the same beside any number of others. One that comes to another brick is passed on and back,
//! which costs more, and with n bricks happens to all but the nth part.

use crate::{
    campaign::{Campaign, Load, Rounds},
    tables::{PIPELINE_1, PIPELINE_100, VALUE_BYTES, cell},
};
use brickyard_bench::peer::{Durability, Peer, Setup};
use brickyard_bench::process::{CLIENT_CORE, Process, pin};
use brickyard_bench::{Operation, grouped};
use std::fmt::Write;

const KEYS: u64 = 100_000;
const BRICKS: [usize; 3] = [1, 2, 4];
const CORES: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Measures one, two and four bricks on the server's core, and says what follows.
pub(crate) fn measure(campaign: &Campaign<'_>) -> anyhow::Result<String> {
    pin(CLIENT_CORE)?;
    let Some(found) = campaign.found.iter().find(|it| it.peer == Peer::Brickyard) else {
        return Ok("Brickyard was not found.\n".to_owned());
    };
    let load = Load {
        keys: KEYS.min(campaign.effort.keys),
        value_bytes: VALUE_BYTES,
        overwrites: 0,
    };
    let cells = [
        cell(Operation::Get, PIPELINE_1),
        cell(Operation::Set, PIPELINE_1),
        cell(Operation::Get, PIPELINE_100),
        cell(Operation::Set, PIPELINE_100),
    ];
    let mut servers = Vec::new();
    for bricks in BRICKS {
        let setup = Setup {
            bricks,
            ..Setup::of(Durability::Log)
        };
        let process = Process::start(found, &setup, campaign.dir)?;
        process.run(&campaign.options(&process.target, load, cells[1]).filling())?;
        servers.push(process);
    }
    let mut rounds: Vec<Vec<Rounds>> = vec![vec![Rounds(Vec::new()); cells.len()]; BRICKS.len()];
    for round in 1..=campaign.effort.rounds {
        eprintln!("cores: round {round}");
        for (at, cell) in cells.into_iter().enumerate() {
            for (server, rounds) in servers.iter().zip(&mut rounds) {
                let processes = std::slice::from_ref(server);
                let sample = campaign.sample_all(processes, &server.target, load, cell)?;
                rounds[at].0.push(sample);
            }
        }
    }
    let costs: Vec<Vec<f64>> = (rounds.iter())
        .map(|cells| cells.iter().map(|it| it.quietest().cpu_us()).collect())
        .collect();
    Ok(written(&costs))
}

/// What passing an operation on to another brick and back costs, from what it costs beside three others.
fn passing(costs: &[Vec<f64>], cell: usize) -> f64 {
    let last = BRICKS.len() - 1;
    let share = 1.0 - 1.0 / BRICKS[last] as f64;
    ((costs[last][cell] - costs[0][cell]) / share).max(0.0)
}

fn written(costs: &[Vec<f64>]) -> String {
    let mut out = format!(
        "Durability `log`, {} keys, values of {VALUE_BYTES} bytes. Measured: bricks that share the server's core, a client at the node's port; \
         microseconds of processor for one operation, the least of the rounds.\n\n\
         | | GET, pipeline 1 | SET, pipeline 1 | GET, pipeline 100 | SET, pipeline 100 |\n|---|---|---|---|---|\n",
        grouped(KEYS)
    );
    let mut write_row = |name: &str, values: &[f64]| {
        let cells: Vec<String> = values.iter().map(|value| format!("{value:.2}")).collect();
        let _ = writeln!(out, "| {name} | {} |", cells.join(" | "));
    };
    for (bricks, costs) in BRICKS.iter().zip(costs) {
        let word = if *bricks == 1 { "brick" } else { "bricks" };
        write_row(&format!("{bricks} {word}"), costs);
    }
    let passed: Vec<f64> = (0..costs[0].len())
        .map(|cell| passing(costs, cell))
        .collect();
    write_row("to pass one on, and back", &passed);
    out.push_str(
        "\nModelled from that: a brick a core and enough clients, thousands of operations a second. *Direct*: clients that know the bricks, as \
         cluster clients do. *Any*: clients at a node's port.\n\n\
         | cores | GET 1, direct | any | SET 1, direct | any | GET 100, direct | any | SET 100, direct | any |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for cores in CORES {
        let _ = write!(out, "| {cores} |");
        for (direct, passing) in costs[0].iter().zip(&passed) {
            let any = direct + passing * (1.0 - 1.0 / cores as f64);
            for cost in [*direct, any] {
                let thousands = cores as f64 * 1e3 / cost.max(1e-9);
                let _ = write!(out, " {} |", grouped(thousands as u64));
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
#[path = "cores_test.rs"]
mod cores_test;
