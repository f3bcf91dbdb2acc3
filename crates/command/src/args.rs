//! A request's arguments, wherever their bytes are.
//!
//! In:  a connection's input buffer and the spans that `wire` found in it, or an owned copy of both
//!      for requests that have to wait. Out: byte slices by position; position 0 is the name.
//!
//! Invariants:
//! - Nothing is copied or allocated to look at arguments.

use brickyard_wire::Span;

/// The arguments of one request; as cheap to pass as two slices.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a> {
    bytes: &'a [u8],
    spans: &'a [Span],
}

impl<'a> Args<'a> {
    /// Arguments at `spans` of `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8], spans: &'a [Span]) -> Self {
        Self { bytes, spans }
    }

    /// Number of arguments, the command's name included.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are none, not even a name.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The argument at `position`, which must exist: the command's arity was checked before.
    ///
    /// # Panics
    /// If there is none (a caller bug: what a client sends is counted before it gets here).
    #[inline]
    #[must_use]
    pub fn at(&self, position: usize) -> &'a [u8] {
        let span = self.spans[position];
        let start = span.start as usize;
        &self.bytes[start..start + span.len as usize]
    }

    /// The argument at `position`, if there is one.
    #[inline]
    #[must_use]
    pub fn get(&self, position: usize) -> Option<&'a [u8]> {
        (position < self.spans.len()).then(|| self.at(position))
    }

    /// The arguments from `position` on.
    #[inline]
    pub fn from(
        &self,
        position: usize,
    ) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone + use<'a> {
        let args = *self;
        (position.min(args.len())..args.len()).map(move |at| args.at(at))
    }

    /// The same arguments without the first `count`: `COMMAND GETKEYS GET k` without its first two
    /// is a request of its own.
    #[must_use]
    pub fn skip(&self, count: usize) -> Self {
        Self {
            bytes: self.bytes,
            spans: self.spans.get(count..).unwrap_or_default(),
        }
    }

    /// Bytes that they stand in: of a client's request all of it, with what is around the arguments.
    #[inline]
    #[must_use]
    pub const fn request_len(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of all of them together.
    #[must_use]
    pub fn bytes_len(&self) -> usize {
        self.spans.iter().map(|span| span.len as usize).sum()
    }

    /// Copies the arguments, for a request that outlives its input buffer.
    #[must_use]
    pub fn to_owned(&self) -> OwnedArgs {
        let mut owned = OwnedArgs::with_capacity(self.bytes_len(), self.len());
        for argument in self.from(0) {
            owned.push(argument);
        }
        owned
    }
}

/// The arguments of a request that waits: in a transaction's queue, for a disk, for another brick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedArgs {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl OwnedArgs {
    /// No arguments, with room for `count` of them of `bytes` bytes in all.
    #[must_use]
    pub fn with_capacity(bytes: usize, count: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            spans: Vec::with_capacity(count),
        }
    }

    /// Adds an argument.
    ///
    /// # Panics
    /// If the arguments reach 4 GiB (a caller bug: requests are bounded at the wire).
    pub fn push(&mut self, argument: &[u8]) {
        let start = u32::try_from(self.bytes.len()).expect("requests are bounded at the wire");
        let len = u32::try_from(argument.len()).expect("requests are bounded at the wire");
        self.bytes.extend_from_slice(argument);
        self.spans.push(Span { start, len });
    }

    /// A view of the arguments.
    #[inline]
    #[must_use]
    pub fn as_args(&self) -> Args<'_> {
        Args::new(&self.bytes, &self.spans)
    }

    /// Bytes of memory that the copy takes, for bounds on what clients may queue.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.spans.capacity() * size_of::<Span>()
    }
}

impl<A: AsRef<[u8]>> FromIterator<A> for OwnedArgs {
    fn from_iter<I: IntoIterator<Item = A>>(arguments: I) -> Self {
        let mut owned = Self::default();
        for argument in arguments {
            owned.push(argument.as_ref());
        }
        owned
    }
}

#[cfg(test)]
#[path = "args_test.rs"]
mod args_test;
