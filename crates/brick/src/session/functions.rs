//! FUNCTION: libraries are loaded, listed and deleted.
//!
//! In:  a subcommand of FUNCTION. Out: its reply, or a change of the catalog. A library is loaded here first, which finds out what it registers;
//!      whether it may be one of the cluster's says the catalog.
//!
//! Invariant: libraries run with the rights of whoever calls their functions, in every table; so they are changed only by who administers all tables.
//!
//! Not here: calls of functions (`scripts`), what a library may do (`brickyard-script`).

use super::next::{Next, Outcome, Then};
use super::scripts::NOT_BUSY;
use crate::accepted::ConnectionId;
use crate::acl_log::Denied;
use crate::clients::Clients;
use crate::connection::Connection;
use crate::core::Core;
use crate::effect::ControlRequest;
use crate::keyed::ScriptRun;
use crate::refusal::NO_AUTH;
use crate::scripts::{Functions, flags_of};
use brickyard_command::request::{FunctionCommand, RestorePolicy};
use brickyard_command::{
    Args, ErrorReply, LibrariesError, Spec, dump_libraries, glob, help, restore_libraries,
};
use brickyard_metadata::{
    Change, LIBRARIES_BYTES_MAX, LIBRARY_BYTES_MAX, Library, LibraryFunction, LibraryPolicy,
};
use brickyard_script::{ScriptKind, library_name};
use brickyard_wire::Reply;

/// Answers FUNCTION.
pub(super) fn function(
    core: &mut Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    let command = FunctionCommand::parse(spec.id, args)?;
    let functions = &core.workshop.functions;
    let change = match command {
        FunctionCommand::Help => return Ok(replied(clients, id, |reply| help("function", reply))),
        FunctionCommand::Kill => {
            if !core.shared.scripts.kill(ScriptKind::Function) {
                return Err(NOT_BUSY);
            }
            return Ok(replied(clients, id, |reply| reply.ok()));
        }
        FunctionCommand::Stats => {
            return Ok(replied(clients, id, |reply| stats(functions, reply)));
        }
        FunctionCommand::List { pattern, has_code } => {
            return Ok(replied(clients, id, |reply| {
                list(functions, pattern, has_code, reply);
            }));
        }
        FunctionCommand::Dump => {
            let libraries = functions.libraries().iter();
            let payload = dump_libraries(libraries.map(|it| &it.code[..]));
            return Ok(replied(clients, id, |reply| reply.bulk(&payload)));
        }
        FunctionCommand::Flush
        | FunctionCommand::Delete(_)
        | FunctionCommand::Load { .. }
        | FunctionCommand::Restore(..) => {
            check_may_change(&mut clients[id], spec)?;
            command
        }
    };
    Ok(match change {
        FunctionCommand::Delete(name) => Next::change(Change::DropLibrary {
            name: String::from_utf8_lossy(name).into_owned(),
        }),
        FunctionCommand::Load { code, replaces } => {
            let mut scripts = ScriptRun::without_keys(core);
            let library = load(&mut scripts, code);
            scripts.end(core);
            let library = library?;
            let then = Then::Name(library.name.clone());
            let change = Change::AddLibraries {
                libraries: vec![library],
                policy: match replaces {
                    true => LibraryPolicy::Replace,
                    false => LibraryPolicy::Append,
                },
            };
            Next::Control(ControlRequest::Change(change), then)
        }
        FunctionCommand::Restore(payload, policy) => {
            let texts = texts_of(payload)?;
            let mut scripts = ScriptRun::without_keys(core);
            let libraries = texts.iter().map(|text| load(&mut scripts, text));
            let libraries: Result<Vec<Library>, ErrorReply> = libraries.collect();
            scripts.end(core);
            Next::change(Change::AddLibraries {
                libraries: libraries?,
                policy: match policy {
                    RestorePolicy::Append => LibraryPolicy::Append,
                    RestorePolicy::Replace => LibraryPolicy::Replace,
                    RestorePolicy::Flush => LibraryPolicy::Flush,
                },
            })
        }
        _ => Next::change(Change::FlushLibraries),
    })
}

