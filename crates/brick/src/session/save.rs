//! SAVE, BGSAVE and LASTSAVE as checkpoints; SHUTDOWN.
//!
//! A checkpoint seals the active segment of every brick's log and syncs everything: a copy of the
//! directory taken after it has all that was acknowledged before it, whatever the table's durability but
//! `memory`, and a start reads only hint files of `disk` tables.

use super::calls::Calls;
use super::next::{Next, Outcome, Subrequests, Then};
use super::whole::ask;
use crate::accepted::ConnectionId;
use crate::clients::Clients;
use crate::core::Core;
use crate::effect::{ControlRequest, Effect};
use crate::gather::{Gather, Join};
use crate::refusal::dropped_table;
use crate::request::Origin;
use brickyard_command::request::{ShutdownArgs, parse_bgsave};
use brickyard_command::{Args, CommandId, ErrorReply, Spec};
use brickyard_routing::Member;
use brickyard_types::BrickId;
use std::sync::atomic::Ordering::Relaxed;

/// Answers SAVE, BGSAVE, LASTSAVE and SHUTDOWN.
pub(super) fn save(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    match spec.id {
        CommandId::Lastsave => {
            let at = core.shared.counters.last_save_ms.load(Relaxed) / 1000;
            clients.reply(id, |reply| reply.integer(at as i64));
            Ok(Next::Done)
        }
        CommandId::Save => checkpoint(core, clients, id, spec, args),
        CommandId::Bgsave => {
            parse_bgsave(args)?;
            checkpoint(core, clients, id, spec, args)
        }
        _ if ShutdownArgs::parse(args)?.is_abort => {
            Err(ErrorReply::constant("ERR No shutdown in progress."))
        }
        _ => Ok(Next::Control(ControlRequest::Shutdown, Then::Ok)),
    }
}

/// Asks every brick of the node: each has a log.
fn checkpoint(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    let session = &clients[id].session;
    let protocol = session.protocol;
    // A message between bricks names a table; this one is about none.
    let mut any = std::iter::once(session.table).chain(0..core.tables.len());
    let table = any.find(|table| core.table(*table).is_some());
    let table = table.ok_or_else(dropped_table)?;
    let in_background = spec.id == CommandId::Bgsave;
    let member = |brick| Member {
        brick: BrickId(brick),
        ..core.member()
    };
    let bricks: Vec<Member> = (0..core.bricks()).map(member).collect();
    assert!(
        bricks.contains(&core.member()),
        "this brick's log is one of them"
    );
    let gather = Gather::new(Join::Saved { in_background }, protocol, bricks.len());
    let asked = Subrequests::of((spec, args.to_owned()), table, protocol, core.deadline());
    Ok(ask(clients, id, gather, asked, bricks))
}

/// This brick's share of a checkpoint.
pub(crate) fn checkpoint_for(core: &mut Core, calls: &mut Calls, origin: Origin) {
    let number = calls.begin_checkpoint(origin);
    core.effects.push_back(Effect::Checkpoint(number));
}

/// All bricks have answered.
pub(super) fn on_saved(core: &Core, in_background: bool, whole: Vec<u8>) -> Vec<u8> {
    if whole.first() != Some(&b'+') {
        return whole;
    }
    core.shared
        .counters
        .last_save_ms
        .fetch_max(core.unix.0, Relaxed);
    if in_background {
        b"+Background saving started\r\n".to_vec()
    } else {
        whole
    }
}

#[cfg(test)]
#[path = "save_test.rs"]
mod save_test;
