use super::*;
use crate::fixture::{Log, config, header, put};
use crate::mem_disk::MemDisk;
use brickyard_types::record::{BatchEntry, flag};

fn request(position: Position, key: &[u8], op: u64) -> ReadRequest<'_> {
    ReadRequest {
        position,
        key,
        value_len: 0,
        partition: Some(PartitionId(1)),
        op: Op(op),
        view: None,
    }
}

#[test]
fn value_is_read_whatever_the_guess_of_its_length() {
    let mut log = Log::open(&MemDisk::new(1), config());
    let value = vec![7; 900];
    let position = log.append(&put(1, 5, b"key", &value)).unwrap().start;
    let mut buffer = Vec::new();
    for value_len in [0, 10, 900, 5000] {
        let request = ReadRequest {
            value_len,
            ..request(position, b"key", 5)
        };
        let found = log.ends.reader.read(&request, &mut buffer).unwrap();
        assert_eq!(buffer[found.value], value);
    }
}

#[test]
fn batch_gives_the_last_put_of_the_key() {
    let mut log = Log::open(&MemDisk::new(1), config());
    let mut value = Vec::new();
    let entries = [
        (Kind::Put, &b"a"[..], &b"first"[..], 0),
        (Kind::Put, b"b", b"other", 0),
        (Kind::Put, b"a", b"second", flag::RAW),
        (Kind::Delete, b"c", b"", 0),
    ];
    for (kind, key, value_bytes, flags) in entries {
        let entry = BatchEntry {
            kind,
            flags,
            key,
            value: value_bytes,
            expires_at: Some(UnixMillis(99)),
        };
        record::encode_entry(&mut value, &entry);
    }
    let mut batch = Vec::new();
    record::encode(&mut batch, &header(Kind::Batch, 1, 5), b"", &[&value]);
    let position = log.append(&batch).unwrap().start;
    let mut buffer = Vec::new();
    let mut read = |key| {
        log.ends
            .reader
            .read(&request(position, key, 5), &mut buffer)
    };
    let found = read(b"a").unwrap();
    assert_eq!(
        (found.flags, found.expires_at),
        (flag::RAW, Some(UnixMillis(99)))
    );
    assert!(matches!(read(b"c"), Err(ReadError::Mismatch { .. })));
    assert!(matches!(read(b"d"), Err(ReadError::Mismatch { .. })));
    let found = read(b"a").unwrap();
    assert_eq!(&buffer[found.value], b"second");
}

/// Rule `reads check what they got`.
#[test]
fn another_record_at_the_position_is_no_answer() {
    let mut log = Log::open(&MemDisk::new(1), config());
    let position = log.append(&put(1, 5, b"key", b"value")).unwrap().start;
    let mut buffer = Vec::new();
    let right = request(position, b"key", 5);
    let wrong = [
        ReadRequest { op: Op(4), ..right },
        ReadRequest {
            key: b"kez",
            ..right
        },
        ReadRequest {
            partition: Some(PartitionId(2)),
            ..right
        },
        ReadRequest {
            view: Some(View(2)),
            ..right
        },
    ];
    for request in wrong {
        let error = log.ends.reader.read(&request, &mut buffer).unwrap_err();
        assert!(matches!(error, ReadError::Mismatch { .. }), "{error}");
    }
    let of_any_partition = ReadRequest {
        partition: None,
        ..right
    };
    log.ends
        .reader
        .read(&of_any_partition, &mut buffer)
        .unwrap();
    let right = ReadRequest {
        view: Some(View(1)),
        ..right
    };
    log.ends.reader.read(&right, &mut buffer).unwrap();
}

#[test]
fn flipped_byte_is_never_served() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    let batch = put(1, 5, b"key", b"value");
    let position = log.append(&batch).unwrap().start;
    let mut buffer = Vec::new();
    for at in 0..batch.len() {
        let offset = position.offset as usize + at;
        disk.flip("000001.seg", offset, 0x10);
        let error = (log.ends.reader)
            .read(&request(position, b"key", 5), &mut buffer)
            .unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with("segment 1 offset 64 is damaged: "),
            "byte {at}: {message}"
        );
        disk.flip("000001.seg", offset, 0x10);
    }
}

