//! Where the indexes of a table's partitions get their buckets and overflow cells.
//!
//! In:  page, bucket and cell numbers. Out: lines ([`crate::bucket`]).
//!
//! One pool serves all partitions, so that an empty partition costs nothing, a small one a page of
//! four buckets, and no allocator's rounding comes between.
//!
//! Invariants:
//! - Cell 0 is never handed out, so that a link of 0 can mean "none".
//! - What is handed out is zeroed.

use crate::block::Block;
use crate::bucket::{BUCKET_BYTES, CELL_BYTES, Line};

/// Buckets that an index takes at a time.
pub(crate) const PAGE_BUCKETS: u32 = 4;

/// Bytes of a slab: a huge page.
const SLAB_BYTES: usize = 1 << 21;

/// From so many slabs on, new ones are huge pages; a smaller index would mostly be the unused part
/// of one.
const HUGE_FROM_SLABS: usize = 4;

/// Lines of one length, numbered from 0, in slabs of two megabytes.
#[derive(Debug, Default)]
struct Slabs<const LINE_BYTES: usize> {
    slabs: Vec<Block>,
}

impl<const LINE_BYTES: usize> Slabs<LINE_BYTES> {
    const LINES: u32 = (SLAB_BYTES / LINE_BYTES) as u32;

    #[inline]
    fn line(&self, number: u32) -> &[u8; LINE_BYTES] {
        let (lines, _) = self.slabs[(number / Self::LINES) as usize].as_chunks();
        &lines[(number % Self::LINES) as usize]
    }

    #[inline]
    fn line_mut(&mut self, number: u32) -> &mut [u8; LINE_BYTES] {
        let (lines, _) = self.slabs[(number / Self::LINES) as usize].as_chunks_mut();
        &mut lines[(number % Self::LINES) as usize]
    }

    /// Sees to it that line `number` exists.
    fn reserve(&mut self, number: u32) -> Option<()> {
        while self.slabs.len() <= (number / Self::LINES) as usize {
            let is_huge = self.slabs.len() >= HUGE_FROM_SLABS;
            self.slabs.push(Block::new(SLAB_BYTES, is_huge)?);
        }
        Some(())
    }
}

/// Buckets and cells of one table.
#[derive(Debug)]
pub(crate) struct Pool {
    buckets: Slabs<BUCKET_BYTES>,
    cells: Slabs<CELL_BYTES>,
    pages_begun: u32,
    cells_begun: u32,
    free_pages: Vec<u32>,
    free_cells: Vec<u32>,
}

impl Pool {
    pub(crate) const fn new() -> Self {
        Self {
            buckets: Slabs { slabs: Vec::new() },
            cells: Slabs { slabs: Vec::new() },
            pages_begun: 0,
            cells_begun: 1,
            free_pages: Vec::new(),
            free_cells: Vec::new(),
        }
    }

    /// The memory of all buckets and cells.
    pub(crate) fn into_blocks(self) -> impl Iterator<Item = Block> {
        self.buckets.slabs.into_iter().chain(self.cells.slabs)
    }

    /// Bytes of memory that the pool has touched, freed lines included, which are kept for the
    /// next; and of the indexes' lists of pages.
    pub(crate) fn memory(&self) -> usize {
        const PAGE_BYTES: usize = PAGE_BUCKETS as usize * BUCKET_BYTES;
        self.pages_begun as usize * (PAGE_BYTES + size_of::<u32>())
            + self.cells_begun as usize * CELL_BYTES
            + (self.free_pages.capacity() + self.free_cells.capacity()) * size_of::<u32>()
    }

    /// Sees to it that `pages` and `cells` can be taken; `None` if there is no memory for them.
    #[inline]
    pub(crate) fn reserve(&mut self, pages: u32, cells: u32) -> Option<()> {
        self.buckets
            .reserve((self.pages_begun + pages) * PAGE_BUCKETS)?;
        self.cells.reserve(self.cells_begun + cells)
    }

    #[inline]
    pub(crate) fn bucket(&self, number: u32) -> &[u8; BUCKET_BYTES] {
        self.buckets.line(number)
    }

    #[inline]
    pub(crate) fn bucket_mut(&mut self, number: u32) -> &mut [u8; BUCKET_BYTES] {
        self.buckets.line_mut(number)
    }

    #[inline]
    pub(crate) fn cell(&self, number: u32) -> &[u8; CELL_BYTES] {
        self.cells.line(number)
    }

    #[inline]
    pub(crate) fn cell_mut(&mut self, number: u32) -> &mut [u8; CELL_BYTES] {
        self.cells.line_mut(number)
    }

    /// Takes a page: the number of four empty buckets, divided by four.
    ///
    /// # Panics
    /// If the operating system has no memory and [`Self::reserve`] was not asked.
    pub(crate) fn take_page(&mut self) -> u32 {
        let page = self.free_pages.pop().unwrap_or_else(|| {
            let page = self.pages_begun;
            let reserved = self.buckets.reserve((page + 1) * PAGE_BUCKETS - 1);
            reserved.expect("the operating system has no memory left for an index page");
            self.pages_begun += 1;
            page
        });
        debug_assert!((0..PAGE_BUCKETS).all(|at| {
            let bucket = self.bucket(page * PAGE_BUCKETS + at);
            bucket.taken().count() == 0 && bucket.link() == 0
        }));
        page
    }

    /// Gives a page of empty buckets back.
    pub(crate) fn free_page(&mut self, page: u32) {
        assert!(page < self.pages_begun, "page {page} was not taken");
        self.free_pages.push(page);
    }

    /// Takes an empty cell.
    ///
    /// # Panics
    /// As [`Self::take_page`].
    pub(crate) fn take_cell(&mut self) -> u32 {
        self.free_cells.pop().unwrap_or_else(|| {
            let cell = self.cells_begun;
            let reserved = self.cells.reserve(cell);
            reserved.expect("the operating system has no memory left for an index cell");
            self.cells_begun += 1;
            cell
        })
    }

    /// Gives a cell back.
    pub(crate) fn free_cell(&mut self, cell: u32) {
        assert_ne!(cell, 0, "cell 0 is in no chain");
        *self.cell_mut(cell) = [0; CELL_BYTES];
        self.free_cells.push(cell);
    }
}
