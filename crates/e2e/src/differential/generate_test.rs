use super::{sequence, slot_of};
use crate::differential::Dialect;

#[test]
fn a_sequence_is_a_function_of_its_seed() {
    for dialect in [Dialect::Cluster, Dialect::Standalone] {
        assert_eq!(sequence(dialect, 7), sequence(dialect, 7));
        assert_ne!(sequence(dialect, 7), sequence(dialect, 8));
    }
}

/// The examples of the Redis Cluster specification.
#[test]
fn slots_are_those_of_redis_cluster() {
    assert_eq!(slot_of(b"123456789"), 0x31c3);
    assert_eq!(
        slot_of(b"{user1000}.following"),
        slot_of(b"{user1000}.followers")
    );
    assert_eq!(slot_of(b"foo{{bar}}zap"), slot_of(b"{bar"));
    assert_eq!(slot_of(b"foo{bar}{zap}"), slot_of(b"bar"));
    assert_ne!(slot_of(b"foo{}{bar}"), slot_of(b"bar"));
}
