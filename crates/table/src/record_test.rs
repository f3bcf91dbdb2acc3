use super::*;
use brickyard_types::ValueType;

#[test]
fn equality_is_that_of_slices() {
    for len in 0..40 {
        let left: Vec<u8> = (0..len).collect();
        assert!(are_equal(&left, &left.clone()));
        for at in 0..usize::from(len) {
            let mut right = left.clone();
            right[at] ^= 0x80;
            assert!(!are_equal(&left, &right), "{len} bytes, other at {at}");
        }
    }
}

#[test]
fn header_reads_back_as_written() {
    let op = Op((1 << 48) - 1);
    let largest = (ValueType::BuiltString, STRING_LEN_MAX);
    let header = Header::new(State::Cold, largest, LocalPartition(0xfffe), op)
        .with_key_len(u16::MAX)
        .with_segment(u16::MAX - 2);
    let mut bytes = [0xaa; HEADER_BYTES];
    write_header(&mut bytes, header);
    assert_eq!(read(&bytes), Occupant::Record(header));
    assert_eq!(
        (header.state(), header.value_len()),
        (State::Cold, STRING_LEN_MAX)
    );
    assert_eq!(
        (header.key_len(), header.partition()),
        (usize::from(u16::MAX), LocalPartition(0xfffe))
    );
    assert_eq!((header.segment(), header.op()), (u16::MAX - 2, op));
    assert_eq!(header.value_type(), ValueType::BuiltString);
    assert!(!header.is_referenced() && !header.has_expiry());
    write_dead(&mut bytes, 64 << 20);
    assert_eq!(read(&bytes), Occupant::Dead(64 << 20));
}

#[test]
fn header_fields_change_alone() {
    let header = Header::new(State::Hot, (ValueType::String, 5), LocalPartition(6), Op(7))
        .with_key_len(8)
        .with_segment(9);
    let fields = |header: Header| {
        let lens = (
            header.value_len(),
            header.key_len(),
            header.partition(),
            header.segment(),
        );
        let flags = (header.is_referenced(), header.has_expiry());
        (header.state(), lens, flags, header.op())
    };
    let lens = (5, 8, LocalPartition(6), 9);
    let none = (false, false);
    let (hot, op) = (State::Hot, Op(7));
    assert_eq!(fields(header), (hot, lens, none, op));
    let tombstone = header.with_state(State::Cold).with_state(State::Tombstone);
    assert_eq!(fields(tombstone), (State::Tombstone, lens, none, op));
    assert_eq!(
        fields(header.with_referenced(true)),
        (hot, lens, (true, false), op)
    );
    assert_eq!(
        fields(header.with_expiry(true)),
        (hot, lens, (false, true), op)
    );
    let mut bytes = [0; HEADER_BYTES];
    write_header(&mut bytes, header);
    mark_referenced(&mut bytes, true);
    assert_eq!(read(&bytes), Occupant::Record(header.with_referenced(true)));
    mark_referenced(&mut bytes, false);
    assert_eq!(read(&bytes), Occupant::Record(header));
}

#[test]
fn a_header_says_what_a_value_is_and_how_long() {
    let largest = [STRING_LEN_MAX, STRING_LEN_MAX, OTHER_LEN_MAX];
    let types = [ValueType::String, ValueType::BuiltString, ValueType::Hash];
    for (value_type, largest) in types.into_iter().zip(largest) {
        for len in [1, 2, largest - 1, largest] {
            let header = Header::new(
                State::Hot,
                (value_type, len),
                LocalPartition(u32::from(u16::MAX)),
                Op(1),
            );
            for header in [header, header.with_state(State::Cold).with_expiry(true)] {
                assert_eq!((header.value_type(), header.value_len()), (value_type, len));
                assert!(!header.is_dead());
            }
        }
    }
    let empty = Header::new(State::Hot, (ValueType::String, 0), LocalPartition(0), Op(1));
    assert_eq!(
        (empty.value_type(), empty.value_len()),
        (ValueType::String, 0)
    );
}

#[test]
fn expiry_keeps_any_time_and_remembers_the_sweep() {
    for at in [0, 1, 1_700_000_000_000, (1 << 56) - 1].map(UnixMillis) {
        let expiry = Expiry::new(at);
        assert!(expiry.has_timer());
        for sweep in [0, 1, Expiry::SWEEPS - 1] {
            assert_eq!(expiry.with_sweep(sweep).at(), at);
            assert_eq!(expiry.with_sweep(sweep).sweep(), sweep);
        }
    }
    for at in [1 << 56, i64::MAX as u64].map(UnixMillis) {
        assert_eq!(Expiry::new(at).with_sweep(5).at(), at);
        assert!(!Expiry::new(at).has_timer());
    }
}
