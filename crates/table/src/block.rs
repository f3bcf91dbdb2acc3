//! A block of zeroed bytes that costs no memory until it is touched.
//!
//! In: a length. Out: bytes. Blocks come straight from the operating system, page by page as they
//! are first written, and go back to it when dropped: an allocator would keep them, or clear them
//! by writing, and a table's size could then not be read off its process.
//!
//! Invariant: a block starts at a page boundary, so that what is aligned within it is aligned.

use memmap2::MmapMut;
use std::ops::{Deref, DerefMut};

/// Zeroed bytes, page-aligned, taking memory as they are touched.
#[derive(Debug)]
pub(crate) struct Block(MmapMut);

impl Block {
    /// Reserves `len` bytes; `None` when the operating system has no room for them.
    ///
    /// With `is_huge` they take memory in huge pages, 2 MiB at a time, where the system has them: a
    /// random access then rarely misses the processor's address cache.
    pub(crate) fn new(len: usize, is_huge: bool) -> Option<Self> {
        let block = MmapMut::map_anon(len).ok()?;
        #[cfg(target_os = "linux")]
        if is_huge {
            // Refused by kernels without huge pages; small ones serve as well, only slower.
            let _ = block.advise(memmap2::Advice::HugePage);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = is_huge;
        Some(Self(block))
    }
}

impl Deref for Block {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Block {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}
