//! FLUSHDB and FLUSHALL, SHUTDOWN, BGSAVE, WAIT, SLOWLOG and LATENCY.

use crate::args::Args;
use crate::error::ErrorReply;
use crate::number::{integer, parse_integer};
use crate::table::CommandId;

/// Checks the arguments of FLUSHDB and FLUSHALL, which give memory back bit by bit either way.
///
/// # Errors
/// A syntax error for anything but `SYNC` or `ASYNC`.
pub fn parse_flush(args: Args<'_>) -> Result<(), ErrorReply> {
    let is = |mode: &[u8], word: &[u8]| mode.eq_ignore_ascii_case(word);
    match (args.len(), args.get(1)) {
        (1, _) => Ok(()),
        (2, Some(mode)) if is(mode, b"sync") || is(mode, b"async") => Ok(()),
        _ => Err(ErrorReply::SYNTAX),
    }
}

/// `SHUTDOWN [NOSAVE|SAVE] [NOW] [FORCE] [ABORT]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShutdownArgs {
    /// Whether a checkpoint is made; `None`: as configured.
    pub saves: Option<bool>,
    /// Whether connections are closed without waiting for them.
    pub is_now: bool,
    /// Whether the server stops even if the checkpoint fails.
    pub is_forced: bool,
    /// Whether a shutdown that has begun is called off instead.
    pub is_abort: bool,
}

impl ShutdownArgs {
    /// Reads the arguments of SHUTDOWN.
    ///
    /// # Errors
    /// A syntax error for unknown options and those that contradict one another.
    pub fn parse(args: Args<'_>) -> Result<Self, ErrorReply> {
        let mut parsed = Self::default();
        for option in args.from(1) {
            let is = |word: &[u8]| option.eq_ignore_ascii_case(word);
            if (is(b"save") && parsed.saves != Some(false))
                || (is(b"nosave") && parsed.saves != Some(true))
            {
                parsed.saves = Some(is(b"save"));
            } else if is(b"now") {
                parsed.is_now = true;
            } else if is(b"force") {
                parsed.is_forced = true;
            } else if is(b"abort") {
                parsed.is_abort = true;
            } else {
                return Err(ErrorReply::SYNTAX);
            }
        }
        let has_others = parsed.saves.is_some() || parsed.is_now || parsed.is_forced;
        if parsed.is_abort && has_others {
            return Err(ErrorReply::SYNTAX);
        }
        Ok(parsed)
    }
}

/// Checks the arguments of BGSAVE: `SCHEDULE` or none.
///
/// # Errors
/// A syntax error for anything else.
pub fn parse_bgsave(args: Args<'_>) -> Result<(), ErrorReply> {
    match (args.len(), args.get(1)) {
        (1, _) => Ok(()),
        (2, Some(option)) if option.eq_ignore_ascii_case(b"schedule") => Ok(()),
        _ => Err(ErrorReply::SYNTAX),
    }
}

/// `WAIT replicas timeout`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitArgs {
    /// How many replicas must have the writes; none if it is not positive.
    pub replicas: i64,
    /// How long to wait for them, in milliseconds; 0: for ever.
    pub timeout_ms: u64,
}

impl WaitArgs {
    /// Reads the arguments of WAIT.
    ///
    /// # Errors
    /// Redis's errors for what is no number, and for a negative timeout.
    pub fn parse(args: Args<'_>) -> Result<Self, ErrorReply> {
        let replicas = integer(args.at(1))?;
        let timeout = parse_integer(args.at(2)).ok_or(ErrorReply::constant(
            "ERR timeout is not an integer or out of range",
        ))?;
        let timeout_ms =
            u64::try_from(timeout).map_err(|_| ErrorReply::constant("ERR timeout is negative"))?;
        Ok(Self {
            replicas,
            timeout_ms,
        })
    }
}

/// What SLOWLOG is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowlogCommand {
    /// The latest entries; `None`: all.
    Get(Option<u64>),
    /// The subcommands.
    Help,
    /// The number of entries.
    Len,
    /// Forget the entries.
    Reset,
}

/// Entries that SLOWLOG GET shows if it does not say.
const SLOWLOG_COUNT_DEFAULT: u64 = 10;

impl SlowlogCommand {
    /// Reads the arguments of a subcommand of SLOWLOG.
    ///
    /// # Errors
    /// Redis's errors.
    ///
    /// # Panics
    /// If `id` is no subcommand of SLOWLOG.
    pub fn parse(id: CommandId, args: Args<'_>) -> Result<Self, ErrorReply> {
        match id {
            CommandId::SlowlogGet => match (args.len(), args.get(2)) {
                (2, _) => Ok(Self::Get(Some(SLOWLOG_COUNT_DEFAULT))),
                (3, Some(count)) => match parse_integer(count) {
                    Some(-1) => Ok(Self::Get(None)),
                    Some(count @ 0..) => Ok(Self::Get(Some(count.unsigned_abs()))),
                    _ => Err(ErrorReply::constant(
                        "ERR count should be greater than or equal to -1",
                    )),
                },
                _ => {
                    let name = args.at(1);
                    let start = b"ERR unknown subcommand or wrong number of arguments for '";
                    let end = b"'. Try SLOWLOG HELP.";
                    Err(ErrorReply::new([&start[..], name, end].concat()))
                }
            },
            CommandId::SlowlogHelp => Ok(Self::Help),
            CommandId::SlowlogLen => Ok(Self::Len),
            CommandId::SlowlogReset => Ok(Self::Reset),
            _ => panic!("{id:?} is no subcommand of SLOWLOG"),
        }
    }
}

/// What LATENCY is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LatencyCommand<'a> {
    /// The subcommands.
    Help,
    /// How long these commands took; none: every command that has run.
    Histogram(Vec<&'a [u8]>),
    /// The latest spikes.
    Latest,
    /// Where to look.
    Doctor,
    /// The spikes of an event, drawn.
    Graph(&'a [u8]),
    /// The spikes of an event.
    History,
    /// Forget the spikes of these kinds; none: of all.
    Reset(Vec<&'a [u8]>),
}

impl<'a> LatencyCommand<'a> {
    /// Reads the arguments of a subcommand of LATENCY.
    ///
    /// # Panics
    /// If `id` is no subcommand of LATENCY.
    #[must_use]
    pub fn parse(id: CommandId, args: Args<'a>) -> Self {
        match id {
            CommandId::LatencyHelp => Self::Help,
            CommandId::LatencyHistogram => Self::Histogram(args.from(2).collect()),
            CommandId::LatencyLatest => Self::Latest,
            CommandId::LatencyDoctor => Self::Doctor,
            CommandId::LatencyGraph => Self::Graph(args.at(2)),
            CommandId::LatencyHistory => Self::History,
            CommandId::LatencyReset => Self::Reset(args.from(2).collect()),
            _ => panic!("{id:?} is no subcommand of LATENCY"),
        }
    }
}

#[cfg(test)]
#[path = "server_test.rs"]
mod server_test;
