//! Where a command's keys are among its arguments.

use crate::args::Args;
use crate::number::parse_integer;

/// Where some of a command's keys are, and what is done to them.
///
/// Keys are at `first`, `first + step`, ... up to the last: `first + last` if `last` is not
/// negative, otherwise counted from the end of the arguments (-1 is the last argument). Where an argument says how many
/// there are (`EVAL script 2 key key argument`), `last` is 0.
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
    /// Index of the argument that says how many keys there are.
    pub count_at: Option<i32>,
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
            count_at: None,
        }
    }

    /// As many keys as the argument at `count_at` says, right behind it.
    pub(super) const fn counted(count_at: i32, flags: u32) -> Self {
        let mut spec = Self::range(count_at + 1, 0, 1, flags);
        spec.count_at = Some(count_at);
        spec
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
    pub(crate) fn positions(&self, args: Args<'_>) -> Option<(usize, usize)> {
        let argument_count = args.len();
        let first = self.first as usize;
        if let Some(count_at) = self.count_at {
            let count = parse_integer(args.get(count_at as usize)?)?;
            let end = first.checked_add(usize::try_from(count).ok()?)?;
            return (end <= argument_count).then_some((first, end));
        }
        let last = if self.last >= 0 {
            first + self.last as usize
        } else {
            argument_count.checked_sub(self.last.unsigned_abs() as usize)?
        };
        (first <= last && last < argument_count).then_some((first, last + 1))
    }
}
