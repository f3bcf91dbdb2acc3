//! Where a command's keys are among its arguments.

/// Where some of a command's keys are, and what is done to them.
///
/// Keys are at `first`, `first + step`, ... up to the last: `first + last` if `last` is not
/// negative, otherwise counted from the end of the arguments (-1 is the last argument).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySpec {
    /// A remark that `COMMAND INFO` shows.
    pub notes: Option<&'static str>,
    /// [`key_flag`](super::key_flag) bits.
    pub flags: u32,
    /// Index of the first key; the command's name is 0.
    pub first: i32,
    /// See the type.
    pub last: i32,
    /// Distance between keys.
    pub step: i32,
}

impl KeySpec {
    /// One key at `first`.
    pub(super) const fn one(first: i32, flags: u32) -> Self {
        Self::range(first, 0, 1, flags)
    }

    /// Keys from `first` to `last`, every `step`th argument.
    pub(super) const fn range(first: i32, last: i32, step: i32, flags: u32) -> Self {
        Self {
            notes: None,
            flags,
            first,
            last,
            step,
        }
    }

    /// Adds a remark.
    pub(super) const fn notes(mut self, notes: &'static str) -> Self {
        self.notes = Some(notes);
        self
    }

    /// The half-open range of argument positions that these keys are in, `None` if the request is
    /// too short to have them.
    #[inline]
    #[must_use]
    pub(crate) fn positions(&self, argument_count: usize) -> Option<(usize, usize)> {
        let first = self.first as usize;
        let last = if self.last >= 0 {
            first + self.last as usize
        } else {
            argument_count.checked_sub(self.last.unsigned_abs() as usize)?
        };
        (first <= last && last < argument_count).then_some((first, last + 1))
    }
}
