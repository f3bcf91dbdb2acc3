//! A snapshot, written a record at a time.
//!
//! In:  keys with payloads, as DUMP gives them. Out: a file that a Redis loads.
//!
//! ```text
//! "REDIS0009" | FE 00 (database 0) | records | FF | CRC-64 of all before it
//! a record: [FC, u64: when it expires, in milliseconds since 1970] | type u8 | key | the value
//! ```
//! The version is one that every server in use reads. A server looks at the type of each value, not at the version, so a hash of which
//! fields expire is read by those that have such hashes (Redis 7.4 and later), and stops the others with an error that names its type.

use super::crc64;
use super::payload::{PayloadError, body_of};
use super::value;
use std::io::{self, Write};

const MAGIC: &[u8] = b"REDIS0009";
const DATABASE: u8 = 0xfe;
const EXPIRY: u8 = 0xfc;
const END: u8 = 0xff;

/// See the module.
#[derive(Debug)]
pub struct RdbWriter<W> {
    out: W,
    sum: u64,
}

impl<W: Write> RdbWriter<W> {
    /// Begins a snapshot of one database.
    ///
    /// # Errors
    /// Of the output.
    pub fn new(out: W) -> io::Result<Self> {
        let mut it = Self { out, sum: 0 };
        it.put(MAGIC)?;
        it.put(&[DATABASE, 0])?;
        Ok(it)
    }

    /// Writes a key with the value of a payload; `expires_at` is in milliseconds since 1970.
    ///
    /// # Errors
    /// Of the output, or [`io::ErrorKind::InvalidData`]: the payload is damaged, or of a later version than is known here.
    pub fn record(
        &mut self,
        key: &[u8],
        payload: &[u8],
        expires_at: Option<u64>,
    ) -> io::Result<()> {
        let (body, _) = body_of(payload).map_err(no_payload)?;
        let (kind, body) = body
            .split_first()
            .ok_or_else(|| no_payload(PayloadError::Format))?;
        let mut front = Vec::with_capacity(key.len() + 16);
        if let Some(at) = expires_at {
            front.push(EXPIRY);
            front.extend_from_slice(&at.to_le_bytes());
        }
        front.push(*kind);
        value::put_text(&mut front, key);
        self.put(&front)?;
        self.put(body)
    }

    /// Ends the snapshot.
    ///
    /// # Errors
    /// Of the output.
    pub fn finish(&mut self) -> io::Result<()> {
        self.put(&[END])?;
        let sum = self.sum;
        self.out.write_all(&sum.to_le_bytes())?;
        self.out.flush()
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum = crc64::update(self.sum, bytes);
        self.out.write_all(bytes)
    }
}

fn no_payload(error: PayloadError) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("a payload that is none: {error:?}"),
    )
}

#[cfg(test)]
#[path = "writer_test.rs"]
mod writer_test;
