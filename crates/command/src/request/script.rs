//! EVAL and its like, and SCRIPT.

use crate::args::Args;
use crate::error::ErrorReply;
use crate::number::integer;
use crate::table::CommandId;

/// Where a script's own arguments begin, behind its keys: `EVAL script 1 key argument` has one at 4.
///
/// # Errors
/// Redis's, if the number of keys is none or more than there are arguments.
pub fn script_arguments(args: Args<'_>) -> Result<usize, ErrorReply> {
    const FIRST_KEY: usize = 3;
    let count = integer(args.at(2))?;
    let count = usize::try_from(count)
        .map_err(|_| ErrorReply::constant("ERR Number of keys can't be negative"))?;
    if count > args.len() - FIRST_KEY {
        return Err(ErrorReply::constant(
            "ERR Number of keys can't be greater than number of args",
        ));
    }
    Ok(FIRST_KEY + count)
}

/// A subcommand of `SCRIPT`.
#[derive(Clone, Copy, Debug)]
pub enum ScriptCommand<'a> {
    /// Which of the names from position 2 on are known.
    Exists(Args<'a>),
    /// All scripts are forgotten.
    Flush,
    /// What SCRIPT can do is told.
    Help,
    /// Scripts that run are ended.
    Kill,
    /// This text becomes known.
    Load(&'a [u8]),
}

impl<'a> ScriptCommand<'a> {
    /// Reads a request of `SCRIPT`.
    ///
    /// # Errors
    /// Redis's, for a mode of FLUSH that is none.
    ///
    /// # Panics
    /// If the command is none of SCRIPT's (a caller bug).
    pub fn parse(id: CommandId, args: Args<'a>) -> Result<Self, ErrorReply> {
        Ok(match id {
            CommandId::ScriptExists => Self::Exists(args),
            CommandId::ScriptFlush => {
                let is = |mode: &[u8], word: &[u8]| mode.eq_ignore_ascii_case(word);
                match (args.len(), args.get(2)) {
                    (2, _) => Self::Flush,
                    (3, Some(mode)) if is(mode, b"sync") || is(mode, b"async") => Self::Flush,
                    _ => {
                        return Err(ErrorReply::constant(
                            "ERR SCRIPT FLUSH only support SYNC|ASYNC option",
                        ));
                    }
                }
            }
            CommandId::ScriptHelp => Self::Help,
            CommandId::ScriptKill => Self::Kill,
            CommandId::ScriptLoad => Self::Load(args.at(2)),
            _ => panic!("{id:?} is no subcommand of SCRIPT"),
        })
    }
}

#[cfg(test)]
#[path = "script_test.rs"]
mod script_test;
