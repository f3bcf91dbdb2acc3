use super::*;
use brickyard_routing::{Member, NodeId};
use brickyard_types::{BrickId, Incarnation, View};

fn replica(node: u32) -> Replica {
    Replica {
        member: Member {
            node: NodeId(node),
            brick: BrickId(0),
        },
        incarnation: Incarnation(1),
    }
}

fn group(nodes: &[u32]) -> Group {
    Group {
        view: View(1),
        generation: 1,
        primary: replica(nodes[0]),
        backups: nodes[1..].iter().copied().map(replica).collect(),
        learners: Vec::new(),
        change: None,
    }
}

/// What is counted of a partition of three copies that goes through these.
fn counted(steps: &[&[u32]]) -> (u64, u64, u64) {
    let mut counts = Counts::default();
    for pair in steps.windows(2) {
        compare_copies(&group(pair[0]), &group(pair[1]), 3, &mut counts);
    }
    (counts.evicted, counts.made, counts.moved)
}

#[test]
fn what_is_missing_was_evicted_until_it_is_made() {
    assert_eq!(counted(&[&[1, 2, 3], &[2, 3]]), (1, 0, 0));
    assert_eq!(counted(&[&[1, 2, 3], &[2, 3], &[2, 3, 1]]), (1, 1, 0));
    // By another node.
    assert_eq!(counted(&[&[1, 2, 3], &[2, 3], &[2, 3, 4]]), (1, 1, 0));
    assert_eq!(counted(&[&[1, 2, 3], &[1], &[1, 2, 4]]), (2, 2, 0));
}

#[test]
fn what_leaves_enough_copies_behind_has_moved() {
    assert_eq!(counted(&[&[1, 2, 3], &[1, 2, 3, 4], &[1, 2, 4]]), (0, 0, 1));
    assert_eq!(counted(&[&[1, 2, 3], &[4, 2, 3]]), (0, 0, 1));
    // Another primary is no move.
    assert_eq!(counted(&[&[1, 2, 3], &[2, 1, 3]]), (0, 0, 0));
    // Nor is another life of the same brick.
    let mut again = group(&[1, 2, 3]);
    again.backups[0].incarnation = Incarnation(2);
    let mut counts = Counts::default();
    compare_copies(&group(&[1, 2, 3]), &again, 3, &mut counts);
    assert_eq!(counts, Counts::default());
}
