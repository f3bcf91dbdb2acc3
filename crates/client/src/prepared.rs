//! A request as bytes, with room for an id in front.
//!
//! In:  a command's words; the id of the call that it is. Out: what is sent.
//!
//! Invariant: the words are encoded once, and an id is put before them in place.

use crate::command::{Place, Shape};
use brickyard_wire::encode_request;
use std::io::Write as _;

/// A request that is ready to be sent.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Room, a header, the words.
    bytes: Vec<u8>,
    /// Where the request begins.
    start: usize,
    words_at: usize,
    words: usize,
    pub(crate) shape: Shape,
    /// By which a read prefers one replica.
    pub(crate) key_hash: u64,
}

/// Room for the counts and lengths of a short request.
const FRAME_BYTES: usize = 16;

/// Room for the words that an id takes, and for the count before them.
const ID_BYTES: usize = 96;

impl Prepared {
    pub(crate) fn new<A: AsRef<[u8]>>(shape: Shape, key_hash: u64, words: &[A]) -> Self {
        let room = if shape.is_read { 0 } else { ID_BYTES };
        let len = words.iter().map(|word| word.as_ref().len() + FRAME_BYTES);
        let mut bytes = Vec::with_capacity(room + len.sum::<usize>() + FRAME_BYTES);
        bytes.resize(room, 0);
        encode_request(&mut bytes, words);
        // The count of words is a line of its own.
        let line = bytes.iter().skip(room).position(|byte| *byte == b'\n');
        Self {
            words_at: room + line.map_or(0, |at| at + 1),
            bytes,
            start: room,
            words: words.len(),
            shape,
            key_hash,
        }
    }

    /// What is sent.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// Whether it may have an id: ids are for what writes keys of one slot.
    pub(crate) const fn is_nameable(&self) -> bool {
        !self.shape.is_read && matches!(self.shape.place, Place::Slot(_))
    }

    /// Sends the command by itself.
    pub(crate) fn put_plain(&mut self) {
        let words = self.words;
        self.put_head(format_args!("*{words}\r\n"));
    }

    /// Sends the command with an id.
    pub(crate) fn put_id(&mut self, client: u64, sequence: u64, is_again: bool) {
        let words = self.words + 4;
        let attempt = if is_again { "AGAIN" } else { "FIRST" };
        self.put_head(format_args!(
            "*{words}\r\n$7\r\nREQUEST\r\n$20\r\n{client:020}\r\n$20\r\n{sequence:020}\r\n$5\r\n{attempt}\r\n",
        ));
    }

    fn put_head(&mut self, head: std::fmt::Arguments<'_>) {
        let mut line = [0; ID_BYTES + FRAME_BYTES];
        let room = line.len();
        let mut rest = &mut line[..];
        if rest.write_fmt(head).is_err() {
            return;
        }
        let len = room - rest.len();
        if let Some(start) = self.words_at.checked_sub(len)
            && let Some(into) = self.bytes.get_mut(start..self.words_at)
        {
            into.copy_from_slice(line.get(..len).unwrap_or_default());
            self.start = start;
        }
    }
}

#[cfg(test)]
mod prepared_test {
    use super::*;

    fn text(prepared: &Prepared) -> String {
        String::from_utf8(prepared.bytes().to_vec()).expect("text")
    }

    #[test]
    fn an_id_comes_before_the_command_and_goes_again() {
        let words = ["SET", "key", "value"];
        let shape = Shape::of(&words).expect("a command");
        let mut prepared = Prepared::new(shape, 0, &words);
        let command = "$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n";
        let plain = format!("*3\r\n{command}");
        assert_eq!(text(&prepared), plain);
        let named = |sequence: &str, attempt: &str| {
            format!(
                "*7\r\n$7\r\nREQUEST\r\n$20\r\n18446744073709551615\r\n$20\r\n{sequence}\r\n$5\r\n{attempt}\r\n{command}"
            )
        };
        prepared.put_id(u64::MAX, 7, false);
        assert_eq!(text(&prepared), named("00000000000000000007", "FIRST"));
        prepared.put_id(u64::MAX, 12, true);
        assert_eq!(text(&prepared), named("00000000000000000012", "AGAIN"));
        prepared.put_plain();
        assert_eq!(text(&prepared), plain);
    }

    #[test]
    fn a_command_of_very_many_words_has_room_for_an_id() {
        let mut words = vec!["DEL"];
        words.resize(1_000_000, "k");
        let shape = Shape::of(&words).expect("a command");
        let mut prepared = Prepared::new(shape, 0, &words);
        let plain = prepared.bytes().len();
        prepared.put_id(1, u64::MAX, true);
        assert_eq!(prepared.bytes().len(), plain + 78);
        assert!(
            prepared
                .bytes()
                .starts_with(b"*1000004\r\n$7\r\nREQUEST\r\n")
        );
    }
}
