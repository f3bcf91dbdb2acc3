//! One file of the log: a header, records back to back, and a footer once it is sealed.
//!
//! ```text
//! 0        64                                records_end                    end of file
//! | header | record | record | mark | record | footer: ranges ... | trailer |
//! ```
//! A segment without a footer is *active*: only its tail may be torn. A footer is written after the
//! records before it were synced, so damage in a sealed segment is never a torn tail.
//!
//! Not here: the bytes of a record (`brickyard_types::record`), writing (`append.rs`, `sync.rs`).

pub(crate) mod footer;
pub(crate) mod header;
pub(crate) mod mark;
pub(crate) mod range;
pub(crate) mod scanner;

#[cfg(any(test, feature = "testing"))]
mod scan_bytes;

#[cfg(any(test, feature = "testing"))]
pub use scan_bytes::scan_bytes;
