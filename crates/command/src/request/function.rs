//! FCALL and its like, and FUNCTION.

use crate::args::Args;
use crate::error::ErrorReply;
use crate::number::parse_integer;
use crate::table::CommandId;

/// Where a function's own arguments begin, behind its keys: `FCALL name 1 key argument` has one at 4.
///
/// # Errors
/// Redis's, if the number of keys is none or more than there are arguments.
pub fn function_arguments(args: Args<'_>) -> Result<usize, ErrorReply> {
    const FIRST_KEY: usize = 3;
    let refused = |text| Err(ErrorReply::constant(text));
    let Some(count) = parse_integer(args.at(2)) else {
        return refused("ERR Bad number of keys provided");
    };
    match usize::try_from(count) {
        Err(_) if count < 0 => refused("ERR Number of keys can't be negative"),
        Ok(count) if count <= args.len() - FIRST_KEY => Ok(FIRST_KEY + count),
        _ => refused("ERR Number of keys can't be greater than number of args"),
    }
}

/// What becomes of libraries that are there when others are restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestorePolicy {
    /// They stay, and no other may have their names.
    Append,
    /// They stay, but for those whose name another one has.
    Replace,
    /// They go.
    Flush,
}

/// A subcommand of `FUNCTION`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionCommand<'a> {
    /// This library goes.
    Delete(&'a [u8]),
    /// All libraries as one payload.
    Dump,
    /// All libraries go.
    Flush,
    /// What FUNCTION can do is told.
    Help,
    /// Functions that run are ended.
    Kill,
    /// Libraries are listed.
    List {
        /// Those whose name matches.
        pattern: Option<&'a [u8]>,
        /// With their texts.
        has_code: bool,
    },
    /// A library comes.
    Load {
        /// Its text.
        code: &'a [u8],
        /// It may take the place of one of its name.
        replaces: bool,
    },
    /// The libraries of a payload come.
    Restore(&'a [u8], RestorePolicy),
    /// Libraries and functions are counted.
    Stats,
}

impl<'a> FunctionCommand<'a> {
    /// Reads a request of `FUNCTION`.
    ///
    /// # Errors
    /// Redis's, for options that there are not.
    ///
    /// # Panics
    /// If the command is none of FUNCTION's (a caller bug).
    pub fn parse(id: CommandId, args: Args<'a>) -> Result<Self, ErrorReply> {
        Ok(match id {
            CommandId::FunctionDelete => Self::Delete(args.at(2)),
            CommandId::FunctionDump => Self::Dump,
            CommandId::FunctionFlush if args.len() > 3 => return Err(too_many(args)),
            CommandId::FunctionFlush => match args.get(2) {
                Some(mode) if !is(mode, b"sync") && !is(mode, b"async") => {
                    return Err(ErrorReply::constant(
                        "ERR FUNCTION FLUSH only supports SYNC|ASYNC option",
                    ));
                }
                _ => Self::Flush,
            },
            CommandId::FunctionHelp => Self::Help,
            CommandId::FunctionKill => Self::Kill,
            CommandId::FunctionList => list(args)?,
            CommandId::FunctionLoad => load(args)?,
            CommandId::FunctionRestore if args.len() > 4 => return Err(too_many(args)),
            CommandId::FunctionRestore => Self::Restore(
                args.at(2),
                match args.get(3) {
                    None => RestorePolicy::Append,
                    Some(word) if is(word, b"append") => RestorePolicy::Append,
                    Some(word) if is(word, b"replace") => RestorePolicy::Replace,
                    Some(word) if is(word, b"flush") => RestorePolicy::Flush,
                    Some(_) => {
                        return Err(ErrorReply::constant(
                            "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
                        ));
                    }
                },
            ),
            CommandId::FunctionStats => Self::Stats,
            _ => panic!("{id:?} is no subcommand of FUNCTION"),
        })
    }
}

fn is(word: &[u8], known: &[u8]) -> bool {
    word.eq_ignore_ascii_case(known)
}

fn too_many(args: Args<'_>) -> ErrorReply {
    let name = String::from_utf8_lossy(args.at(1));
    ErrorReply::new(format!(
        "ERR unknown subcommand or wrong number of arguments for '{name}'. Try FUNCTION HELP."
    ))
}

fn list(args: Args<'_>) -> Result<FunctionCommand<'_>, ErrorReply> {
    let (mut pattern, mut has_code) = (None, false);
    let mut words = args.from(2);
    while let Some(word) = words.next() {
        if !has_code && is(word, b"withcode") {
            has_code = true;
        } else if pattern.is_none() && is(word, b"libraryname") {
            let named = words.next();
            pattern = Some(named.ok_or(ErrorReply::constant(
                "ERR library name argument was not given",
            ))?);
        } else {
            let text = [b"ERR Unknown argument ", word].concat();
            return Err(ErrorReply::new(text));
        }
    }
    Ok(FunctionCommand::List { pattern, has_code })
}

fn load(args: Args<'_>) -> Result<FunctionCommand<'_>, ErrorReply> {
    let (mut replaces, last) = (false, args.len() - 1);
    for at in 2..last {
        let word = args.at(at);
        if !is(word, b"replace") {
            let text = [b"ERR Unknown option given: ", word].concat();
            return Err(ErrorReply::new(text));
        }
        replaces = true;
    }
    Ok(FunctionCommand::Load {
        code: args.at(last),
        replaces,
    })
}

#[cfg(test)]
#[path = "function_test.rs"]
mod function_test;
