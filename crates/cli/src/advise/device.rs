//! The disk by itself: what it costs to append, to sync, and to read.
//!
//! In:  a directory, how long and how much may be tried. Out: [`DeviceFigures`].
//!
//! Reads go round the page cache (`O_DIRECT`) where the file system lets them; memory and offsets are multiples of 4 KiB for its sake.

use super::machine::DeviceFigures;
use anyhow::Context as _;
use rustix::fs::{Advice, OFlags, fadvise};
use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::Path,
    time::{Duration, Instant},
};

/// What may be read at a time.
const BLOCK: usize = 4096;
/// What is appended at a time.
const APPEND: usize = 64 << 10;
/// What is read at a time, in order.
const RUN: usize = 1 << 20;

/// How long and how much is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceLimits {
    /// How long each of the measurements may take.
    pub(crate) each: Duration,
    /// How many bytes are written.
    pub(crate) bytes: usize,
    /// How long a value is.
    pub(crate) value_bytes: usize,
}

/// Measures the disk of a directory, with a file in it.
pub(crate) fn measure(dir: &Path, limits: DeviceLimits) -> anyhow::Result<DeviceFigures> {
    let path = dir.join("device");
    let named = || format!("measuring {}", path.display());
    let mut file = File::create(&path).with_context(named)?;
    let (append_per_s, len) = append(&mut file, limits).with_context(named)?;
    let sync_us = 1e6 / synced(&path, BLOCK, limits.each).with_context(named)?;
    let synced_per_s = synced(&path, APPEND, limits.each).with_context(named)? * APPEND as f64;
    drop(file);
    let (file, is_direct) = open_to_read(&path).with_context(named)?;
    let value = limits.value_bytes.next_multiple_of(BLOCK).min(RUN);
    let random_read_us = random_reads(&file, len, value, limits.each).with_context(named)?;
    let sequential_per_s = sequential(&file, len, limits.each).with_context(named)?;
    drop(file);
    std::fs::remove_file(&path).with_context(named)?;
    Ok(DeviceFigures {
        append_per_s,
        sync_us,
        synced_per_s,
        random_read_us,
        sequential_per_s,
        is_direct,
    })
}

/// Appends until time or bytes are used up; bytes a second, and how many there are. What is read later is on the disk.
fn append(file: &mut File, limits: DeviceLimits) -> std::io::Result<(f64, usize)> {
    // What a disk could compress away would tell of another one.
    let mut random = Random(1);
    let chunk: Vec<u8> = (0..APPEND).map(|_| random.next() as u8).collect();
    let begin = Instant::now();
    let mut len = 0;
    while len < RUN || (len < limits.bytes && begin.elapsed() < limits.each) {
        file.write_all(&chunk)?;
        len += APPEND;
    }
    let per_s = len as f64 / begin.elapsed().as_secs_f64();
    file.sync_all()?;
    Ok((per_s, len))
}

/// How many times a second so much can be written and synced.
fn synced(path: &Path, bytes: usize, each: Duration) -> std::io::Result<f64> {
    let file = OpenOptions::new().write(true).open(path)?;
    let chunk = vec![7; bytes];
    let (begin, mut count) = (Instant::now(), 0_u32);
    while count == 0 || begin.elapsed() < each {
        let at = u64::from(count % 16) * bytes as u64;
        file.write_all_at(&chunk, at)?;
        file.sync_data()?;
        count += 1;
    }
    Ok(f64::from(count) / begin.elapsed().as_secs_f64())
}

/// The file, past the page cache if that can be.
fn open_to_read(path: &Path) -> std::io::Result<(File, bool)> {
    let mut direct = OpenOptions::new();
    direct
        .read(true)
        .custom_flags(OFlags::DIRECT.bits().cast_signed());
    // Some file systems open so and refuse to read.
    let mut room = Room::new(BLOCK);
    if let Ok(file) = direct.open(path)
        && file.read_exact_at(room.bytes(), 0).is_ok()
    {
        return Ok((file, true));
    }
    let file = File::open(path)?;
    // Asked for, not promised.
    let _ = fadvise(&file, 0, None, Advice::DontNeed);
    Ok((file, false))
}

/// How long it takes to read so much from anywhere, in microseconds.
fn random_reads(file: &File, len: usize, bytes: usize, each: Duration) -> std::io::Result<f64> {
    let mut room = Room::new(bytes);
    let mut random = Random(2);
    let places = ((len.saturating_sub(bytes)) / BLOCK) as u64 + 1;
    let (begin, mut count) = (Instant::now(), 0_u32);
    while count == 0 || begin.elapsed() < each {
        let at = (random.next() % places) * BLOCK as u64;
        file.read_exact_at(room.bytes(), at)?;
        count += 1;
    }
    Ok(begin.elapsed().as_secs_f64() * 1e6 / f64::from(count))
}

/// Bytes a second, read in order.
fn sequential(file: &File, len: usize, each: Duration) -> std::io::Result<f64> {
    let mut room = Room::new(RUN);
    let runs = (len / RUN).max(1);
    let (begin, mut count) = (Instant::now(), 0);
    while count == 0 || begin.elapsed() < each {
        let at = (count % runs) * RUN;
        file.read_exact_at(room.bytes(), at as u64)?;
        count += 1;
    }
    Ok((count * RUN) as f64 / begin.elapsed().as_secs_f64())
}

/// Memory that begins at a multiple of [`BLOCK`].
struct Room {
    memory: Vec<u8>,
    begin: usize,
    bytes: usize,
}

impl Room {
    fn new(bytes: usize) -> Self {
        let memory = vec![0; bytes + BLOCK];
        let begin = memory.as_ptr().align_offset(BLOCK).min(BLOCK);
        Self {
            memory,
            begin,
            bytes,
        }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.begin..self.begin + self.bytes]
    }
}

/// Numbers without a pattern that a disk would see (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    const fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[cfg(test)]
mod device_test {
    use super::*;

    #[test]
    fn a_disk_is_measured_within_its_bounds_and_given_back() {
        let dir = tempfile::tempdir().unwrap();
        let limits = DeviceLimits {
            each: Duration::from_millis(5),
            bytes: 2 << 20,
            value_bytes: 9_000,
        };
        let figures = measure(dir.path(), limits).unwrap();
        for figure in [
            figures.append_per_s,
            figures.sync_us,
            figures.synced_per_s,
            figures.random_read_us,
            figures.sequential_per_s,
        ] {
            assert!(figure.is_finite() && figure > 0.0, "{figures:?}");
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
