use super::*;
use std::collections::BTreeSet;

#[test]
fn first_node_has_redis_port_and_nothing_collides() {
    for (nodes, bricks) in [(3, 1), (1, 128), (16, 9), (7, 128), (5, 60)] {
        let ports = choose(nodes, bricks, None, |_| true).unwrap();
        assert_eq!(ports[0].node, REDIS);
        let all: Vec<u16> = ports.iter().flat_map(|it| it.all()).collect();
        let different: BTreeSet<u16> = all.iter().copied().collect();
        assert_eq!(different.len(), all.len(), "{nodes} nodes, {bricks} bricks");
    }
}

#[test]
fn one_port_that_is_taken_moves_the_whole_cluster() {
    for taken in [6379, 6400, 7389, 16_379] {
        let ports = choose(3, 1, None, |port| port != taken).unwrap();
        assert_eq!(ports[0].node, 10_079, "{taken}");
    }
    let ports = choose(3, 1, None, |port| port != 6379 && port != 20_079).unwrap();
    assert_eq!(ports[0].node, 10_179);
    assert!(
        choose(3, 1, None, |_| false)
            .unwrap_err()
            .contains("--port")
    );
}

#[test]
fn wish_is_kept_or_refused_with_the_reason() {
    assert_eq!(choose(2, 1, Some(9000), |_| true).unwrap()[1].node, 9010);
    let refused = choose(2, 1, Some(9000), |port| port != 19_010).unwrap_err();
    assert!(refused.contains("19010"), "{refused}");
    assert!(
        choose(2, 1, Some(60_000), |_| true)
            .unwrap_err()
            .contains("1 to 55515")
    );
    assert!(
        choose(16, 128, None, |_| true)
            .unwrap_err()
            .contains("fewer")
    );
}
