use super::*;
use proptest::prelude::*;

fn head(kind: MessageType) -> Message {
    let mut message = Message::default();
    message.set_msg_type(kind);
    (message.to, message.from, message.term) = (2, 1, 7);
    (message.log_term, message.index) = (6, 40);
    (message.commit, message.commit_term, message.reject_hint) = (39, 5, 38);
    message
}

fn append() -> Message {
    let mut message = head(MessageType::MsgAppend);
    let entry = |index, term, kind, data| LogEntry {
        index,
        term,
        kind,
        data,
    };
    let entries = [
        entry(41, 6, EntryKind::Data, vec![]),
        entry(
            42,
            7,
            EntryKind::Membership,
            ConfChange::Promote(3).encode(),
        ),
        entry(43, 7, EntryKind::Data, vec![1, 2, 3]),
    ];
    message.set_entries(entries.map(entry_to_library).to_vec().into());
    message
}

fn snapshot() -> Message {
    let mut message = head(MessageType::MsgSnapshot);
    message.set_snapshot(snapshot_to_library(Snapshot {
        index: 40,
        term: 6,
        voters: vec![1, 2],
        learners: vec![3],
        data: vec![9; 5],
    }));
    message
}

fn all() -> Vec<Message> {
    let mut all: Vec<Message> = KINDS.iter().map(|(kind, _)| head(*kind)).collect();
    let mut transfer = head(MessageType::MsgRequestVote);
    transfer.context = CAMPAIGN_TRANSFER.to_vec().into();
    let mut round = head(MessageType::MsgHeartbeat);
    round.context = 77u64.to_le_bytes().to_vec().into();
    let mut reject = head(MessageType::MsgAppendResponse);
    reject.reject = true;
    all.retain(|message| message.get_msg_type() != MessageType::MsgSnapshot);
    all.extend([transfer, round, reject, append(), snapshot()]);
    all
}

#[test]
fn what_is_sent_arrives() {
    for message in all() {
        let bytes = encode(&message).unwrap();
        assert_eq!(decode(&bytes).unwrap(), message);
        for len in 0..bytes.len() {
            // A snapshot's data is the rest, whatever that is.
            let is_data =
                message.get_msg_type() == MessageType::MsgSnapshot && len + 5 >= bytes.len();
            assert!(
                is_data || decode(&bytes[..len]).is_err(),
                "{message:?} cut at {len}"
            );
        }
    }
}

/// The bytes are for ever: nodes of two versions talk while a cluster is updated.
/// The first entries that a node is sent follow none.
#[test]
fn entries_of_the_first_term_are_taken_and_of_none_are_not() {
    for (term, is_taken) in [(1, true), (0, false)] {
        let mut message = head(MessageType::MsgAppend);
        (message.log_term, message.index) = (0, 0);
        let entry = LogEntry {
            index: 1,
            term,
            kind: EntryKind::Data,
            data: vec![1],
        };
        message.set_entries(vec![entry_to_library(entry)].into());
        let bytes = encode(&message).unwrap();
        assert_eq!(decode(&bytes).is_ok(), is_taken, "term {term}");
    }
}

#[test]
fn bytes_are_as_documented() {
    let mut expected = vec![1, 1, 0, 0];
    for number in [2u64, 1, 7, 6, 40, 39, 5, 38, 0] {
        expected.extend(number.to_le_bytes());
    }
    expected.extend([3, 0, 0, 0]);
    expected.extend([6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([7, 0, 0, 0, 0, 0, 0, 0, 1, 9, 0, 0, 0]);
    expected.extend([2, 3, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([7, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3]);
    assert_eq!(encode(&append()).unwrap(), expected);
    let snapshot = encode(&snapshot()).unwrap();
    let mut expected = vec![];
    expected.extend([40, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([2, 0, 0, 0, 1, 0, 0, 0]);
    for id in [1u64, 2, 3] {
        expected.extend(id.to_le_bytes());
    }
    expected.extend([9; 5]);
    assert_eq!(snapshot[76..], expected);
}

#[test]
fn what_nobody_sends_is_refused() {
    let refused = |spoil: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = encode(&append()).unwrap();
        spoil(&mut bytes);
        decode(&bytes).unwrap_err()
    };
    assert_eq!(refused(&|it| it[0] = 2), Rejected::Version(2));
    assert_eq!(
        refused(&|it| it[1] = 99),
        Rejected::Malformed("unknown kind")
    );
    assert_eq!(
        refused(&|it| it[2] = 4),
        Rejected::Malformed("unknown flag")
    );
    let high = refused(&|it| it[27] = 0xff);
    assert_eq!(high, Rejected::Malformed("a number too high"));
    let term = refused(&|it| it[20] = 0);
    assert_eq!(term, Rejected::Malformed("no sender, receiver or term"));
    let log_term = refused(&|it| it[28] = 0);
    assert_eq!(log_term, Rejected::Malformed("no term before the entries"));
    let order = refused(&|it| it[80] = 5);
    assert_eq!(order, Rejected::Malformed("terms out of order"));
    let change = refused(&|it| it[106] = 9);
    assert_eq!(change, Rejected::Malformed("unknown change of membership"));
    let more = refused(&|it| it.push(0));
    assert_eq!(more, Rejected::Malformed("something behind it"));
    let forwarded = encode(&head(MessageType::MsgPropose));
    assert_eq!(forwarded, None);
}

proptest! {
    #[test]
    fn any_bytes_decode_or_are_refused(bytes: Vec<u8>, number in 0usize..16, cut in 0usize..200) {
        let _ = decode(&bytes);
        let mut message = encode(&all()[number % all().len()]).unwrap();
        message.truncate(cut);
        message.extend(bytes);
        if let Ok(decoded) = decode(&message) {
            prop_assert_eq!(decode(&encode(&decoded).unwrap()).unwrap(), decoded);
        }
    }
}
