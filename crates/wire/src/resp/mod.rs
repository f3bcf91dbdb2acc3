//! RESP, version 2 and 3, and the inline form that people type.
//!
//! Reading order: `limits`, `decode` and `inline` for what clients send; `protocol` and `encode`
//! for what they get; `reply_decode` and `value` for the other end of the connection, which our
//! own tools use.

mod decimal;
mod decode;
mod encode;
mod inline;
mod limits;
mod protocol;
mod reply_decode;
mod value;

pub use decode::{RequestDecoder, Span, Step};
pub use encode::{Reply, encode_request};
pub use inline::split_words;
pub use limits::{Limits, ReplyLimits};
pub use protocol::Protocol;
pub use reply_decode::{ReplyDecoder, ReplyStep};
pub use value::Value;
