//! A run: records in order, in a file without a name.
//!
//! In:  records with their places, in order. Out: the same, brick by brick.
//!
//! Invariants:
//! - The file has no name, so it is gone with the process, however that ends.
//! - Records of a brick stand together, so that several bricks' can be read at a time.

use super::lanes::Place;
use super::record::{Expiry, Record};
use std::{
    cmp::Ordering,
    fs::File,
    io::{self, BufReader, BufWriter, Read, Write},
    os::unix::fs::FileExt as _,
    path::Path,
    sync::Arc,
};

/// Room for writing.
const BUFFER_BYTES: usize = 256 << 10;

/// A record and where it goes; ordered by that, its key, and its line in the file.
#[derive(Clone, Debug)]
pub(crate) struct PlacedRecord {
    pub(crate) place: Place,
    pub(crate) record: Record,
}

impl PlacedRecord {
    fn order(&self) -> (Place, &[u8], u64) {
        (self.place, &self.record.key, self.record.line)
    }
}

impl Ord for PlacedRecord {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for PlacedRecord {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PlacedRecord {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PlacedRecord {}

/// A run that was written.
#[derive(Clone, Debug)]
pub(crate) struct RunFile {
    file: Arc<File>,
    /// Where each brick's records end.
    ends: Vec<u64>,
}

impl RunFile {
    /// Writes records, which come in order, of so many bricks.
    pub(crate) fn write(
        dir: &Path,
        lanes: u16,
        records: impl Iterator<Item = io::Result<PlacedRecord>>,
    ) -> io::Result<Self> {
        let file = tempfile::tempfile_in(dir)?;
        let mut writer = BufWriter::with_capacity(BUFFER_BYTES, file);
        let mut ends = vec![0; usize::from(lanes)];
        let (mut at, mut lane) = (0, 0);
        for placed in records {
            let placed = placed?;
            let its = usize::from(placed.place.lane);
            assert!(its >= lane, "records of a run come in order");
            ends[lane..its].fill(at);
            lane = its;
            at += put(&mut writer, &placed)?;
        }
        ends[lane..].fill(at);
        let file = writer
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        Ok(Self {
            file: Arc::new(file),
            ends,
        })
    }

    /// One brick's records, in order, through a buffer of so many bytes.
    pub(crate) fn read(&self, lane: u16, buffer_bytes: usize) -> RunReader {
        let lane = usize::from(lane);
        let begin = lane.checked_sub(1).and_then(|it| self.ends.get(it));
        let section = Section {
            file: Arc::clone(&self.file),
            at: begin.copied().unwrap_or(0),
            end: self.ends.get(lane).copied().unwrap_or(0),
        };
        RunReader {
            reader: BufReader::with_capacity(buffer_bytes, section),
            lane: lane as u16,
        }
    }
}

/// A part of a file.
struct Section {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let len = left.min(buffer.len());
        let read = self.file.read_at(&mut buffer[..len], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// One brick's records of a run.
pub(crate) struct RunReader {
    reader: BufReader<Section>,
    lane: u16,
}

impl RunReader {
    fn is_over(&self) -> bool {
        let section = self.reader.get_ref();
        self.reader.buffer().is_empty() && section.at == section.end
    }
}

impl Iterator for RunReader {
    type Item = io::Result<PlacedRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.is_over()).then(|| take(&mut self.reader, self.lane))
    }
}

/// Bytes before key and value: order, line, expiry, what kind that is, whether the value is a payload, both lengths.
const HEAD_BYTES: usize = 8 + 8 + 8 + 1 + 1 + 4 + 4;

fn put(out: &mut impl Write, placed: &PlacedRecord) -> io::Result<u64> {
    let record = &placed.record;
    let (kind, ms) = match record.expiry {
        None => (0, 0),
        Some(Expiry::In(ms)) => (1, ms),
        Some(Expiry::At(ms)) => (2, ms),
    };
    let (key, value) = (record.key.len() as u32, record.value.len() as u32);
    out.write_all(&placed.place.order.to_le_bytes())?;
    out.write_all(&record.line.to_le_bytes())?;
    out.write_all(&ms.to_le_bytes())?;
    out.write_all(&[kind, u8::from(record.is_payload)])?;
    out.write_all(&key.to_le_bytes())?;
    out.write_all(&value.to_le_bytes())?;
    out.write_all(&record.key)?;
    out.write_all(&record.value)?;
    Ok(HEAD_BYTES as u64 + u64::from(key) + u64::from(value))
}

fn take(from: &mut impl Read, lane: u16) -> io::Result<PlacedRecord> {
    let order = take_u64(from)?;
    let line = take_u64(from)?;
    let ms = take_u64(from)?;
    let mut flags = [0; 2];
    from.read_exact(&mut flags)?;
    let key = take_u32(from)?;
    let value = take_u32(from)?;
    Ok(PlacedRecord {
        place: Place { lane, order },
        record: Record {
            key: take_bytes(from, key)?,
            value: take_bytes(from, value)?,
            is_payload: flags[1] != 0,
            expiry: match flags[0] {
                0 => None,
                1 => Some(Expiry::In(ms)),
                _ => Some(Expiry::At(ms)),
            },
            line,
        },
    })
}

fn take_u64(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn take_u32(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn take_bytes(from: &mut impl Read, len: u32) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len as usize];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod run_file_test {
    use super::*;

    fn placed(lane: u16, order: u64, line: u64, expiry: Option<Expiry>) -> PlacedRecord {
        PlacedRecord {
            place: Place { lane, order },
            record: Record {
                key: format!("k{line}").into_bytes(),
                value: vec![7; line as usize],
                is_payload: line % 2 == 1,
                expiry,
                line,
            },
        }
    }

    #[test]
    fn a_run_is_read_brick_by_brick_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let all = [
            placed(1, 5, 3, None),
            placed(1, 9, 0, Some(Expiry::In(7))),
            placed(3, 1, 9_000, Some(Expiry::At(u64::MAX))),
        ];
        let run = RunFile::write(dir.path(), 5, all.iter().cloned().map(Ok)).unwrap();
        let read = |lane| -> Vec<Record> {
            let records = run.read(lane, 16);
            records.map(|it| it.unwrap().record).collect()
        };
        let records: Vec<Record> = all.iter().map(|it| it.record.clone()).collect();
        assert_eq!(read(1), records[..2]);
        assert_eq!(read(3), records[2..]);
        for lane in [0, 2, 4] {
            assert_eq!(read(lane), []);
        }
        // It has no name.
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn records_are_ordered_by_place_key_and_line() {
        let (low, high) = (placed(0, 7, 2, None), placed(1, 0, 1, None));
        assert!(low < high);
        let mut later = low.clone();
        later.record.line = 5;
        assert!(low < later);
        later.record.line = 1;
        assert!(later < low);
    }
}
