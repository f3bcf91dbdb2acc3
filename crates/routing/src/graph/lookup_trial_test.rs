use super::*;

#[test]
fn hops_are_within_a_twentieth_of_theory_up_to_ten_thousand_nodes() {
    for graph in Graph::ALL {
        for nodes in [
            3, 5, 7, 9, 10, 16, 30, 64, 100, 300, 1_000, 1_024, 3_000, 4_096, 10_000,
        ] {
            let figures = LookupTrial::of(graph, nodes).run().expect("a table");
            let ratio = figures.hops_mean / figures.hops_expected;
            assert!(
                (0.95..1.05).contains(&ratio),
                "{graph}, {nodes} nodes: {figures:?}"
            );
            assert!(
                figures.hops_max <= nodes.ilog2() + 1,
                "{graph}, {nodes} nodes: {figures:?}"
            );
            let usual = match graph {
                Graph::Chord => (nodes as f64).log2() / 2.0,
                Graph::Bruijn => (nodes as f64).log2() - 1.64,
            };
            let is_usual = nodes < 100 || (0.95..1.05).contains(&(figures.hops_mean / usual));
            assert!(is_usual, "{graph}, {nodes} nodes: {figures:?}, {usual}");
        }
    }
}

#[test]
fn all_tables_of_a_node_at_once_shorten_the_way() {
    for graph in Graph::ALL {
        let plain = LookupTrial {
            partitions: 4_096,
            lookups: 5_000,
            ..LookupTrial::of(graph, 64)
        };
        let aggregated = LookupTrial {
            is_aggregated: true,
            ..plain
        };
        let [plain, aggregated] = [plain, aggregated].map(|it| it.run().expect("a table"));
        assert!(
            aggregated.hops_mean < 0.7 * plain.hops_mean,
            "{graph}: {plain:?} {aggregated:?}"
        );
    }
}

#[test]
fn a_client_that_remembers_half_knows_half_and_begins_near_the_rest() {
    for graph in Graph::ALL {
        let nothing = LookupTrial {
            partitions: 4_096,
            is_aggregated: true,
            lookups: 5_000,
            ..LookupTrial::of(graph, 64)
        };
        let anywhere = nothing.run().expect("a table");
        assert_eq!((anywhere.hits, anywhere.client_bytes), (0.0, 0));
        for share in [0.5, 0.25] {
            let trial = LookupTrial {
                cached_share: share,
                ..nothing
            };
            let figures = trial.run().expect("a table");
            assert!((figures.hits - share).abs() < 0.03, "{graph}: {figures:?}");
            let bytes = figures.whole_bytes as f64 * share;
            let is_within =
                figures.client_bytes as f64 <= bytes && figures.client_bytes as f64 > 0.9 * bytes;
            assert!(is_within, "{graph}: {figures:?}");
            assert!(
                figures.hops_mean < 0.6 * anywhere.hops_mean,
                "{graph}: {figures:?} {anywhere:?}"
            );
        }
    }
}

#[test]
fn a_seed_is_a_trial() {
    let trial = LookupTrial {
        cached_share: 0.5,
        lookups: 500,
        ..LookupTrial::of(Graph::Bruijn, 40)
    };
    assert_eq!(trial.run(), trial.run());
    let other = LookupTrial { seed: 2, ..trial };
    assert_ne!(other.run(), trial.run());
}
