use super::*;

#[test]
fn root_holds_everything() {
    assert_eq!(Prefix::ROOT.first(), RoutingHash(0));
    assert_eq!(Prefix::ROOT.last(), RoutingHash(u64::MAX));
    assert!(Prefix::ROOT.contains(RoutingHash(u64::MAX)));
    assert_eq!(Prefix::ROOT.slots(), SlotRange::ALL);
    assert_eq!(Prefix::ROOT.parent(), None);
    assert_eq!(Prefix::ROOT.to_string(), "*");
}

#[test]
fn children_are_the_two_halves_and_know_their_parent() {
    let parent = Prefix::of(RoutingHash(0b0110 << 60), 4);
    assert_eq!(parent.to_string(), "0110*");
    let [left, right] = parent.children().unwrap();
    assert_eq!(left.to_string(), "01100*");
    assert_eq!(right.to_string(), "01101*");
    assert_eq!(left.first(), parent.first());
    assert_eq!(left.last().0 + 1, right.first().0);
    assert_eq!(right.last(), parent.last());
    assert_eq!(left.parent(), Some(parent));
    assert_eq!(right.parent(), Some(parent));
    assert_eq!(right.bits(), 0b01101);
}

#[test]
fn deepest_prefix_has_no_children() {
    let deepest = Prefix::of(RoutingHash(u64::MAX), PARTITION_DEPTH_MAX);
    assert_eq!(deepest.children(), None);
    assert_eq!(deepest.bits(), (1 << PARTITION_DEPTH_MAX) - 1);
}

#[test]
fn prefix_of_14_bits_is_one_slot_and_a_longer_one_a_part_of_it() {
    let hash = RoutingHash(3_999 << 50 | 0xabcd << 30);
    let slot = Prefix::of(hash, 14);
    let part = Prefix::of(hash, 20);
    let expected = SlotRange {
        begin: 3_999,
        end: 4_000,
    };
    assert_eq!(slot.slots(), expected);
    assert_eq!(part.slots(), expected);
    assert!(slot.is_whole_slots());
    assert!(!part.is_whole_slots());
    assert!(slot.contains(part.first()));
    assert!(part.contains(hash));
    assert!(!part.contains(slot.last()));
}

#[test]
fn slot_ranges_read_as_in_cluster_nodes() {
    assert_eq!(SlotRange { begin: 7, end: 8 }.to_string(), "7");
    assert_eq!(SlotRange::ALL.to_string(), "0-16383");
    assert_eq!(SlotRange::ALL.len(), Slot::COUNT);
    assert!(SlotRange { begin: 7, end: 7 }.is_empty());
    assert!(SlotRange::ALL.contains(Slot(16_383)));
}