fn replied(clients: &mut Clients, id: ConnectionId, write: impl FnOnce(&mut Reply<'_>)) -> Next {
    clients.reply(id, write);
    Next::Done
}

/// Refuses who may not change what everybody calls.
fn check_may_change(connection: &mut Connection, spec: &'static Spec) -> Result<(), ErrorReply> {
    let user = connection.session.user.as_ref().ok_or(NO_AUTH)?;
    if user.administers_node() {
        return Ok(());
    }
    let error = ErrorReply::new(format!(
        "NOPERM User {} has no permissions to run the '{}' command: libraries of functions are the whole cluster's, so that takes \
         admin rights on all tables (table:*=read,write,admin)",
        user.name, spec.name
    ));
    connection.session.denied = Some(Denied {
        reason: "table",
        context: "toplevel",
        object: spec.name.as_bytes().to_vec(),
        user: user.name.clone(),
        client: connection.accepted.peer.clone(),
    });
    Err(error)
}

/// A library as its text makes it.
fn load(scripts: &mut ScriptRun, code: &[u8]) -> Result<Library, ErrorReply> {
    let name = library_name(code).map_err(ErrorReply::new)?;
    // Said before it is compiled; with its functions' names the catalog counts again.
    if code.len() > LIBRARY_BYTES_MAX {
        return Err(ErrorReply::new(format!(
            "ERR library '{name}' has {} bytes, and {LIBRARY_BYTES_MAX} is the most there can be; make several libraries of it",
            code.len()
        )));
    }
    let mut functions: Vec<LibraryFunction> = scripts
        .load(code)?
        .into_iter()
        .map(|it| LibraryFunction {
            name: it.name,
            description: it.description,
            flags: it.flags,
        })
        .collect();
    assert!(
        !functions.is_empty(),
        "library '{name}' was loaded and has no functions"
    );
    functions.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Library {
        name,
        code: code.to_vec(),
        functions,
    })
}

fn texts_of(payload: &[u8]) -> Result<Vec<Vec<u8>>, ErrorReply> {
    restore_libraries(payload, LIBRARIES_BYTES_MAX).map_err(|error| {
        let text = match error {
            LibrariesError::VersionOrChecksum => "ERR DUMP payload version or checksum are wrong",
            LibrariesError::Other => "ERR given type is not a function",
            LibrariesError::Format => "ERR failed loading the given functions payload",
            LibrariesError::TooLong => {
                return ErrorReply::new(format!(
                    "ERR the libraries of the payload have more than {LIBRARIES_BYTES_MAX} bytes together, the most there can be"
                ));
            }
        };
        ErrorReply::constant(text)
    })
}

fn stats(functions: &Functions, reply: &mut Reply<'_>) {
    reply.map(2);
    // What runs ends soon, and whoever asks is answered when it has.
    reply.bulk(b"running_script");
    reply.null();
    reply.bulk(b"engines");
    reply.map(1);
    reply.bulk(b"LUA");
    reply.map(2);
    reply.bulk(b"libraries_count");
    reply.integer(functions.libraries().iter().len() as i64);
    reply.bulk(b"functions_count");
    reply.integer(functions.len() as i64);
}

fn list(functions: &Functions, pattern: Option<&[u8]>, has_code: bool, reply: &mut Reply<'_>) {
    // As in Redis names are compared in any case.
    let is_meant = |library: &Library| {
        let name = library.name.as_bytes();
        pattern.is_none_or(|pattern| glob::matches(pattern, name, true))
    };
    let libraries = functions.libraries().iter();
    let libraries: Vec<_> = libraries.filter(|it| is_meant(it)).collect();
    reply.array(libraries.len());
    for library in libraries {
        reply.map(if has_code { 4 } else { 3 });
        reply.bulk(b"library_name");
        reply.bulk(library.name.as_bytes());
        reply.bulk(b"engine");
        reply.bulk(b"LUA");
        reply.bulk(b"functions");
        reply.array(library.functions.len());
        for function in &library.functions {
            list_function(function, reply);
        }
        if has_code {
            reply.bulk(b"library_code");
            reply.bulk(&library.code);
        }
    }
}

fn list_function(function: &LibraryFunction, reply: &mut Reply<'_>) {
    reply.map(3);
    reply.bulk(b"name");
    reply.bulk(function.name.as_bytes());
    reply.bulk(b"description");
    match &function.description {
        Some(description) => reply.bulk(description),
        None => reply.null(),
    }
    reply.bulk(b"flags");
    let flags: Vec<&str> = flags_of(function).collect();
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.simple(flag));
}

#[cfg(test)]
#[path = "functions_test.rs"]
mod functions_test;
