//! Asking the processor for a cache line before it is needed.
//!
//! In: bytes that will be read soon. Out: nothing; they may be in the cache by then.
//!
//! The one file of this room with `unsafe`: there is no safe way to say it.
#![expect(unsafe_code, reason = "prefetching has no safe form")]

/// Asks for the cache line that holds `bytes[at]`; does nothing past the end, or on processors for
/// which no instruction is known.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(byte) = bytes.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction needs SSE, which every x86_64 processor has. It reads nothing
        // that the program could see and cannot fault, whatever the address; this one is that of a
        // live reference besides.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}

#[cfg(test)]
#[path = "prefetch_test.rs"]
mod prefetch_test;
