use super::*;

const PATIENCE: u32 = 3;

#[test]
fn a_disk_is_bad_while_something_is_owed_for_too_long() {
    let mut disk = OwnDisk::default();
    disk.tick(None, PATIENCE);
    let since = Some(disk.now());
    for _ in 1..PATIENCE {
        disk.tick(since, PATIENCE);
        assert!(!disk.is_bad());
    }
    disk.tick(since, PATIENCE);
    assert!(disk.is_bad());
    // What was handed out after that is not owed for long yet.
    disk.take(Some(disk.now()), PATIENCE);
    assert!(!disk.is_bad() && disk.is_distrusted());
}

#[test]
fn a_disk_that_took_what_was_owed_longest_is_bad_still_if_the_next_is_owed_for_too_long() {
    let mut disk = OwnDisk::default();
    for _ in 0..=PATIENCE {
        disk.tick(Some(0), PATIENCE);
    }
    disk.take(Some(1), PATIENCE);
    assert!(disk.is_bad());
    disk.take(None, PATIENCE);
    assert!(!disk.is_bad());
}

#[test]
fn a_disk_that_refuses_is_bad_at_once_and_until_it_takes_something() {
    let mut disk = OwnDisk::default();
    disk.refuse();
    disk.tick(Some(0), PATIENCE);
    assert!(disk.is_bad());
    disk.take(None, PATIENCE);
    assert!(!disk.is_bad());
}

#[test]
fn distrust_ends() {
    let mut disk = OwnDisk::default();
    assert!(!disk.is_distrusted());
    disk.refuse();
    disk.take(None, PATIENCE);
    for _ in 0..DISTRUST_TICKS {
        assert!(disk.is_distrusted());
        disk.tick(None, PATIENCE);
    }
    assert!(!disk.is_distrusted());
}

#[test]
fn a_node_holds_back_for_so_many_ticks_each_time_that_it_would_stand() {
    let mut disk = OwnDisk::default();
    assert!(!disk.holds_back(2), "nothing was wrong");
    disk.refuse();
    for _ in 0..2 {
        assert!(disk.holds_back(2) && disk.holds_back(2));
        assert!(!disk.holds_back(2));
        disk.on_no_election();
    }
}
