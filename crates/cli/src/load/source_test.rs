use super::{BUFFER_BYTES, Source};
use flate2::{Compression, write::GzEncoder};
use lz4_flex::frame::FrameEncoder;
use std::{
    io::{self, Cursor, Read, Write},
    sync::atomic::Ordering,
};

fn read(bytes: Vec<u8>) -> String {
    let len = bytes.len() as u64;
    let mut source = Source::new(Cursor::new(bytes), Some(len), "test".into()).unwrap();
    assert!(source.start().unwrap().starts_with(b"hello"));
    let mut text = String::new();
    source.reader.read_to_string(&mut text).unwrap();
    assert_eq!(source.position.load(Ordering::Relaxed), len);
    text
}

#[test]
fn the_compression_is_told_from_the_first_bytes() {
    let text = "hello ".repeat(100_000);
    assert_eq!(read(text.clone().into_bytes()), text);

    let mut lz4 = FrameEncoder::new(Vec::new());
    lz4.write_all(text.as_bytes()).unwrap();
    assert_eq!(read(lz4.finish().unwrap()), text);

    // Two members after each other, as log rotation and parallel compressors write them.
    let mut members = Vec::new();
    for half in [&text[..300_000], &text[300_000..]] {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(half.as_bytes()).unwrap();
        members.extend(gzip.finish().unwrap());
    }
    assert_eq!(read(members), text);
}

/// Bytes as a pipe may deliver them: a few at a time.
struct Trickle(Cursor<Vec<u8>>);

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let few = buffer.len().min(7);
        self.0.read(&mut buffer[..few])
    }
}

#[test]
fn the_first_line_is_whole_however_it_arrives() {
    let long = format!(
        "{{\"key\":\"k\",\"value\":\"{}\"}}",
        "x".repeat(2 * BUFFER_BYTES)
    );
    for first in ["id,name", "Package: bash", &long] {
        let text = format!("\n# comment\n{first}\nsecond line\n");
        let trickle = Trickle(Cursor::new(text.clone().into_bytes()));
        let mut source = Source::new(trickle, None, "test".into()).unwrap();
        let start = String::from_utf8_lossy(source.start().unwrap()).into_owned();
        assert!(start.contains(&format!("{first}\n")), "{}", start.len());
        let mut read = String::new();
        source.reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, text);
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let bytes = "\u{feff}{\"id\":1}\n".as_bytes().to_vec();
    let mut source = Source::new(Trickle(Cursor::new(bytes)), None, "test".into()).unwrap();
    assert_eq!(source.start().unwrap(), b"{\"id\":1}\n");
}

#[test]
fn a_compression_that_is_not_read_names_the_tool() {
    let bytes = b"\xfd7zXZ\0rest".to_vec();
    let error = Source::new(Cursor::new(bytes), None, "f.xz".into())
        .err()
        .unwrap();
    assert!(
        error
            .to_string()
            .contains("xz --decompress --stdout FILE | brickyard load -")
    );
}
