//! How far it is to a key for who does not hold the whole map: hops over both routing graphs, for 3 to 10,000 nodes.
//!
//! ```sh
//! cargo run --release -p brickyard-routing --example lookups > lookups.csv
//! ```
//! `one` are tables with one partition a node, which is what theory is about; `default` have as many partitions as a new table
//! on so many equal nodes gets. `hops` are from node to node, of the lookups that the client did not know the answer to (`hits` is the share
//! that it knew). `theory` is for plain routing from anywhere. `client bytes` are those of what it remembers, to be compared with
//! `whole bytes` if it remembered all.

use brickyard_routing::graph::{Graph, LookupTrial};
use brickyard_routing::{Candidate, MapError, Replica, default_partitions};

const NODES: [usize; 13] = [
    3, 5, 9, 16, 30, 64, 100, 300, 1_000, 1_024, 3_000, 4_096, 10_000,
];

fn main() -> Result<(), MapError> {
    println!(
        "table,graph,aggregated,nodes,partitions,cache,hops,hops max,theory,hops / theory,hits,client bytes,whole bytes"
    );
    for graph in Graph::ALL {
        for nodes in NODES {
            show("one", &LookupTrial::of(graph, nodes))?;
        }
        for nodes in NODES {
            for (is_aggregated, cached_share) in
                [(false, 0.0), (true, 0.0), (true, 0.25), (true, 0.5)]
            {
                let trial = LookupTrial {
                    partitions: usual_partitions(nodes),
                    is_aggregated,
                    cached_share,
                    ..LookupTrial::of(graph, nodes)
                };
                show("default", &trial)?;
            }
        }
    }
    Ok(())
}

/// What a new table on so many equal nodes gets.
fn usual_partitions(nodes: usize) -> usize {
    let candidate = Candidate {
        replica: Replica::default(),
        weight: 1,
    };
    default_partitions(&vec![candidate; nodes]) as usize
}

fn show(table: &str, trial: &LookupTrial) -> Result<(), MapError> {
    let figures = trial.run()?;
    println!(
        "{table},{},{},{},{},{},{:.3},{},{:.3},{:.3},{:.3},{},{}",
        trial.graph,
        trial.is_aggregated,
        trial.nodes,
        trial.partitions,
        trial.cached_share,
        figures.hops_mean,
        figures.hops_max,
        figures.hops_expected,
        figures.hops_mean / figures.hops_expected,
        figures.hits,
        figures.client_bytes,
        figures.whole_bytes,
    );
    Ok(())
}
