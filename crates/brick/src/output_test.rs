use super::*;

const FIRST: CommitDependency = CommitDependency {
    batch: BatchId(1),
    ..CommitDependency::NONE
};
const SECOND: CommitDependency = CommitDependency {
    batch: BatchId(2),
    ..CommitDependency::NONE
};

fn write(output: &mut Output, reply: &[u8], dependency: CommitDependency) {
    let buffer = output.begin();
    let start = buffer.len();
    buffer.extend_from_slice(reply);
    output.end(start, dependency);
}

fn committed(batch: u64) -> Frontier {
    Frontier {
        committed: BatchId(batch),
        ..Frontier::default()
    }
}

fn drain(output: &mut Output) -> Vec<u8> {
    let bytes = output.ready().to_vec();
    output.on_sent(bytes.len());
    bytes
}

#[test]
fn open_replies_are_ready_at_once() {
    let mut output = Output::default();
    write(&mut output, b"a", CommitDependency::NONE);
    write(&mut output, b"b", CommitDependency::NONE);
    assert_eq!(drain(&mut output), b"ab");
    assert_eq!(output.len(), 0);
}

#[test]
fn dependent_reply_holds_all_behind_it_and_none_before() {
    let mut output = Output::default();
    write(&mut output, b"a", CommitDependency::NONE);
    write(&mut output, b"b", FIRST);
    write(&mut output, b"c", CommitDependency::NONE);
    assert_eq!(drain(&mut output), b"a");
    assert!(!output.advance(&committed(0)));
    assert!(output.advance(&committed(1)));
    assert_eq!(drain(&mut output), b"bc");
    assert_eq!(output.len(), 0);
}

#[test]
fn later_batch_does_not_hold_back_an_earlier_one() {
    let mut output = Output::default();
    write(&mut output, b"a", FIRST);
    write(&mut output, b"b", SECOND);
    assert!(output.advance(&committed(1)));
    assert_eq!(drain(&mut output), b"a");
    assert!(output.advance(&committed(2)));
    assert_eq!(drain(&mut output), b"b");
}

/// The log refuses a batch: what was prepared in it was not done, and what waits for others in it waits on.
#[test]
fn refusal_of_the_log_denies_what_was_prepared_in_it() {
    let mut output = Output::default();
    let prepared = CommitDependency {
        appended: BatchId(2),
        ..SECOND
    };
    write(&mut output, b"a", prepared);
    write(&mut output, b"b", SECOND);
    output.refuse(Lost::Unwritten(BatchId(2)), b"-E");
    assert!(output.advance(&committed(2)));
    assert_eq!(drain(&mut output), b"-Eb");
}

#[test]
fn refused_batch_turns_just_its_own_replies_into_errors() {
    let mut output = Output::default();
    write(&mut output, b"a", FIRST);
    write(&mut output, b"x", CommitDependency::NONE);
    write(&mut output, b"b", SECOND);
    write(&mut output, b"y", CommitDependency::NONE);
    write(&mut output, b"c", SECOND);
    output.refuse(Lost::From(BatchId(2)), b"-E");
    assert!(output.advance(&committed(1)));
    assert_eq!(drain(&mut output), b"ax-Ey-E");
    assert_eq!(output.len(), 0);
}

#[test]
fn placeholder_keeps_its_place_until_it_is_filled() {
    let mut output = Output::default();
    write(&mut output, b"a", CommitDependency::NONE);
    let first = output.open_placeholder();
    let second = output.open_placeholder();
    write(&mut output, b"d", CommitDependency::NONE);
    assert_eq!(output.placeholders(), 2);
    output.fill_placeholder(second, b"c".to_vec(), CommitDependency::NONE);
    output.advance(&committed(0));
    assert_eq!(drain(&mut output), b"a");
    output.fill_placeholder(first, b"b".to_vec(), FIRST);
    output.advance(&committed(0));
    assert_eq!(drain(&mut output), b"");
    output.advance(&committed(1));
    assert_eq!(drain(&mut output), b"bcd");
    assert_eq!((output.placeholders(), output.len()), (0, 0));
}

#[test]
fn refused_placeholder_becomes_the_error() {
    let mut output = Output::default();
    let placeholder = output.open_placeholder();
    output.fill_placeholder(placeholder, b"v".to_vec(), SECOND);
    output.refuse(Lost::From(BatchId(2)), b"-E");
    output.advance(&committed(0));
    assert_eq!(drain(&mut output), b"-E");
}

#[test]
fn client_that_never_reads_to_the_end_does_not_make_the_buffer_grow() {
    let mut output = Output::default();
    for _ in 0..100 {
        write(&mut output, &[b'x'; 100_000], CommitDependency::NONE);
        output.on_sent(output.ready().len() - 1);
        assert_eq!(output.ready(), b"x");
    }
    assert!(output.ready.len() < 500_000);
}

/// An `MSET` waits for writes of two partitions, and the log refuses what a third one has in that batch.
#[test]
fn reply_about_several_partitions_is_not_denied_for_another_ones_loss() {
    let dependency = |partition| CommitDependency {
        batch: BatchId(4),
        partition: PartitionId(partition),
        ..CommitDependency::NONE
    };
    let mut output = Output::default();
    write(&mut output, b"+OK\r\n", dependency(3).and(dependency(5)));
    write(&mut output, b"+OK\r\n", dependency(8));
    output.refuse(Lost::Of(PartitionId(8), BatchId(4)), b"-MISCONF x\r\n");
    output.advance(&Frontier::default());
    let told = drain(&mut output);
    let (first, second) = told.split_at(told.len() - b"-MISCONF x\r\n".len());
    assert!(
        first.starts_with(b"-UNKNOWNRESULT "),
        "{}",
        told.escape_ascii()
    );
    assert_eq!(second, b"-MISCONF x\r\n");
}

#[test]
fn what_was_sent_is_not_held_any_more() {
    let mut output = Output::default();
    write(&mut output, b"abcd", CommitDependency::NONE);
    output.on_sent(1);
    assert_eq!((output.ready(), output.len()), (&b"bcd"[..], 3));
}
