//! Bytes to frames and back: the protocol that Redis clients speak.
//!
//! In:  a connection's input buffer, as it grows ([`RequestDecoder`], [`ReplyDecoder`]).
//! Out: where a request's arguments stand in that buffer ([`Span`]), a reply as a [`Value`], or
//!      bytes at the end of a connection's output buffer ([`Reply`], [`encode_request`]).
//!
//! Invariants:
//! - What is decoded does not depend on where the stream was cut into pieces.
//! - Decoding costs time linear in the bytes received, also when they arrive one by one.
//! - No count or length that a peer announces is believed with memory: buffers grow with the bytes
//!   that have arrived.
//! - Nothing here panics on bytes from outside.
//!
//! Not here: sockets and buffers (`server`), which commands exist and what they answer (`command`).
//! Source: the RESP2 and RESP3 specifications, and what redis-server 7.0 answers to odd frames
//! (docs/wire.md).

#![deny(clippy::indexing_slicing)]

mod error;
mod fate;
mod request_id;
pub mod resp;

pub use error::{ProtocolError, ReplyError};
pub use fate::{Fate, fate, is_not_executed};
pub use request_id::{IDS_UP_TO, UNKNOWN_EXECUTED, UNKNOWN_FORGOTTEN, ids_up_to, is_past_asking};
pub use resp::{
    Limits, Protocol, Reply, ReplyDecoder, ReplyLimits, ReplyStep, RequestDecoder, Span, Step,
    Value, encode_request, split_words,
};
