use super::*;
use crate::{
    Change,
    fixture::{cluster, registration},
};
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
    let mut catalog = cluster(1, 1);
    let process = |run: u64| Registration {
        run,
        ..registration(9, 1)
    };
    for run in 0..=REMOVED_MAX as u64 {
        catalog.note_removed(&process(run));
    }
    assert!(!catalog.has_removed(&process(0)));
    assert!(catalog.has_removed(&process(1)));
    assert!(catalog.has_removed(&process(REMOVED_MAX as u64)));
    assert!(Catalog::decode(&catalog.encode()).is_ok());
    catalog.removed.push_front(Default::default());
    assert!(Catalog::decode(&catalog.encode()).is_err(), "none has more");
}
