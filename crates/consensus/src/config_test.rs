use super::*;

#[test]
fn defaults_are_those_that_the_pages_name() {
    let expected = ConsensusConfig {
        id: 7,
        seed: 9,
        election_ticks: 10,
        heartbeat_ticks: 3,
        disk_ticks: 10,
        message_bytes_max: 1_048_576,
        uncommitted_bytes_max: 16_777_216,
        in_flight_max: 64,
        snapshot_after_entries: 4_096,
        entries_kept: 256,
        snapshot_ticks: 200,
        promote_behind_max: 100,
    };
    assert_eq!(ConsensusConfig::new(7, 9), expected);
}
