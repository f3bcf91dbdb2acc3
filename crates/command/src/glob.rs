//! Patterns as KEYS, SCAN and CONFIG GET take them: `*`, `?`, `[a-z]`, `[^a-z]` and `\`.
//!
//! Invariants:
//! - The answer is Redis's, odd patterns included: an unclosed class ends with the pattern, and a
//!   pattern of stars does not match the empty text.
//! - The work is at most the product of both lengths: after a mismatch only the last star is tried
//!   at a later place, because what an earlier one could gain the last one has tried.

/// Whether `text` as a whole matches `pattern`.
#[must_use]
pub fn matches(pattern: &[u8], text: &[u8], ignores_case: bool) -> bool {
    if text.is_empty() {
        return pattern.is_empty();
    }
    let (mut pattern, mut text) = (pattern, text);
    let mut last_star: Option<(&[u8], &[u8])> = None;
    loop {
        let Some((byte, after)) = text.split_first() else {
            return pattern.iter().all(|byte| *byte == b'*');
        };
        if let [b'*', rest @ ..] = pattern {
            if rest.is_empty() {
                return true;
            }
            pattern = rest;
            last_star = Some((rest, text));
        } else if let Some(rest) = match_one(pattern, *byte, ignores_case) {
            pattern = rest;
            text = after;
        } else {
            let Some((rest, [_, later @ ..])) = last_star else {
                return false;
            };
            pattern = rest;
            text = later;
            last_star = Some((rest, later));
        }
    }
}

/// Matches one byte and returns the pattern after the part that matched it.
fn match_one(pattern: &[u8], byte: u8, ignores_case: bool) -> Option<&[u8]> {
    let (is_match, rest) = match pattern {
        [] => return None,
        [b'?', rest @ ..] => (true, rest),
        [b'[', class @ ..] => match_class(class, byte, ignores_case),
        [b'\\', literal, rest @ ..] => (is_same(*literal, byte, ignores_case), rest),
        [literal, rest @ ..] => (is_same(*literal, byte, ignores_case), rest),
    };
    is_match.then_some(rest)
}

fn match_class(class: &[u8], byte: u8, ignores_case: bool) -> (bool, &[u8]) {
    let (is_negated, mut class) = match class {
        [b'^', class @ ..] => (true, class),
        class => (false, class),
    };
    let mut is_match = false;
    loop {
        match class {
            [b'\\', literal, rest @ ..] => {
                is_match |= *literal == byte;
                class = rest;
            }
            [] | [b']', ..] => {
                let rest = class.get(1..).unwrap_or_default();
                return (is_match != is_negated, rest);
            }
            [first, b'-', last, rest @ ..] => {
                is_match |= is_between(*first, *last, byte, ignores_case);
                class = rest;
            }
            [literal, rest @ ..] => {
                is_match |= is_same(*literal, byte, ignores_case);
                class = rest;
            }
        }
    }
}

/// Bytes are ordered as C orders characters: those past 127 come before the others.
fn is_between(first: u8, last: u8, byte: u8, ignores_case: bool) -> bool {
    let signed = u8::cast_signed;
    let (low, high) = if signed(first) <= signed(last) {
        (first, last)
    } else {
        (last, first)
    };
    let folded = |byte: u8| {
        signed(if ignores_case {
            byte.to_ascii_lowercase()
        } else {
            byte
        })
    };
    (folded(low)..=folded(high)).contains(&folded(byte))
}

fn is_same(one: u8, other: u8, ignores_case: bool) -> bool {
    one == other || ignores_case && one.eq_ignore_ascii_case(&other)
}

#[cfg(test)]
#[path = "glob_test.rs"]
mod glob_test;
