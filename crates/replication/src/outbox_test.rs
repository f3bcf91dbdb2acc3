use super::*;
use crate::frame::frame_len;
use brickyard_routing::Replica;

const LINK: LinkId = LinkId(3);

fn outbox() -> Outbox {
    let mut outbox = Outbox::new(&ReplicatorConfig::new(Replica::default()));
    outbox.open(LINK, Direction::Outgoing);
    outbox
}

fn frames(mut bytes: &[u8]) -> Vec<Frame<'_>> {
    let mut frames = Vec::new();
    while let Some(len) = frame_len(bytes).unwrap() {
        let (frame, rest) = bytes.split_at(len);
        frames.push(Frame::decode(frame).unwrap());
        bytes = rest;
    }
    frames
}

fn pong() -> Vec<u8> {
    let mut bytes = Vec::new();
    Frame::Pong.encode(&mut bytes);
    bytes
}

#[test]
fn records_share_a_frame_until_another_frame_comes() {
    let mut outbox = outbox();
    outbox.records(LINK, b"one");
    outbox.records(LINK, b"two");
    outbox.frame(LINK, &pong());
    outbox.records(LINK, b"three");
    outbox.frame(LINK, &pong());
    let sent = [
        Frame::Records(b"onetwo"),
        Frame::Pong,
        Frame::Records(b"three"),
        Frame::Pong,
    ];
    assert_eq!(frames(outbox.bytes(LINK)), sent);
}

#[test]
fn a_long_frame_of_records_is_ended() {
    let mut outbox = outbox();
    let record = vec![1; RECORDS_BYTES / 2];
    for _ in 0..3 {
        outbox.records(LINK, &record);
    }
    outbox.frame(LINK, &pong());
    assert_eq!(frames(outbox.bytes(LINK)).len(), 4);
}

#[test]
fn sent_bytes_leave_the_buffer() {
    let mut outbox = outbox();
    outbox.frame(LINK, &pong());
    let len = outbox.unsent(LINK);
    assert_eq!(outbox.poll(), Some(LINK));
    assert_eq!(outbox.poll(), None);
    outbox.on_sent(LINK, 2);
    assert_eq!(outbox.bytes(LINK), &pong()[2..]);
    outbox.on_sent(LINK, len - 2);
    assert_eq!(outbox.unsent(LINK), 0);
}

#[test]
fn a_link_that_is_not_read_is_named_once_and_takes_nothing_once_it_is_shut() {
    let mut outbox = outbox();
    outbox.limit(10);
    outbox.frame(LINK, &pong());
    outbox.frame(LINK, &pong());
    outbox.frame(LINK, &pong());
    assert_eq!(outbox.poll_stuck(), Some(LINK));
    assert_eq!(outbox.poll_stuck(), None);
    let unsent = outbox.unsent(LINK);
    outbox.shut(LINK);
    outbox.frame(LINK, &pong());
    assert!(!outbox.message(LINK, b"hello"));
    assert_eq!(outbox.unsent(LINK), unsent);
}

/// Messages are not answered where they are sent: without a ping nothing would be heard on a stream that has nothing else.
#[test]
fn a_stream_carries_pings_however_many_messages_it_carries() {
    let mut outbox = outbox();
    let began = Instant(1_000_000_000);
    for millis in (0..=1_500).step_by(50) {
        outbox.message(LINK, b"hello");
        outbox.tick(began + Duration::from_millis(millis));
    }
    let sent = frames(outbox.bytes(LINK));
    let pings = sent.iter().filter(|it| **it == Frame::Ping).count();
    assert_eq!(pings, 3);
    assert_eq!(sent.last(), Some(&Frame::Ping), "each after half a second");
}

#[test]
fn a_closed_link_is_named_no_more_and_others_are() {
    let other = LinkId(4);
    let mut outbox = outbox();
    outbox.open(other, Direction::Incoming);
    outbox.frame(LINK, &pong());
    outbox.frame(other, &pong());
    outbox.close(LINK);
    outbox.open(LINK, Direction::Outgoing);
    outbox.frame(LINK, &pong());
    let named: Vec<LinkId> = std::iter::from_fn(|| outbox.poll()).collect();
    assert_eq!(named, [other, LINK], "each once");
}

#[test]
fn a_copy_ends_the_records_before_it_and_says_whether_there_is_room() {
    let mut config = ReplicatorConfig::new(Replica::default());
    config.copy_bytes_max = 100;
    let mut outbox = Outbox::new(&config);
    outbox.open(LINK, Direction::Outgoing);
    let partition = PartitionId(7);
    outbox.records(LINK, b"one");
    assert!(outbox.copy(LINK, partition, b"two"));
    let records = &b"two"[..];
    let sent = [Frame::Records(b"one"), Frame::Copy { partition, records }];
    assert_eq!(frames(outbox.bytes(LINK)), sent);
    assert!(!outbox.copy(LINK, partition, &[1; 100]), "it is full");
    // What was sent gives room, to the byte.
    let waiting = outbox.unsent(LINK);
    outbox.on_sent(LINK, waiting - 100);
    assert_eq!((outbox.unsent(LINK), outbox.has_room(LINK)), (100, false));
    outbox.on_sent(LINK, 1);
    assert!(outbox.has_room(LINK));
    outbox.shut(LINK);
    assert!(!outbox.has_room(LINK));
}

#[test]
fn a_message_that_no_frame_holds_is_refused() {
    let mut outbox = outbox();
    let mut bytes = vec![0; RECORD_BYTES_MAX + 1];
    assert!(!outbox.message(LINK, &bytes));
    assert_eq!(outbox.unsent(LINK), 0);
    bytes.pop();
    assert!(outbox.message(LINK, &bytes), "the longest one");
}

#[test]
fn a_closed_link_is_stuck_no_more_and_others_are() {
    let other = LinkId(4);
    let mut config = ReplicatorConfig::new(Replica::default());
    config.output_bytes_max = 100;
    let mut outbox = Outbox::new(&config);
    for link in [LINK, other] {
        outbox.open(link, Direction::Outgoing);
        for _ in 0..20 {
            outbox.frame(link, &pong());
        }
    }
    outbox.close(LINK);
    let stuck: Vec<LinkId> = std::iter::from_fn(|| outbox.poll_stuck()).collect();
    assert_eq!(stuck, [other]);
}
