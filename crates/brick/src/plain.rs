//! Commands that need nothing of a brick, of connections and of scripts.

use brickyard_command::request::parse_ping;
use brickyard_command::{Args, ErrorReply};
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
