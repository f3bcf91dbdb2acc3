use super::*;
use crate::accepted::ConnectionId;
use crate::append::BatchId;
use crate::output::{Frontier, PlaceholderId};
use crate::request::Token;
use brickyard_routing::Member;

/// A reply that rests on a batch.
fn held(part: u32, batch: u64, deadline: Option<Instant>, text: &str) -> Held {
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
        bytes: text.as_bytes().to_vec(),
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
    replies.hold(held(0, 2, None, "two"));
    replies.hold(held(1, 1, None, "one"));
    assert!(replies.take_open(&upto(0)).is_empty());
    let open = replies.take_open(&upto(1));
    assert_eq!((open.len(), &open[0].1[..]), (1, &b"one"[..]));
    replies.refuse(Lost::From(BatchId(2)), b"-lost");
    let open = replies.take_open(&upto(1));
    assert_eq!((open.len(), &open[0].1[..]), (1, &b"-lost"[..]));
    assert!(replies.all_left());
}

#[test]
fn replies_past_their_deadline_become_an_error_but_not_those_that_have_committed() {
    let mut replies = Replies::default();
    replies.hold(held(0, 3, Some(Instant(10)), "late"));
    replies.expect(Instant(10), held(1, 3, None, "").origin);
    replies.hold(held(2, 1, Some(Instant(10)), "committed"));
    replies.expect(Instant(20), held(3, 3, None, "").origin);
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
    assert!(replies.all_left());
    // The last one has its own time.
    let none = || b"-late".to_vec();
    assert!(replies.expire(Instant(19), &upto(3), none).is_none());
    let (_, in_output) = replies.expire(Instant(20), &upto(3), none).unwrap();
    assert_eq!(in_output[0].token.part, 3);
}
