//! What is made of first frames, and how long until the next attempt.

use super::*;
use crate::peer::{ConnectionKind, HEADER_BYTES, Introduction};
use brickyard_metadata::ClusterId;

const OURS: NodeKey = NodeKey([3; 20]);

fn introduction() -> Introduction {
    Introduction {
        cluster: Some(ClusterId(5)),
        key: OURS,
        node: None,
    }
}

fn body(frame: &[u8]) -> &[u8] {
    &frame[HEADER_BYTES..]
}

/// Of another version.
fn of_version_9(frame: &[u8]) -> Vec<u8> {
    let mut body = body(frame).to_vec();
    body[8] = 9;
    body
}

#[test]
fn hello_of_another_version_is_answered_and_of_a_stranger_is_not() {
    let hello = introduction().hello(ConnectionKind::Control);
    let frame = hello.frame();
    assert_eq!(on_hello(body(&frame)), Greeted::Ok(hello));
    let refused = Greeted::Refused(HandshakeRefused::Version(9));
    assert_eq!(on_hello(&of_version_9(&frame)), refused);
    assert!(matches!(on_hello(b"GET / HTTP/1.1"), Greeted::Stranger(_)));
}

#[test]
fn welcome_of_another_node_than_the_one_that_should_be_there_is_none() {
    let welcome = introduction().welcome();
    let frame = Answer::Welcome(welcome).frame();
    for expected in [None, Some(OURS)] {
        assert_eq!(on_answer(body(&frame), expected), Greeted::Ok(welcome));
    }
    let answer = on_answer(body(&frame), Some(NodeKey([4; 20])));
    assert!(matches!(answer, Greeted::Stranger(_)), "{answer:?}");
}

#[test]
fn refusals_are_told_whoever_was_expected() {
    let frame = Answer::Refused(HandshakeRefused::Stopping).frame();
    let refused = Greeted::Refused(HandshakeRefused::Stopping);
    assert_eq!(on_answer(body(&frame), Some(OURS)), refused);
    let other = Greeted::Refused(HandshakeRefused::Version(9));
    assert_eq!(on_answer(&of_version_9(&frame), None), other);
}

#[test]
fn pauses_grow_and_begin_anew_with_a_connection() {
    let mut redial = Redial::default();
    let pauses: Vec<u128> = (0..6).map(|_| redial.pause().as_millis()).collect();
    assert_eq!(pauses, [100, 200, 400, 800, 1000, 1000]);
    redial.on_connected();
    assert_eq!(redial.pause(), RETRY);
    redial.on_refused();
    assert_eq!(redial.pause(), RETRY_MAX);
}
