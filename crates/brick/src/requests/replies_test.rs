use super::*;
use crate::accepted::ConnectionId;
use crate::append::BatchId;
use crate::output::{Frontier, PlaceholderId};
use crate::request::Token;
use brickyard_routing::Member;

/// A reply to another brick, or one in a client's output (`bytes`: `None`), that rests on a batch.
fn held(part: u32, batch: u64, deadline: Option<Instant>, bytes: Option<&str>) -> Held {
    Held {
        dependency: CommitDependency {
            batch: BatchId(batch),
            ..CommitDependency::NONE
        },
        origin: Origin {
            member: Member::default(),
            token: Token {
                connection: ConnectionId(1),
                client: 1,
                placeholder: PlaceholderId(0),
                part,
            },
        },
        deadline,
        bytes: bytes.map(|text| text.as_bytes().to_vec()),
    }
}

fn upto(batch: u64) -> Frontier {
    Frontier {
        committed: BatchId(batch),
        ..Frontier::default()
    }
}

#[test]
fn replies_leave_when_what_they_rest_on_has_committed() {
    let mut replies = Replies::default();
    replies.hold(held(0, 2, None, Some("two")));
    replies.hold(held(1, 1, None, Some("one")));
    assert!(replies.take_open(&upto(0)).is_empty());
    let open = replies.take_open(&upto(1));
    assert_eq!((open.len(), &open[0].1[..]), (1, &b"one"[..]));
    replies.refuse(Lost::From(BatchId(2)), b"-lost");
    let open = replies.take_open(&upto(1));
    assert_eq!((open.len(), &open[0].1[..]), (1, &b"-lost"[..]));
    assert!(replies.0.is_empty());
}

#[test]
fn replies_past_their_deadline_become_an_error_but_not_those_that_have_committed() {
    let mut replies = Replies::default();
    replies.hold(held(0, 3, Some(Instant(10)), Some("late")));
    replies.hold(held(1, 3, Some(Instant(10)), None));
    replies.hold(held(2, 1, Some(Instant(10)), Some("committed")));
    replies.hold(held(3, 3, Some(Instant(20)), None));
    assert!(
        replies
            .expire(Instant(9), &upto(1), || b"-late".to_vec())
            .is_none()
    );
    let (error, in_output) = replies
        .expire(Instant(10), &upto(1), || b"-late".to_vec())
        .unwrap();
    assert_eq!(error, b"-late");
    assert_eq!(in_output.len(), 1);
    assert_eq!(in_output[0].token.part, 1);
    let open: Vec<Vec<u8>> = replies
        .take_open(&upto(1))
        .into_iter()
        .map(|it| it.1)
        .collect();
    assert_eq!(open, [b"-late".to_vec(), b"committed".to_vec()]);
    // The last one waits for its own deadline, or for its batch.
    assert!(replies.all_left() && !replies.0.is_empty());
    assert!(replies.take_open(&upto(3)).is_empty() && replies.0.is_empty());
}
