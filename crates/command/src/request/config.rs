//! The subcommands of CONFIG.

use crate::args::Args;
use crate::error::ErrorReply;
use crate::glob;
use crate::table::CommandId;

/// What CONFIG is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigCommand<'a> {
    /// The settings whose names match one of these, each once.
    Get(Vec<&'a [u8]>),
    /// The subcommands.
    Help,
    /// Set the counters of INFO to zero.
    ResetStat,
    /// Write the settings in force to the configuration file.
    Rewrite,
    /// Change these settings, all or none.
    Set(Vec<(&'a [u8], &'a [u8])>),
}

impl<'a> ConfigCommand<'a> {
    /// Reads the arguments of a subcommand of CONFIG.
    ///
    /// # Errors
    /// A syntax error for a setting without a value.
    ///
    /// # Panics
    /// If `id` is no subcommand of CONFIG.
    pub fn parse(id: CommandId, args: Args<'a>) -> Result<Self, ErrorReply> {
        Ok(match id {
            CommandId::ConfigGet => Self::Get(args.from(2).collect()),
            CommandId::ConfigHelp => Self::Help,
            CommandId::ConfigResetstat => Self::ResetStat,
            CommandId::ConfigRewrite => Self::Rewrite,
            CommandId::ConfigSet if args.len() % 2 == 1 => return Err(ErrorReply::SYNTAX),
            CommandId::ConfigSet => {
                let names = args.from(2).step_by(2);
                Self::Set(names.zip(args.from(3).step_by(2)).collect())
            }
            _ => panic!("{id:?} is no subcommand of CONFIG"),
        })
    }

    /// Whether CONFIG GET with `patterns` shows the setting `name`.
    #[must_use]
    pub fn shows(patterns: &[&[u8]], name: &str) -> bool {
        patterns
            .iter()
            .any(|pattern| glob::matches(pattern, name.as_bytes(), true))
    }

    /// The error for a setting that CONFIG SET does not know.
    #[must_use]
    pub fn unknown_setting(name: &[u8]) -> ErrorReply {
        let start = b"ERR Unknown option or number of arguments for CONFIG SET - '";
        ErrorReply::new([start, name, b"'"].concat())
    }

    /// The error for a setting that CONFIG SET cannot change to the value given.
    #[must_use]
    pub fn refused_setting(name: &str, reason: &str) -> ErrorReply {
        ErrorReply::new(format!(
            "ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}"
        ))
    }
}

#[cfg(test)]
#[path = "config_test.rs"]
mod config_test;
