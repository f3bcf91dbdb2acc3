//! Options that come in pairs: a word, and its value behind it.

use crate::args::Args;
use crate::error::ErrorReply;
use std::borrow::Cow;

/// The options behind a subcommand and the name of what it is about, as text.
pub(super) fn options<'a>(
    args: Args<'a>,
) -> impl Iterator<Item = Result<(Cow<'a, str>, Cow<'a, str>), ErrorReply>> {
    let mut words = args.from(3).map(String::from_utf8_lossy);
    std::iter::from_fn(move || {
        let option = words.next()?;
        Some(match words.next() {
            Some(value) => Ok((option, value)),
            None => Err(ErrorReply::new(format!(
                "ERR option '{option}' has no value after it"
            ))),
        })
    })
}
