//! A partition's file in a backup: rows in compressed, checksummed blocks.
//!
//! ```text
//! file   "BYBACKUP" | format u32 | partition u32 | block ... | end
//! block  stored bytes u32 | bytes u32 | CRC-32 of what is stored u32 | LZ4 block of rows, back to back
//! end    0 u32 | 0 u32 | CRC-32 of the rest u32 | rows u64 | values u64 | digest u64
//! ```
//! Numbers are little-endian. The digest is the sum (64 bits, wrapping) of the rows' hashes, of those with a value.

use crate::row::Row;
use anyhow::{Context, bail, ensure};
use std::io::{BufReader, Read, Write};

const MAGIC: [u8; 8] = *b"BYBACKUP";
const FORMAT: u32 = 1;

/// A block is written when it has so many bytes of rows.
const BLOCK_BYTES: usize = 256 << 10;

/// A block has at most one row beyond that.
const BLOCK_BYTES_MAX: usize = BLOCK_BYTES
    + brickyard_types::limits::KEY_BYTES_MAX
    + brickyard_types::limits::VALUE_BYTES_MAX
    + 24;

/// What a part has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All rows.
    pub rows: u64,
    /// Rows with their values; the others' are in an earlier backup.
    pub values: u64,
    /// The digest of those.
    pub digest: u64,
}

impl Totals {
    /// Counts a row.
    pub fn add(&mut self, row: &Row) {
        self.rows += 1;
        if row.value.is_some() {
            self.values += 1;
            self.digest = self.digest.wrapping_add(row.content());
        }
    }
}

/// Writes a part.
pub struct PartWriter<W: Write> {
    out: W,
    block: Vec<u8>,
    totals: Totals,
    bytes: u64,
}

impl<W: Write> PartWriter<W> {
    /// Begins a part.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(mut out: W, partition: u32) -> anyhow::Result<Self> {
        out.write_all(&MAGIC)?;
        out.write_all(&FORMAT.to_le_bytes())?;
        out.write_all(&partition.to_le_bytes())?;
        Ok(Self {
            out,
            block: Vec::with_capacity(BLOCK_BYTES),
            totals: Totals::default(),
            bytes: 16,
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn push(&mut self, row: &Row) -> anyhow::Result<()> {
        row.encode(&mut self.block);
        self.totals.add(row);
        if self.block.len() >= BLOCK_BYTES {
            self.write_block()?;
        }
        Ok(())
    }

    /// Writes what is left and the end; what the part has, and how many bytes it takes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end(mut self) -> anyhow::Result<(Totals, u64)> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        let Totals {
            rows,
            values,
            digest,
        } = self.totals;
        let end = [rows, values, digest].map(u64::to_le_bytes).concat();
        self.write_frame(0, &end, 0)?;
        self.out.flush()?;
        Ok((self.totals, self.bytes))
    }

    fn write_block(&mut self) -> anyhow::Result<()> {
        let stored = lz4_flex::block::compress(&self.block);
        let bytes = self.block.len() as u32;
        self.block.clear();
        self.write_frame(stored.len() as u32, &stored, bytes)
    }

    fn write_frame(&mut self, len: u32, stored: &[u8], bytes: u32) -> anyhow::Result<()> {
        self.out.write_all(&len.to_le_bytes())?;
        self.out.write_all(&bytes.to_le_bytes())?;
        self.out.write_all(&crc32fast::hash(stored).to_le_bytes())?;
        self.out.write_all(stored)?;
        self.bytes += 12 + stored.len() as u64;
        Ok(())
    }
}

/// Reads a part, checking all of it.
pub struct PartReader<R: Read> {
    input: BufReader<R>,
    block: Vec<u8>,
    /// Where in the block the next row is.
    at: usize,
    totals: Totals,
    /// Bytes of the file before the block at hand.
    offset: u64,
    is_over: bool,
}

impl<R: Read> PartReader<R> {
    /// Begins to read the part of a partition.
    ///
    /// # Errors
    /// If it is none, of another format, or of another partition.
    pub fn begin(input: R, partition: u32) -> anyhow::Result<Self> {
        let mut input = BufReader::new(input);
        let mut header = [0; 16];
        input
            .read_exact(&mut header)
            .context("it is too short for a part of a backup")?;
        ensure!(header[..8] == MAGIC, "it is not a part of a backup");
        let word = |at: usize| header[at..at + 4].try_into().map(u32::from_le_bytes);
        let (format, of) = (word(8)?, word(12)?);
        ensure!(
            format == FORMAT,
            "it has format {format}, this program reads format {FORMAT}; use the program that wrote it"
        );
        ensure!(of == partition, "it is of partition {of}");
        Ok(Self {
            input,
            block: Vec::new(),
            at: 0,
            totals: Totals::default(),
            offset: 16,
            is_over: false,
        })
    }

    /// The next row; `None` at the end, which was checked then.
    ///
    /// # Errors
    /// If what was read is damaged, ends too early, or is not what the end says.
    pub fn next_row(&mut self) -> anyhow::Result<Option<Row>> {
        if self.is_over {
            return Ok(None);
        }
        if self.at == self.block.len() {
            let offset = self.offset;
            self.read_block()
                .with_context(|| format!("damaged at offset {offset}"))?;
            if self.is_over {
                return Ok(None);
            }
        }
        let mut rest = &self.block[self.at..];
        let row = Row::decode(&mut rest)?;
        self.at = self.block.len() - rest.len();
        self.totals.add(&row);
        Ok(Some(row))
    }

    /// What the part has, once its end was read.
    pub const fn totals(&self) -> Totals {
        self.totals
    }

    fn read_block(&mut self) -> anyhow::Result<()> {
        let [len, bytes, checksum] = [self.word()?, self.word()?, self.word()?];
        let stored_len = if len == 0 { 24 } else { len as usize };
        ensure!(
            stored_len <= lz4_flex::block::get_maximum_output_size(BLOCK_BYTES_MAX),
            "a block of {stored_len} bytes"
        );
        let mut stored = vec![0; stored_len];
        self.input
            .read_exact(&mut stored)
            .context("it ends in the middle of a block")?;
        ensure!(
            crc32fast::hash(&stored) == checksum,
            "the checksum does not match"
        );
        self.offset += 12 + stored_len as u64;
        if len == 0 {
            return self.check_end(&stored);
        }
        let bytes = bytes as usize;
        ensure!(bytes <= BLOCK_BYTES_MAX, "a block of {bytes} bytes");
        self.block = lz4_flex::block::decompress(&stored, bytes)?;
        self.at = 0;
        ensure!(
            !self.block.is_empty() && self.block.len() == bytes,
            "a block is shorter than it says"
        );
        Ok(())
    }

    fn check_end(&mut self, stored: &[u8]) -> anyhow::Result<()> {
        let long = |at: usize| stored[at..at + 8].try_into().map(u64::from_le_bytes);
        let told = Totals {
            rows: long(0)?,
            values: long(8)?,
            digest: long(16)?,
        };
        if told != self.totals {
            bail!("it has {:?}, and says {told:?}", self.totals);
        }
        let more = self.input.read(&mut [0])?;
        ensure!(more == 0, "there is something behind its end");
        self.is_over = true;
        Ok(())
    }

    fn word(&mut self) -> anyhow::Result<u32> {
        let mut word = [0; 4];
        self.input
            .read_exact(&mut word)
            .context("it ends before its last block")?;
        Ok(u32::from_le_bytes(word))
    }
}

#[cfg(test)]
#[path = "part_test.rs"]
mod part_test;
