//! One partition or 128, one table or fifty: what their number costs.
//!
//! In:  Brickyard. Out: processor time for one operation of each arrangement, on one brick.

use crate::{
    campaign::{Campaign, Cell, Load, Rounds, Sample},
    tables::{VALUE_BYTES, cell},
};
use anyhow::Context;
use brickyard_bench::peer::{Durability, Peer, Setup};
use brickyard_bench::process::{CLIENT_CORE, Process, pin};
use brickyard_bench::{Link, Operation, Target};
use brickyard_wire::Value;
use std::fmt::Write;

/// So many connections that each of fifty tables has one.
const CONNECTIONS: usize = 50;
const KEYS: u64 = 100_000;

const CELLS: [Cell; 4] = [
    cell(Operation::Get, (100, CONNECTIONS)),
    cell(Operation::Set, (100, CONNECTIONS)),
    cell(Operation::Get, (1, CONNECTIONS)),
    cell(Operation::Set, (1, CONNECTIONS)),
];

struct Shape {
    name: &'static str,
    table: &'static str,
    tables: usize,
    partitions: u32,
}

const SHAPES: [Shape; 3] = [
    Shape {
        name: "1 table of 1 partition",
        table: "one",
        tables: 1,
        partitions: 1,
    },
    Shape {
        name: "1 table of 128 partitions",
        table: "hundred",
        tables: 1,
        partitions: 128,
    },
    Shape {
        name: "50 tables of 1 partition",
        table: "many",
        tables: 50,
        partitions: 1,
    },
];

/// Measures GET and SET (durability `log`) in each arrangement, in one server.
pub(crate) fn measure(campaign: &Campaign<'_>) -> anyhow::Result<String> {
    pin(CLIENT_CORE)?;
    let Some(found) = campaign.found.iter().find(|it| it.peer == Peer::Brickyard) else {
        return Ok("Brickyard was not found.\n".to_owned());
    };
    let setup = Setup::of(Durability::Log);
    let process = Process::start(found, &setup, campaign.dir)?;
    let mut rounds: [[Rounds; CELLS.len()]; SHAPES.len()] =
        std::array::from_fn(|_| std::array::from_fn(|_| Rounds(Vec::new())));
    let targets = SHAPES
        .iter()
        .map(|shape| {
            make(&process.target, shape).with_context(|| format!("cannot make {}", shape.name))
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    for (shape, target) in SHAPES.iter().zip(&targets) {
        // Each table gets its share of the keys, whole.
        let load = load(shape);
        let filling = campaign.options(target, load, CELLS[1]).filling();
        for number in 0..shape.tables {
            let mut one = filling.clone();
            one.connections = 1;
            one.target.tables = 1;
            if shape.tables > 1 {
                one.target.table = Some(format!("{}{number}", shape.table));
            }
            process.run(&one)?;
        }
    }
    for round in 0..campaign.effort.rounds {
        for (at, cell) in CELLS.into_iter().enumerate() {
            eprintln!("shape: round {round}, {}", cell.operation.name());
            // Each round begins with another one: what one leaves to the cleaner, the next has to bear.
            for number in (0..SHAPES.len()).map(|number| (number + round) % SHAPES.len()) {
                let (shape, target) = (&SHAPES[number], &targets[number]);
                let processes = std::slice::from_ref(&process);
                let sample = campaign.sample_all(processes, target, load(shape), cell)?;
                rounds[number][at].0.push(sample);
            }
        }
    }
    Ok(written(&rounds))
}

fn load(shape: &Shape) -> Load {
    Load {
        keys: KEYS / shape.tables as u64,
        value_bytes: VALUE_BYTES,
        overwrites: 0,
    }
}

fn make(node: &Target, shape: &Shape) -> anyhow::Result<Target> {
    let mut link = Link::open(node)?;
    for number in 0..shape.tables {
        let name = if shape.tables > 1 {
            format!("{}{number}", shape.table)
        } else {
            shape.table.to_owned()
        };
        let partitions = shape.partitions.to_string();
        let reply = link.call(&["TABLE", "CREATE", &name, "PARTITIONS", &partitions])?;
        if let Value::Error(text) = reply {
            anyhow::bail!("{}", String::from_utf8_lossy(&text));
        }
    }
    Ok(Target {
        table: Some(shape.table.to_owned()),
        tables: shape.tables,
        ..node.clone()
    })
}

fn written(rounds: &[[Rounds; CELLS.len()]; SHAPES.len()]) -> String {
    let mut out = format!(
        "One brick, durability `log`, 100,000 keys in all, values of 150 bytes, {CONNECTIONS} connections. Processor time of the \
         server for one operation in microseconds, the least and the median of the rounds, each with its ratio to the first row: the \
         median has what other users of the machine cost, the least has less of it.\n\n"
    );
    out.push_str("| |");
    for cell in CELLS {
        let name = cell.operation.name().to_uppercase();
        let _ = write!(out, " {name}, pipeline {} |", cell.pipeline);
    }
    out.push_str("\n|---|---|---|---|---|\n");
    for (shape, cells) in SHAPES.iter().zip(rounds) {
        let _ = write!(out, "| {} |", shape.name);
        for (at, measured) in cells.iter().enumerate() {
            let first = &rounds[0][at];
            let (least, median) = (
                measured.quietest().cpu_us(),
                measured.median(Sample::cpu_us),
            );
            let _ = write!(
                out,
                " {least:.3} ({:.2}), {median:.3} ({:.2}) |",
                least / first.quietest().cpu_us().max(1e-9),
                median / first.median(Sample::cpu_us).max(1e-9),
            );
        }
        out.push('\n');
    }
    out
}
