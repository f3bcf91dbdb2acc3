use super::*;

const ID: TransactionId = TransactionId {
    coordinator: 1,
    number: 2,
};

fn bytes(len: usize) -> Bytes {
    Bytes(vec![b'k'; len])
}

fn encoded(answer: &Answer) -> Vec<u8> {
    let mut out = Vec::new();
    answer.encode(&mut out);
    out
}

fn across(len: usize) -> Answer {
    Answer::IntentAcross {
        id: ID,
        anchor: (TableId(7), bytes(3)),
        decided: Some(vec![(TableId(8), bytes(len))]),
    }
}

#[test]
fn answers_arrive_as_they_were_sent() {
    let of_one = Answer::Intent {
        id: ID,
        anchor: bytes(3),
        decided: Some(vec![bytes(0), bytes(limits::KEY_BYTES_MAX)]),
    };
    for answer in [of_one, across(limits::KEY_BYTES_MAX), Answer::Done] {
        let bytes = encoded(&answer);
        assert_eq!(Answer::decode(&bytes), Ok(answer));
        for len in 0..bytes.len() {
            assert!(Answer::decode(&bytes[..len]).is_err(), "{len} bytes");
        }
        let longer = [&bytes[..], b"x"].concat();
        assert!(Answer::decode(&longer).is_err());
    }
}

/// A part would be made of them.
#[test]
fn keys_that_nobody_can_have_are_believed_of_no_peer() {
    let too_long = limits::KEY_BYTES_MAX + 1;
    let answers = [
        across(too_long),
        Answer::Intent {
            id: ID,
            anchor: bytes(too_long),
            decided: None,
        },
        Answer::Intent {
            id: ID,
            anchor: bytes(1),
            decided: Some(vec![bytes(1), bytes(too_long)]),
        },
    ];
    for answer in answers {
        assert!(Answer::decode(&encoded(&answer)).is_err(), "{too_long}");
    }
}

/// Kinds of answers are numbers: those that earlier programs know keep theirs.
#[test]
fn answer_about_one_table_is_sent_as_it_always_was() {
    let of_one = Answer::Intent {
        id: ID,
        anchor: bytes(1),
        decided: None,
    };
    assert_eq!(encoded(&of_one), [b'=', 7, 1, 2, 1, b'k', 0]);
    assert_eq!(encoded(&across(1))[..2], [b'=', 8]);
}
