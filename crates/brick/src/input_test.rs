use super::*;

fn input(len: usize, executed: usize) -> Input {
    let mut input = Input::new(Limits::default());
    input.buffer().extend(std::iter::repeat_n(b'x', len));
    input.executed = executed;
    input.counted = executed;
    input
}

#[test]
fn long_pipeline_is_moved_up_when_half_of_it_is_executed() {
    for (executed, is_queued, left) in [(4, true, 10), (5, true, 5), (4, false, 6), (0, false, 10)]
    {
        let mut input = input(10, executed);
        input.trim(is_queued);
        assert_eq!(input.bytes().len(), left, "{executed} of 10");
        assert_eq!(input.pending(), 10 - executed);
    }
}

#[test]
fn idle_connection_keeps_little_memory() {
    for (len, is_kept) in [(KEPT / 2, true), (4 * KEPT, false)] {
        let mut input = input(len, len);
        input.trim(false);
        assert_eq!(input.buffer().capacity() > 0, is_kept, "{len} bytes");
    }
}
