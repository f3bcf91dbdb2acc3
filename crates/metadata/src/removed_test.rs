use super::*;
use crate::fixture::{cluster, registration};
use crate::{Catalog, Change};
use brickyard_routing::NodeId;

#[test]
fn process_whose_node_was_removed_is_known_and_the_next_one_of_its_directory_is_not() {
    let mut catalog = cluster(2, 1);
    let removed = catalog.node(NodeId(1)).unwrap().registration.clone();
    assert!(!catalog.has_removed(&removed));
    let removal = Change::RemoveNode {
        node: NodeId(1),
        force: true,
    };
    catalog.apply(removal).unwrap();
    assert!(catalog.has_removed(&removed));
    let next = Registration {
        run: removed.run + 1,
        ..removed
    };
    assert!(!catalog.has_removed(&next));
    assert_eq!(Catalog::decode(&catalog.encode()).unwrap(), catalog);
}

#[test]
fn only_the_newest_are_known() {
    let mut removed = Removed::default();
    let process = |run: u64| Registration {
        run,
        ..registration(9, 1)
    };
    for run in 0..=REMOVED_MAX as u64 {
        removed.note(&process(run));
    }
    assert!(!removed.has(&process(0)));
    assert!(removed.has(&process(1)));
    assert!(removed.has(&process(REMOVED_MAX as u64)));
    assert_eq!(removed.check(), Ok(()));
    removed.processes.push_front(Default::default());
    assert!(removed.check().is_err(), "none has more");
}
