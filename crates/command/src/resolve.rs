//! From a request to the command that it names, or the error that says what is wrong with it.
//!
//! In:  a request's arguments. Out: its [`Spec`], and where its keys are.
//!
//! Invariants:
//! - A request that is resolved has as many arguments as its command's arity asks for.

use crate::args::Args;
use crate::error::ErrorReply;
use crate::expire::until_nul;
use crate::table::{Spec, key_flag, lookup, lookup_subcommand};
use brickyard_types::limits::KEY_BYTES_MAX;

/// Most bytes of a name that an error quotes, and most of the arguments in all.
const QUOTED_BYTES_MAX: usize = 128;

/// Finds the command that a request names and checks the number of its arguments.
///
/// # Errors
/// Redis's errors for an unknown command, an unknown subcommand and a wrong number of arguments.
///
/// # Panics
/// If there are no arguments at all (a caller bug: the wire skips empty requests).
#[inline]
pub fn resolve(args: Args<'_>) -> Result<&'static Spec, ErrorReply> {
    let Some(spec) = find(args) else {
        return Err(unknown(args));
    };
    if !spec.accepts(args.len()) {
        return Err(ErrorReply::wrong_arity(spec.name));
    }
    Ok(spec)
}

/// Finds the command that a request names, whatever the number of its arguments.
#[inline]
pub(crate) fn find(args: Args<'_>) -> Option<&'static Spec> {
    let spec = lookup(args.at(0))?;
    if spec.subcommands.is_empty() || args.len() == 1 {
        return Some(spec);
    }
    lookup_subcommand(spec, args.at(1))
}

#[cold]
fn unknown(args: Args<'_>) -> ErrorReply {
    if let Some(container) = lookup(args.at(0)) {
        let name = quoted(args.at(1), QUOTED_BYTES_MAX);
        let help = container.name.to_ascii_uppercase();
        let help = format!("'. Try {help} HELP.");
        return ErrorReply::new([b"ERR unknown subcommand '", name, help.as_bytes()].concat());
    }
    let mut listed = Vec::new();
    for argument in args.from(1) {
        if listed.len() >= QUOTED_BYTES_MAX {
            break;
        }
        let room = QUOTED_BYTES_MAX - listed.len();
        listed.push(b'\'');
        listed.extend_from_slice(quoted(argument, room));
        listed.extend_from_slice(b"' ");
    }
    let name = quoted(args.at(0), QUOTED_BYTES_MAX);
    let middle = b"', with args beginning with: ";
    ErrorReply::new([b"ERR unknown command '", name, middle, &listed].concat())
}

/// As much of an argument as Redis's messages show.
fn quoted(argument: &[u8], bytes_max: usize) -> &[u8] {
    let shown = until_nul(argument);
    &shown[..shown.len().min(bytes_max)]
}

/// The positions of a request's keys, in order.
///
/// None if the request is too short for some of them: then the command itself refuses it.
pub fn keys<'a>(
    spec: &'static Spec,
    args: Args<'a>,
) -> impl Iterator<Item = usize> + Clone + use<'a> {
    let is_complete = spec
        .key_specs
        .iter()
        .all(|keys| keys.positions(args).is_some());
    let specs = if is_complete { spec.key_specs } else { &[] };
    let specs = specs.iter().filter(|it| it.flags & key_flag::NOT_KEY == 0);
    specs.flat_map(move |keys| {
        let (begin, end) = keys.positions(args).unwrap_or_default();
        (begin..end).step_by(keys.step as usize)
    })
}

/// Refuses a request with a key that is longer than a record can hold.
///
/// # Errors
/// An error that gives both lengths.
pub fn check_key_lengths(spec: &'static Spec, args: Args<'_>) -> Result<(), ErrorReply> {
    for position in keys(spec, args) {
        let len = args.at(position).len();
        if len > KEY_BYTES_MAX {
            return Err(ErrorReply::new(format!(
                "ERR key is {len} bytes long and the longest is {KEY_BYTES_MAX}; shorten it or \
                 use its hash"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "resolve_test.rs"]
mod resolve_test;
