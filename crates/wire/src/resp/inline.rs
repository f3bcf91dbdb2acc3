//! Inline requests: a line of words, as people type them over telnet.
//!
//! In:  one line without its end.
//! Out: the [`Span`]s of its words; or, where words are quoted and so do not stand in the line as
//!      they are meant, the same request in RESP.
//!
//! Words are split as Redis splits them: `"..."` knows `\n \r \t \b \a \" \\ \xHH`, `'...'` knows
//! only `\'`, a quote may open anywhere in a word, and after a closing quote the word must end.

use super::{Span, encode_request};

/// What a line holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// So many words without quotes; their spans were added.
    Plain(usize),
    /// Words of which some are quoted, as a request in RESP.
    Quoted(Vec<u8>),
}

/// Splits `line` into words; adds their spans, counted from the line's start, unless there are
/// quotes. Nothing if quotes are unbalanced.
pub(super) fn split(line: &[u8], spans: &mut Vec<Span>) -> Option<Words> {
    if line.iter().any(|byte| matches!(byte, b'"' | b'\'')) {
        let mut request = Vec::new();
        encode_request(&mut request, &split_words(line)?);
        return Some(Words::Quoted(request));
    }
    let first = spans.len();
    let mut at = 0;
    while let Some(start) = next_word(line, at) {
        at = start;
        while line.get(at).is_some_and(|byte| !ends_word(*byte)) {
            at += 1;
        }
        spans.push(Span::new(start, at - start));
    }
    Some(Words::Plain(spans.len() - first))
}

/// The words of a line. Nothing if quotes are unbalanced.
#[must_use]
pub fn split_words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(start) = next_word(line, at) {
        let mut word = Word {
            line,
            at: start,
            bytes: Vec::new(),
        };
        word.unquote()?;
        at = word.at;
        words.push(word.bytes);
    }
    Some(words)
}

/// Where the next word starts, from `at` on.
fn next_word(line: &[u8], at: usize) -> Option<usize> {
    let rest = line.get(at..)?;
    let blanks = rest.iter().position(|byte| !is_blank(*byte))?;
    Some(at + blanks)
}

/// A word that is being read.
struct Word<'a> {
    line: &'a [u8],
    /// Where reading goes on.
    at: usize,
    /// The word so far, without quotes.
    bytes: Vec<u8>,
}

impl Word<'_> {
    /// Reads up to the word's end. Nothing if quotes are unbalanced.
    fn unquote(&mut self) -> Option<()> {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return self.unquote_double();
                }
                b'\'' => {
                    self.at += 1;
                    return self.unquote_single();
                }
                end if ends_word(end) => break,
                other => self.take(other, 1),
            }
        }
        Some(())
    }

    fn unquote_double(&mut self) -> Option<()> {
        loop {
            match (self.peek(0)?, self.peek(1)) {
                (b'"', after) => return self.close(after),
                (b'\\', Some(b'x')) => match (self.hex_digit(2), self.hex_digit(3)) {
                    (Some(high), Some(low)) => self.take(high << 4 | low, 4),
                    _ => self.take(b'x', 2),
                },
                (b'\\', Some(escaped)) => self.take(
                    match escaped {
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'b' => 0x08,
                        b'a' => 0x07,
                        other => other,
                    },
                    2,
                ),
                (other, _) => self.take(other, 1),
            }
        }
    }

    fn unquote_single(&mut self) -> Option<()> {
        loop {
            match (self.peek(0)?, self.peek(1)) {
                (b'\'', after) => return self.close(after),
                (b'\\', Some(b'\'')) => self.take(b'\'', 2),
                (other, _) => self.take(other, 1),
            }
        }
    }

    /// Steps over a closing quote, which must be the end of its word.
    fn close(&mut self, after: Option<u8>) -> Option<()> {
        if after.is_some_and(|byte| !is_blank(byte)) {
            return None;
        }
        self.at += 1;
        Some(())
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.line.get(self.at + ahead).copied()
    }

    fn hex_digit(&self, ahead: usize) -> Option<u8> {
        let digit = char::from(self.peek(ahead)?).to_digit(16)?;
        u8::try_from(digit).ok()
    }

    /// Adds `byte` for the `len` bytes that stand for it.
    fn take(&mut self, byte: u8, len: usize) {
        self.bytes.push(byte);
        self.at += len;
    }
}

/// C's `isspace` in the "C" locale, which counts vertical tab and form feed too.
const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// What ends a word without quotes: not all blanks do.
const fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

#[cfg(test)]
#[path = "inline_test.rs"]
mod inline_test;
