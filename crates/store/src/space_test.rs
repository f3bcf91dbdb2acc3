use super::*;
use crate::fixture::config;

fn size(segment_bytes: u32, total: u64) -> u64 {
    let config = LogConfig {
        segment_bytes,
        ..config()
    };
    effective_segment_bytes(&config, Space { free: 0, total })
}

#[test]
fn segment_has_room_for_its_header_a_record_and_its_end() {
    let least = (SEGMENT_HEADER_BYTES + HEADER_BYTES + TRAILER_BYTES) as u64;
    assert_eq!(size(1, 1 << 40), least);
    assert_eq!(size(1 << 26, 1 << 40), 1 << 26, "as it was configured");
    assert_eq!(size(1 << 26, 1 << 30), 1 << 25, "a thirty-second");
    assert_eq!(size(1 << 26, 1 << 20), SEGMENT_BYTES_FLOOR);
}
