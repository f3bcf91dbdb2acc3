//! `REQUEST`: the id in front of a command.

use crate::args::Args;
use crate::error::ErrorReply;

/// What `REQUEST` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestArgs {
    /// `REQUEST NOW`: the clock that sequences follow.
    Now,
    /// `REQUEST client sequence FIRST|AGAIN command ...`.
    Run {
        /// The client, drawn at random by it; not 0.
        client: u64,
        /// Its number of the request.
        sequence: u64,
        /// It may have been sent before.
        is_again: bool,
    },
}

impl RequestArgs {
    /// Words before the command.
    pub const WORDS: usize = 4;

    /// Reads the words before the command.
    ///
    /// # Errors
    /// They are not as above, or no command follows them.
    pub fn parse(args: Args<'_>) -> Result<Self, ErrorReply> {
        if args.len() == 2 && args.at(1).eq_ignore_ascii_case(b"now") {
            return Ok(Self::Now);
        }
        if args.len() <= Self::WORDS {
            return Err(ErrorReply::constant(
                "ERR REQUEST needs a client, a sequence, FIRST or AGAIN, and a command; or NOW",
            ));
        }
        let client = number(args.at(1)).filter(|client| *client > 0);
        let (Some(client), Some(sequence)) = (client, number(args.at(2))) else {
            return Err(ErrorReply::constant(
                "ERR the client of a REQUEST is a number from 1 on, its sequence one from 0 on, both of 64 bits",
            ));
        };
        let attempt = args.at(3);
        let is_again = attempt.eq_ignore_ascii_case(b"again");
        if !is_again && !attempt.eq_ignore_ascii_case(b"first") {
            return Err(ErrorReply::constant(
                "ERR a REQUEST is sent FIRST, or AGAIN if it may have been sent before",
            ));
        }
        Ok(Self::Run {
            client,
            sequence,
            is_again,
        })
    }
}

fn number(word: &[u8]) -> Option<u64> {
    let is_plain = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(word).ok().filter(|_| is_plain)?;
    text.parse().ok()
}

#[cfg(test)]
#[path = "identified_test.rs"]
mod identified_test;
