//! The commands of a replication stream, or of an append-only file, with the offsets at which they stand.
//!
//! In:  bytes, as they come. Out: [`StreamCommand`]s.
//!
//! Invariant: the offsets of a command are those by which the source counts: every byte does, those between commands too.

use brickyard_wire::{Limits, ProtocolError, RequestDecoder, Span, Step};

/// Bytes that were taken are cut off when there are so many.
const TAKEN_BYTES_MAX: usize = 1 << 20;

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamCommand {
    /// The offset of its first byte.
    pub start: u64,
    /// The offset behind its last one.
    pub end: u64,
    /// Its name and arguments; one at least.
    pub words: Vec<Vec<u8>>,
}

/// The bytes are no commands.
#[derive(Debug, thiserror::Error)]
#[error("the stream makes no sense at offset {offset}: {source}")]
pub struct StreamError {
    /// Where.
    pub offset: u64,
    /// What is wrong.
    pub source: ProtocolError,
}

/// Finds commands in a stream.
#[derive(Debug)]
pub struct StreamReader {
    decoder: RequestDecoder,
    input: Vec<u8>,
    taken: usize,
    offset: u64,
    spans: Vec<Span>,
}

impl StreamReader {
    /// A stream whose next byte is at `offset`.
    #[must_use]
    pub fn new(offset: u64) -> Self {
        Self {
            decoder: RequestDecoder::new(Limits::REDIS),
            input: Vec::new(),
            taken: 0,
            offset,
            spans: Vec::new(),
        }
    }

    /// The offset behind the last whole command.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// How far the bytes go that have come.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.offset + (self.input.len() - self.taken) as u64
    }

    /// Whether a command is cut off at the end of what has come.
    #[must_use]
    pub const fn is_inside_command(&self) -> bool {
        self.taken < self.input.len()
    }

    /// Takes bytes that came.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.taken >= TAKEN_BYTES_MAX || self.taken == self.input.len() {
            self.input.drain(..self.taken);
            self.taken = 0;
        }
        self.input.extend_from_slice(bytes);
    }

    /// The next command, if one is there as a whole.
    ///
    /// # Errors
    /// [`StreamError`]: nothing more can be read.
    pub fn next_command(&mut self) -> Result<Option<StreamCommand>, StreamError> {
        loop {
            let rest = &self.input[self.taken..];
            // An append-only file has remarks, of when what follows was written.
            if !self.decoder.is_inside_request() && rest.first() == Some(&b'#') {
                let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                    return Ok(None);
                };
                self.advance(end + 1);
                continue;
            }
            self.spans.clear();
            let step = self.decoder.decode(rest, &mut self.spans);
            let step = step.map_err(|source| StreamError {
                offset: self.offset,
                source,
            })?;
            match step {
                Step::Request { consumed, .. } => {
                    let words = self.spans.iter().map(|span| span.of(rest).to_vec());
                    let words = words.collect();
                    let start = self.offset;
                    self.advance(consumed);
                    let end = self.offset;
                    return Ok(Some(StreamCommand { start, end, words }));
                }
                Step::Empty { consumed } => self.advance(consumed),
                Step::Incomplete { .. } => return Ok(None),
                Step::Quoted { consumed, .. } => {
                    // Servers write no such lines; a person's file may.
                    let source = ProtocolError::UnbalancedQuotes;
                    let offset = self.offset + consumed as u64;
                    return Err(StreamError { offset, source });
                }
            }
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.taken += bytes;
        self.offset += bytes as u64;
    }
}

#[cfg(test)]
mod stream_test {
    use super::StreamReader;

    #[test]
    fn offsets_count_every_byte_wherever_the_stream_is_cut() {
        let stream = b"*1\r\n$4\r\nPING\r\n\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\r\n\r\n#TS:1\r\n*1\r\n$5\r\nMULTI\r\n";
        for piece in 1..stream.len() {
            let mut reader = StreamReader::new(100);
            let mut found = Vec::new();
            for bytes in stream.chunks(piece) {
                reader.push(bytes);
                while let Some(command) = reader.next_command().unwrap() {
                    found.push(command);
                }
            }
            let places: Vec<_> = found.iter().map(|it| (it.start, it.end)).collect();
            assert_eq!(
                places,
                [(100, 114), (115, 143), (150, 165)],
                "pieces of {piece}"
            );
            assert_eq!(found[1].words, [&b"SET"[..], b"k", b"\r\n"]);
            assert_eq!(reader.offset(), 100 + stream.len() as u64);
            assert!(!reader.is_inside_command());
        }
    }

    #[test]
    fn what_is_no_command_is_told_with_its_offset() {
        let mut reader = StreamReader::new(7);
        reader.push(b"*1\r\n$4\r\nPING\r\n*1\r\n:4\r\n");
        assert!(reader.next_command().unwrap().is_some());
        assert!(
            reader
                .next_command()
                .unwrap_err()
                .to_string()
                .contains("offset 21")
        );
    }
}
