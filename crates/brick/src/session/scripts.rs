//! EVAL, EVALSHA, FCALL, their read-only forms, and SCRIPT.
//!
//! A script is a transaction of one step: it goes to the brick of its keys, and what it writes is one record there. One that names no key runs
//! here, until it comes to a key.

use super::next::{Next, Outcome, Then};
use super::transact::one_slot;
use crate::accepted::{ConnectionId, Port};
use crate::clients::Clients;
use crate::core::Core;
use crate::effect::ControlRequest;
use crate::gather::{Gather, Join};
use crate::keyed::{Admission, ScriptRun, admission};
use crate::refusal::{NO_AUTH, dropped_table, may_distribute, port_of, redirect};
use crate::request::{Request, Token, Work};
use crate::scripts::{ScriptCall, is_function, sha_text};
use crate::transaction::{Step, Transaction};
use brickyard_command::request::ScriptCommand;
use brickyard_command::{Args, ErrorReply, Spec, help};
use brickyard_script::{ScriptKind, Shebang};
use brickyard_wire::Reply;

/// Begins a script or a function.
pub(super) fn eval(
    core: &mut Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    if is_function(spec.id) && core.workshop.functions.find(args.at(1)).is_none() {
        // Another node may have loaded it a moment ago.
        let then = Then::Call(spec, args.to_owned());
        return Ok(Next::Control(ControlRequest::CatchUp, then));
    }
    let call = call_of(core, clients, id, spec, args)?;
    let mut route = None;
    if call.keys().next().is_none() {
        let mut came_to = Ok(());
        clients.reply(id, |reply| {
            came_to = run_here(core, &call, reply);
        });
        match came_to {
            Ok(()) => return Ok(Next::Done),
            Err(key) => route = Some(key),
        }
    }
    begin(core, clients, id, Transaction::of_script(call, route), None)
}

/// Begins a function for which a place was left in the output: all that was loaded before it was asked for is known by now.
pub(super) fn call_in_place(
    core: &mut Core,
    clients: &mut Clients,
    token: Token,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    let id = token.connection;
    let call = call_of(core, clients, id, spec, args)?;
    let mut route = None;
    if call.keys().next().is_none() {
        let mut bytes = Vec::new();
        let mut reply = Reply::new(&mut bytes, clients[id].session.protocol);
        match run_here(core, &call, &mut reply) {
            Ok(()) => return Ok(Next::Part(token, bytes)),
            Err(key) => route = Some(key),
        }
    }
    let transaction = Transaction::of_script(call, route);
    begin(core, clients, id, transaction, Some(token))
}

fn call_of(
    core: &Core,
    clients: &Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Result<ScriptCall, ErrorReply> {
    let session = &clients[id].session;
    let user = session.user.as_deref().ok_or(NO_AUTH)?;
    ScriptCall::of(
        core.known_scripts(),
        spec,
        args,
        user,
        session.granted.rights,
    )
}

/// Runs what names no key. `Err`: it has come to this one, and nothing has happened.
fn run_here(core: &mut Core, call: &ScriptCall, reply: &mut Reply<'_>) -> Result<(), Vec<u8>> {
    let (now, start) = (core.unix, reply.position());
    let mut scripts = ScriptRun::without_keys(core);
    let came_to = scripts.run_without_keys(call, now, reply);
    if came_to.is_err() {
        reply.truncate(start);
    }
    scripts.end(core);
    came_to
}

/// Sends a script where its keys are; its reply has the place that was left for it, or gets one.
fn begin(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    transaction: Transaction,
    place: Option<Token>,
) -> Outcome {
    let connection = &clients[id];
    let (table, protocol) = (connection.session.table, connection.session.protocol);
    let state = core.table(table).ok_or_else(dropped_table)?;
    let declared = transaction.steps.iter().flat_map(Step::keys);
    let port = port_of(state, connection.accepted.port);
    let one = one_slot(state, declared.chain(transaction.route.as_deref()));
    if let Some(location) = one {
        let only_reads = transaction.only_reads();
        let from_backup = port == Port::Node || connection.session.is_readonly;
        let admitted = admission(core, state, location.leaf, only_reads, from_backup);
        if !matches!(admitted, Admission::Serves)
            && let Some(moved) = redirect(core, port, state, location)
        {
            return Err(moved);
        }
    } else {
        may_distribute(core, port)?;
    }
    let transaction = match one {
        Some(_) => transaction,
        None => transaction.anchored(),
    };
    let token = place.unwrap_or_else(|| {
        let gather = Gather::new(Join::Only, protocol, 1).costing(transaction.bytes());
        clients.open_gather(id, gather)
    });
    let (origin, work) = (core.own(token), Work::Transaction(Box::new(transaction)));
    let request = Request::new(origin, state.id, protocol, work, core.deadline());
    Ok(match one {
        Some(_) => Next::Begin(vec![request]),
        None => Next::Last(Box::new(request)),
    })
}

/// Answers SCRIPT, which is about the scripts of this node.
pub(super) fn script(
    core: &mut Core,
    clients: &mut Clients,
    id: ConnectionId,
    command: &ScriptCommand<'_>,
) -> Result<(), ErrorReply> {
    if let ScriptCommand::Load(text) = command {
        check(core, text)?;
    }
    let scripts = &core.shared.scripts;
    clients.answer(id, |reply| {
        match command {
            ScriptCommand::Exists(args) => {
                let names = args.from(2);
                reply.array(names.len());
                for name in names {
                    let is_known = sha_text(name).is_some_and(|sha| scripts.find(&sha).is_some());
                    reply.integer(i64::from(is_known));
                }
            }
            ScriptCommand::Flush => {
                scripts.flush();
                reply.ok();
            }
            ScriptCommand::Help => help("script", reply),
            ScriptCommand::Kill if scripts.kill(ScriptKind::Script) => reply.ok(),
            ScriptCommand::Kill => return Err(NOT_BUSY),
            ScriptCommand::Load(text) => reply.bulk(&scripts.add(text)?.sha),
        }
        Ok(())
    })
}

pub(super) const NOT_BUSY: ErrorReply =
    ErrorReply::constant("NOTBUSY No scripts in execution right now.");

/// Refuses a text that is no script.
fn check(core: &mut Core, text: &[u8]) -> Result<(), ErrorReply> {
    Shebang::parse(text).map_err(ErrorReply::new)?;
    let mut scripts = ScriptRun::without_keys(core);
    let checked = scripts.check(text);
    scripts.end(core);
    checked
}
