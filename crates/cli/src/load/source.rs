//! Opens the input of a load: a file or standard input, plain or compressed.
//!
//! In:  a path, `-` for standard input. Out: plain bytes, and a count of the bytes read so far of
//! the file as it lies on disk, for the progress bar.
//!
//! The compression is told from the first bytes and not from the name, because names lie: a package
//! index is called `_Packages` with and without it.

use super::{dump::LINE_BYTES_MAX, format::has_content};
use anyhow::{Context, bail};
use flate2::read::MultiGzDecoder;
use lz4_flex::frame::FrameDecoder;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Room for reading; also how much of a file its format is guessed from.
const BUFFER_BYTES: usize = 256 * 1024;

/// What some programs put in front of text to say that it is UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Something to be loaded.
pub(crate) struct Source {
    /// Its bytes, decompressed.
    pub(crate) reader: Box<dyn BufRead>,
    /// Bytes read so far, before decompression.
    pub(crate) position: Arc<AtomicU64>,
    /// Its length before decompression; `None` for a pipe.
    pub(crate) bytes: Option<u64>,
    /// Its name, for messages.
    pub(crate) name: String,
}

impl Source {
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        if path.as_os_str() == "-" {
            return Self::new(io::stdin(), None, "standard input".to_owned());
        }
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        let metadata = file
            .metadata()
            .with_context(|| format!("cannot look at {name}"))?;
        if metadata.is_dir() {
            bail!("{name} is a directory; give a file");
        }
        // A named pipe has a length of 0, which says nothing.
        let bytes = metadata.is_file().then_some(metadata.len());
        Self::new(file, bytes, name)
    }

    fn new(reader: impl Read + 'static, bytes: Option<u64>, name: String) -> anyhow::Result<Self> {
        let position = Arc::new(AtomicU64::new(0));
        let counted = Counted {
            reader,
            position: Arc::clone(&position),
        };
        let mut raw = BufReader::with_capacity(BUFFER_BYTES, counted);
        let start = fill(&mut raw).with_context(|| format!("cannot read {name}"))?;
        let reader: Box<dyn BufRead> = match compression(start) {
            Compression::None => Box::new(raw),
            Compression::Gzip => buffered(MultiGzDecoder::new(raw)),
            Compression::Lz4 => buffered(FrameDecoder::new(raw)),
            Compression::Other(tool) => bail!(
                "{name} is compressed by {tool}, which is not read here; use: \
                 {tool} --decompress --stdout FILE | brickyard load -"
            ),
        };
        let reader = with_first_line(reader).with_context(|| format!("cannot read {name}"))?;
        Ok(Self {
            reader,
            position,
            bytes,
            name,
        })
    }

    /// The first bytes, for guessing the format; they are still there to be read.
    pub(crate) fn start(&mut self) -> anyhow::Result<&[u8]> {
        fill(&mut self.reader).with_context(|| format!("cannot read {}", self.name))
    }
}

/// Puts the whole first line that says something, and what was read along with it, where one look sees it,
/// however small the pieces are in which a pipe delivers it: a part of a dump's line looks like any other
/// JSON. A byte order mark is left out.
fn with_first_line(mut reader: Box<dyn BufRead>) -> io::Result<Box<dyn BufRead>> {
    let mut start = first_line(&mut reader)?;
    if start.starts_with(BYTE_ORDER_MARK) {
        start.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(Box::new(Cursor::new(start).chain(reader)))
}

/// Takes what comes up to the end of the first line with content, and what was read along with it.
fn first_line(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    let mut line_begin = 0;
    loop {
        let piece = fill(reader)?;
        let (known, read) = (start.len(), piece.len());
        start.extend_from_slice(piece);
        reader.consume(read);
        let line_ends = (known..start.len()).filter(|at| start[*at] == b'\n');
        for end in line_ends {
            if has_content(&start[line_begin..end]) {
                return Ok(start);
            }
            line_begin = end + 1;
        }
        let line = &start[line_begin..];
        let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        let is_object = text.trim_ascii_start().starts_with(b"{");
        let bytes_max = if is_object {
            LINE_BYTES_MAX
        } else {
            BUFFER_BYTES
        };
        if read == 0 || start.len() - line_begin > bytes_max {
            return Ok(start);
        }
    }
}

fn buffered(reader: impl Read + 'static) -> Box<dyn BufRead> {
    Box::new(BufReader::with_capacity(BUFFER_BYTES, reader))
}

fn fill(reader: &mut impl BufRead) -> io::Result<&[u8]> {
    loop {
        match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            // Asked once more, because the borrow of a result returned from a loop would last.
            Ok(_) => return reader.fill_buf(),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Lz4,
    /// Known, but not read here: the tool that does.
    Other(&'static str),
}

fn compression(start: &[u8]) -> Compression {
    match start {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        [0x04, 0x22, 0x4d, 0x18, ..] => Compression::Lz4,
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Other("xz"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Other("zstd"),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Other("bzip2"),
        _ => Compression::None,
    }
}

/// Counts what passes through it.
struct Counted<R> {
    reader: R,
    position: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.position.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
#[path = "source_test.rs"]
mod source_test;
