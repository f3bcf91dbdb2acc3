//! The decoders of what other nodes send, for the fuzzer, which tries them with any bytes
//! (`crates/fuzz`): the types that they make are no affair of other rooms.
//!
//! In:  bytes. Out: what was read, written again; `None` if it was refused.

use crate::peer::frame;
use brickyard_control::message::{
    BrickState, LeaderContactReply, LeaseGrant, LeaseRequest, ToLeader, ToNode,
};
use brickyard_metadata::{CatalogVersion, ClusterId, NodeKey};
use brickyard_node::peer::{
    Answer, ConnectionKind, HEADER_BYTES, HandshakeRefused, Hello, Introduction, MESSAGE_BYTES_MAX,
    frame as framed_as,
};
use brickyard_node::{Message, encode};
use brickyard_routing::{Member, NodeId, Replica};
use brickyard_types::{BrickId, Incarnation};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The body of the first hello.
#[must_use]
pub fn hello(body: &[u8]) -> Option<Vec<u8>> {
    let hello = Hello::read(body).ok()?;
    Some(hello.frame().split_off(HEADER_BYTES))
}

/// The body of the answer to it.
#[must_use]
pub fn answer(body: &[u8]) -> Option<Vec<u8>> {
    let answer = Answer::read(body).ok()?;
    if let Answer::Refused(refused) = &answer {
        // Every refusal has its sentence.
        drop(refused.to_string());
    }
    Some(answer.frame().split_off(HEADER_BYTES))
}

/// The body of a message of the control plane.
#[must_use]
pub fn message(body: &[u8]) -> Option<Vec<u8>> {
    let message = Message::read(body)?;
    Some(encode(&message))
}

/// The body of the frame that the bytes begin with.
#[must_use]
pub fn framed(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let read = pin!(frame::read(&mut bytes, MESSAGE_BYTES_MAX));
    let mut context = Context::from_waker(Waker::noop());
    // What is in memory never has to be waited for.
    match read.poll(&mut context) {
        Poll::Ready(Ok(body)) => Some(body),
        Poll::Ready(Err(_)) | Poll::Pending => None,
    }
}

/// Hellos, answers and messages to begin with: frames, and bodies alone.
#[must_use]
pub fn node_messages() -> Vec<Vec<u8>> {
    let introduction = Introduction {
        cluster: Some(ClusterId(5)),
        key: NodeKey([3; 20]),
        node: Some((NodeId(2), Incarnation(9))),
    };
    let replica = Replica {
        member: Member {
            node: NodeId(1),
            brick: BrickId(0),
        },
        incarnation: Incarnation(2),
    };
    let stream = ConnectionKind::Stream {
        from: replica,
        to: replica,
        connection: 7,
    };
    let lease = LeaseRequest {
        node: NodeId(1),
        incarnation: Incarnation(2),
        sent_at: 3,
        bricks: vec![BrickState::default(); 2],
    };
    let grant = LeaseGrant {
        incarnation: Incarnation(2),
        sent_at: 3,
        lease: Duration::from_millis(1_500),
        version: CatalogVersion(4),
        bricks: vec![true, false],
    };
    let contact = LeaderContactReply {
        term: 3,
        ago: Duration::from_secs(1),
    };
    let frames = [
        introduction.hello(ConnectionKind::Control).frame(),
        introduction.hello(stream).frame(),
        Answer::Welcome(introduction.welcome()).frame(),
        Answer::Refused(HandshakeRefused::Unknown(replica)).frame(),
        framed_as(&encode(&Message::Raft(vec![1, 2, 3]))),
        framed_as(&encode(&Message::ToLeader(ToLeader::Lease(lease)))),
        framed_as(&encode(&Message::ToLeader(ToLeader::LeaderContact(
            contact,
        )))),
        framed_as(&encode(&Message::ToNode(ToNode::Grant(grant)))),
    ];
    let bodies = frames.iter().map(|frame| frame[HEADER_BYTES..].to_vec());
    let bodies: Vec<_> = bodies.collect();
    frames.into_iter().chain(bodies).collect()
}
