use super::Source;
use flate2::{Compression, write::GzEncoder};
use lz4_flex::frame::FrameEncoder;
use std::{
    io::{Cursor, Read, Write},
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
