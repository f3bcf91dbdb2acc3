//! SUBSCRIBE and its like, PUBLISH, PUBSUB.

use super::next::{Next, Outcome};
use crate::accepted::ConnectionId;
use crate::channels::Kind;
use crate::clients::{Clients, Desk};
use crate::core::Core;
use crate::plain::published;
use brickyard_command::{Args, CommandId, ErrorReply, Spec, help};
use brickyard_wire::Reply;

/// Answers them.
pub(super) fn channels(
    core: &mut Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    use CommandId as Id;
    match spec.id {
        Id::Subscribe => begin(core, clients, id, (Kind::Channel, "subscribe"), args),
        Id::Psubscribe => begin(core, clients, id, (Kind::Pattern, "psubscribe"), args),
        Id::Ssubscribe => begin(core, clients, id, (Kind::Sharded, "ssubscribe"), args),
        Id::Unsubscribe => end(core, clients, id, (Kind::Channel, "unsubscribe"), args),
        Id::Punsubscribe => end(core, clients, id, (Kind::Pattern, "punsubscribe"), args),
        Id::Sunsubscribe => end(core, clients, id, (Kind::Sharded, "sunsubscribe"), args),
        Id::Publish | Id::Spublish => {
            let (published, count) = published(&core.shared, spec, args)?;
            core.outbox.publish(published);
            clients.reply(id, |reply| reply.integer(count));
        }
        _ => clients.answer(id, |reply| pubsub(core, spec, args, reply))?,
    }
    Ok(Next::Done)
}

fn begin(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    (kind, word): (Kind, &str),
    args: Args<'_>,
) {
    for name in args.from(1) {
        clients.subscribe(Desk::of(core), id, kind, name);
        assert!(
            clients[id].session.told.count(kind) > 0,
            "it subscribes to something now"
        );
        confirm(clients, id, (kind, word), Some(name));
    }
}

fn end(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    (kind, word): (Kind, &str),
    args: Args<'_>,
) {
    let subscriptions = clients[id].session.told.subscriptions.as_ref();
    let names: Vec<Vec<u8>> = match args.len() {
        1 => subscriptions.map_or_else(Vec::new, |it| it.names(kind).iter().cloned().collect()),
        _ => args.from(1).map(<[u8]>::to_vec).collect(),
    };
    for name in &names {
        clients.unsubscribe(Desk::of(core), id, kind, name);
        confirm(clients, id, (kind, word), Some(name));
    }
    if names.is_empty() {
        confirm(clients, id, (kind, word), None);
    }
}

/// The client is told to how much it subscribes now.
fn confirm(
    clients: &mut Clients,
    id: ConnectionId,
    (kind, word): (Kind, &str),
    name: Option<&[u8]>,
) {
    let count = clients[id].session.told.count(kind);
    clients.push(id, |push| {
        push.push(3);
        push.bulk(word.as_bytes());
        match name {
            Some(name) => push.bulk(name),
            None => push.null(),
        }
        push.integer(count as i64);
    });
}

fn pubsub(
    core: &Core,
    spec: &Spec,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), ErrorReply> {
    use CommandId as Id;
    let channels = &core.shared.channels;
    let kind = match spec.id {
        Id::PubsubShardchannels | Id::PubsubShardnumsub => Kind::Sharded,
        _ => Kind::Channel,
    };
    match spec.id {
        Id::PubsubHelp => help("pubsub", reply),
        Id::PubsubNumpat => reply.integer(channels.len(Kind::Pattern) as i64),
        Id::PubsubChannels | Id::PubsubShardchannels => {
            if args.len() > 3 {
                let word = String::from_utf8_lossy(args.at(1));
                return Err(ErrorReply::new(format!(
                    "ERR unknown subcommand or wrong number of arguments for '{word}'. Try PUBSUB HELP."
                )));
            }
            let names = channels.names(kind, args.get(2));
            reply.array(names.len());
            names.iter().for_each(|name| reply.bulk(name));
        }
        _ => {
            reply.array(2 * (args.len() - 2));
            for name in args.from(2) {
                reply.bulk(name);
                reply.integer(channels.subscribers(kind, name).cast_signed());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "channels_test.rs"]
mod channels_test;
