//! Commands that need nothing of a brick's data, of connections and of scripts.

use crate::channels::Published;
use crate::shared::Shared;
use brickyard_command::request::parse_ping;
use brickyard_command::{Args, CommandId, ErrorReply, Spec};
use brickyard_replication::frame::RECORD_BYTES_MAX;
use brickyard_types::UnixMillis;
use brickyard_wire::Reply;

/// `PING`.
pub(crate) fn ping(args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), ErrorReply> {
    match parse_ping(args)? {
        None => reply.simple("PONG"),
        Some(message) => reply.bulk(message),
    }
    Ok(())
}

/// `TIME`.
pub(crate) fn time(now: UnixMillis, reply: &mut Reply<'_>) {
    reply.array(2);
    reply.bulk((now.0 / 1000).to_string().as_bytes());
    reply.bulk((now.0 % 1000 * 1000).to_string().as_bytes());
}

/// `PUBLISH` and `SPUBLISH`: the message, and how many clients of this node it will get to.
pub(crate) fn published(
    shared: &Shared,
    spec: &Spec,
    args: Args<'_>,
) -> Result<(Published, i64), ErrorReply> {
    /// What is around it on its way to another node.
    const AROUND: usize = 64;
    let published = Published {
        is_sharded: spec.id == CommandId::Spublish,
        channel: args.at(1).to_vec(),
        message: args.at(2).to_vec(),
    };
    let bytes = published.channel.len() + published.message.len();
    if bytes > RECORD_BYTES_MAX - AROUND {
        return Err(ErrorReply::new(format!(
            "ERR the message and its channel have {bytes} bytes, and {} is the most that goes to other nodes; send it in pieces",
            RECORD_BYTES_MAX - AROUND
        )));
    }
    let count = shared.channels.receivers(&published).count;
    Ok((published, count.cast_signed()))
}
