//! WATCHKEYS: which keys a client follows, from which position on, and for how long it waits.
//!
//! In:  the arguments of a client, or of another brick, which asks for its share and says so behind them. Out: [`WatchKeysArgs`].
//!
//! Not here: what a position is (`brickyard-brick`, `changes/position`).

use crate::args::Args;
use crate::error::ErrorReply;
use crate::number::integer;
use std::str::FromStr;

/// Changes that a reply has, about, if a request does not say how many.
const COUNT_DEFAULT: u64 = 1000;

/// Whose changes are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched<'a> {
    /// Those of the whole table.
    All,
    /// Those of keys that begin so.
    Prefix(&'a [u8]),
    /// Those of one key.
    Key(&'a [u8]),
}

impl Watched<'_> {
    /// Whether a key's changes are told.
    #[inline]
    #[must_use]
    pub fn has(&self, key: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Prefix(prefix) => key.starts_with(prefix),
            Self::Key(one) => key == *one,
        }
    }
}

/// What one brick is asked for by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchShare {
    /// Bytes of changes that it may tell, about.
    pub bytes: u64,
    /// The client that waits for a change where there is none; 0: none does.
    pub client: u64,
    /// Names the wait among those of the client.
    pub round: u64,
    /// The node and the brick that the client is connected to.
    pub node: u32,
    /// See `node`.
    pub brick: u32,
}

/// `WATCHKEYS ALL|PREFIX p|KEY k FROM NOW|position [COUNT n] [BLOCK ms]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchKeysArgs<'a> {
    /// Which keys.
    pub watched: Watched<'a>,
    /// From where on; `None`: from now on.
    pub from: Option<&'a [u8]>,
    /// About how many changes.
    pub count: u64,
    /// How long to wait for one, in milliseconds; 0: without end. `None`: not at all.
    pub block_ms: Option<u64>,
    /// What another brick is asked for. Only bricks say so to one another.
    pub share: Option<WatchShare>,
}

impl<'a> WatchKeysArgs<'a> {
    /// Reads what a client asks.
    ///
    /// # Errors
    /// What is wrong with the arguments.
    pub fn parse(args: Args<'a>) -> Result<Self, ErrorReply> {
        let parsed = Self::parse_share(args)?;
        match parsed.share {
            None => Ok(parsed),
            Some(_) => Err(ErrorReply::SYNTAX),
        }
    }

    /// Reads what one brick asks another of.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_share(args: Args<'a>) -> Result<Self, ErrorReply> {
        let mut words = args.from(1);
        let mut next = || words.next().ok_or(ErrorReply::SYNTAX);
        let kind = next()?;
        let is = |word: &[u8], wanted: &[u8]| word.eq_ignore_ascii_case(wanted);
        let watched = if is(kind, b"all") {
            Watched::All
        } else if is(kind, b"prefix") {
            Watched::Prefix(next()?)
        } else if is(kind, b"key") {
            Watched::Key(next()?)
        } else {
            return Err(ErrorReply::constant(
                "ERR say whose changes to tell: WATCHKEYS ALL|PREFIX prefix|KEY key FROM NOW|position",
            ));
        };
        if !is(next()?, b"from") {
            return Err(ErrorReply::constant(
                "ERR say from where on: FROM NOW, or FROM and the position that an earlier WATCHKEYS has answered",
            ));
        }
        let from = Some(next()?).filter(|it| !is(it, b"now"));
        let mut parsed = Self {
            watched,
            from,
            count: COUNT_DEFAULT,
            block_ms: None,
            share: None,
        };
        while let Some(option) = words.next() {
            let mut argument = || words.next().ok_or(ErrorReply::SYNTAX);
            if is(option, b"count") {
                let count = integer(argument()?)?;
                if count < 1 {
                    return Err(ErrorReply::constant(
                        "ERR COUNT is how many changes to tell at most, about: use a number from 1 on",
                    ));
                }
                parsed.count = count.unsigned_abs();
            } else if is(option, b"block") {
                let ms = integer(argument()?)?;
                parsed.block_ms = Some(u64::try_from(ms).map_err(|_| {
                    ErrorReply::constant(
                        "ERR BLOCK is a time in milliseconds, and 0 is without end",
                    )
                })?);
            } else if is(option, b"share") {
                parsed.share = Some(WatchShare {
                    bytes: number(argument()?)?,
                    client: number(argument()?)?,
                    round: number(argument()?)?,
                    node: number(argument()?)?,
                    brick: number(argument()?)?,
                });
            } else {
                return Err(ErrorReply::SYNTAX);
            }
        }
        Ok(parsed)
    }
}

fn number<N: FromStr>(text: &[u8]) -> Result<N, ErrorReply> {
    let number = std::str::from_utf8(text).ok();
    let number = number.and_then(|it| it.parse().ok());
    number.ok_or(ErrorReply::SYNTAX)
}

#[cfg(test)]
#[path = "watch_keys_test.rs"]
mod watch_keys_test;