#[test]
fn deleted_segment_is_not_found() {
    let mut log = Log::open(&MemDisk::new(1), config());
    let position = log.fill(1, 40)[0];
    log.sync();
    log.ends
        .syncer
        .delete_segments(&[position.segment])
        .unwrap();
    let mut buffer = Vec::new();
    let error = (log.ends.reader)
        .read(&request(position, b"k1", 1), &mut buffer)
        .unwrap_err();
    assert!(
        matches!(&error, ReadError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    );
}

#[test]
fn files_stay_within_their_bound() {
    let mut log = Log::open(&MemDisk::new(1), config());
    let positions = log.fill(1, 100);
    let mut buffer = Vec::new();
    for (index, position) in positions.iter().enumerate() {
        let op = index as u64 + 1;
        let key = format!("k{op}");
        log.ends
            .reader
            .read(&request(*position, key.as_bytes(), op), &mut buffer)
            .unwrap();
        assert!(log.ends.reader.files.len() <= 2);
    }
    log.ends.reader.forget(positions[99].segment);
    assert_eq!(log.ends.reader.files.len(), 1);
}

#[test]
fn chunks_cover_a_segment_once_in_order() {
    let mut log = Log::open(&MemDisk::new(1), config());
    let positions = log.fill(1, 60);
    log.sync();
    for bytes_max in [1, 500, 1 << 20] {
        let mut seen = Vec::new();
        let mut from = 0;
        loop {
            let written = log.ends.appender.end();
            let chunk = (log.ends.reader)
                .scan_chunk(SegmentId(2), from, bytes_max, written)
                .unwrap();
            assert!(chunk.damages.is_empty());
            assert_eq!(chunk.records().count(), chunk.records.len());
            seen.extend(chunk.records().map(|(position, _)| position));
            match chunk.next {
                Some(next) => from = next,
                None => break,
            }
        }
        let expected = positions
            .iter()
            .filter(|position| position.segment == SegmentId(2));
        assert!(seen.iter().eq(expected), "chunks of {bytes_max}");
    }
}

#[test]
fn chunk_tells_of_damage() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    let positions = log.fill(1, 60);
    log.sync();
    let damaged = positions[3];
    assert_eq!(damaged.segment, SegmentId(1));
    disk.flip("000001.seg", damaged.offset as usize + 60, 1);
    let written = log.ends.appender.end();
    let chunk = (log.ends.reader)
        .scan_chunk(SegmentId(1), 0, 1 << 20, written)
        .unwrap();
    let [damage] = &chunk.damages[..] else {
        panic!("{:?}", chunk.damages);
    };
    assert_eq!(
        (damage.offset, damage.tainted.clone()),
        (damaged.offset, Tainted::Op(PartitionId(1), Op(4)))
    );
    assert!(!chunk.records().any(|(position, _)| position == damaged));
}

#[test]
fn active_segment_is_read_up_to_what_is_written() {
    let disk = MemDisk::new(1);
    let mut log = Log::open(&disk, config());
    let written = log.append(&put(1, 1, b"a", b"whole")).unwrap().end;
    let sound = disk.content("000001.seg").unwrap();
    let under_way = put(1, 2, b"b", b"half written");
    for len in 0..=under_way.len() {
        disk.put("000001.seg", &[&sound, &under_way[..len]].concat());
        let chunk = (log.ends.reader)
            .scan_chunk(SegmentId(1), 0, 1 << 20, written)
            .unwrap();
        assert_eq!((chunk.records.len(), chunk.next), (1, None), "{len} bytes");
        assert!(chunk.damages.is_empty(), "{len} bytes");
        let behind = written.offset;
        let chunk = (log.ends.reader)
            .scan_chunk(SegmentId(1), behind, 1 << 20, written)
            .unwrap();
        assert!(
            chunk.records.is_empty() && chunk.damages.is_empty(),
            "{len} bytes"
        );
    }
    disk.put("000001.seg", &sound);
    // What rots before that is damage in the active segment too.
    disk.flip("000001.seg", 64 + 50, 1);
    let chunk = (log.ends.reader)
        .scan_chunk(SegmentId(1), 0, 1 << 20, written)
        .unwrap();
    assert_eq!((chunk.records.len(), chunk.damages.len()), (0, 1));
}

#[test]
fn segment_in_which_nothing_is_written_yet_is_empty() {
    let mut log = Log::open(&MemDisk::new(1), config());
    let written = log.append(&put(1, 1, b"a", b"b")).unwrap().end;
    let chunk = (log.ends.reader)
        .scan_chunk(SegmentId(2), 0, 1 << 20, written)
        .unwrap();
    assert!(chunk.records.is_empty() && chunk.damages.is_empty() && chunk.next.is_none());
}

#[test]
fn segment_that_is_full_and_not_sealed_yet_is_read_to_its_end() {
    let mut log = Log::open(&MemDisk::new(1), config());
    let positions = log.fill(1, 60);
    let written = log.ends.appender.end();
    let chunk = (log.ends.reader)
        .scan_chunk(SegmentId(1), 0, 1 << 20, written)
        .unwrap();
    let expected = positions.iter().filter(|it| it.segment == SegmentId(1));
    assert_eq!(chunk.records.len(), expected.count());
    assert!(chunk.damages.is_empty());
}

#[test]
fn error_of_the_disk_is_the_source_of_one_of_reading() {
    use std::error::Error;
    let position = Position {
        segment: SegmentId(1),
        offset: 64,
    };
    let source = io::Error::other("it is ill");
    let error = ReadError::Io { position, source };
    assert_eq!(
        error.source().map(ToString::to_string).unwrap(),
        "it is ill"
    );
}
