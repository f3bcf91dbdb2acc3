//! Lua's patterns, with a bound on the steps of a match.
//!
//! In:  a subject, a pattern, where to begin. Out: where it matches, and the captures.
//!
//! Lua's own matcher goes back and forth without a way to stop it: `('a'):rep(40):find(('a-'):rep(40) .. 'b')` takes longer than
//! the universe has been there. This one counts.
//! Source: Lua 5.1's manual, section 5.4.1; compared with Lua's own functions by `strings_test`.

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PatternError {
    /// The pattern is none.
    Malformed(String),
    /// It has taken more steps than are left.
    OutOfSteps,
}

/// Most captures of a pattern.
const CAPTURES_MAX: usize = 32;

/// How deep quantifiers and captures may lead.
const DEPTH_MAX: usize = 200;

/// What a capture holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capture {
    /// It was opened there and is not closed yet.
    Open(usize),
    /// Those bytes.
    Span(usize, usize),
    /// A position, counted from 1.
    Position(usize),
}

/// Steps that a search may take: some at a time.
pub(crate) struct Steps<'a> {
    left: u64,
    /// Grants so many more; none: the script has to end.
    more: &'a mut dyn FnMut() -> u64,
}

impl<'a> Steps<'a> {
    pub(crate) const fn new(more: &'a mut dyn FnMut() -> u64) -> Self {
        Self { left: 0, more }
    }

    fn take(&mut self, count: u64) -> Result<(), PatternError> {
        while self.left < count {
            match (self.more)() {
                0 => return Err(PatternError::OutOfSteps),
                granted => self.left += granted,
            }
        }
        self.left -= count;
        Ok(())
    }
}

/// One search.
pub(crate) struct Matcher<'a> {
    subject: &'a [u8],
    pattern: &'a [u8],
    captures: Vec<Capture>,
    depth: usize,
    steps: Steps<'a>,
}

type Found = Result<Option<usize>, PatternError>;

fn malformed<T>(text: impl Into<String>) -> Result<T, PatternError> {
    Err(PatternError::Malformed(text.into()))
}

impl<'a> Matcher<'a> {
    pub(crate) const fn new(subject: &'a [u8], pattern: &'a [u8], steps: Steps<'a>) -> Self {
        Self {
            subject,
            pattern,
            captures: Vec::new(),
            depth: 0,
            steps,
        }
    }

    /// The first match that begins at `from` or, unless `is_anchored`, later: its bounds.
    pub(crate) fn search(
        &mut self,
        from: usize,
        is_anchored: bool,
    ) -> Result<Option<(usize, usize)>, PatternError> {
        for at in from..=self.subject.len() {
            self.captures.clear();
            if let Some(end) = self.matches(at, 0)? {
                return Ok(Some((at, end)));
            }
            if is_anchored {
                break;
            }
        }
        Ok(None)
    }

    /// The captures of the match that was found last.
    pub(crate) fn captures(&self) -> &[Capture] {
        &self.captures
    }

    fn step(&mut self) -> Result<(), PatternError> {
        self.steps.take(1)
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.pattern.get(at).copied()
    }

    fn matches(&mut self, at: usize, item: usize) -> Found {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return malformed("pattern too complex");
        }
        let found = self.matches_here(at, item);
        self.depth -= 1;
        found
    }

    fn matches_here(&mut self, mut at: usize, mut item: usize) -> Found {
        loop {
            self.step()?;
            let Some(first) = self.byte(item) else {
                return Ok(Some(at));
            };
            let second = self.byte(item + 1);
            match (first, second) {
                (b'(', Some(b')')) => {
                    return self.capture(Capture::Position(at + 1), at, item + 2);
                }
                (b'(', _) => return self.capture(Capture::Open(at), at, item + 1),
                (b')', _) => return self.close(at, item + 1),
                (b'$', None) => return Ok((at == self.subject.len()).then_some(at)),
                (b'%', Some(b'b')) => match self.balanced(at, item + 2)? {
                    Some(end) => (at, item) = (end, item + 4),
                    None => return Ok(None),
                },
                (b'%', Some(b'f')) => {
                    let set = item + 2;
                    if self.byte(set) != Some(b'[') {
                        return malformed("missing '[' after '%f' in pattern");
                    }
                    let end = self.item_end(set)?;
                    let before = at.checked_sub(1).and_then(|it| self.subject.get(it));
                    let here = self.subject.get(at);
                    if self.set_has(set, end, before.copied().unwrap_or(0))
                        || !self.set_has(set, end, here.copied().unwrap_or(0))
                    {
                        return Ok(None);
                    }
                    item = end;
                }
                (b'%', Some(digit)) if digit.is_ascii_digit() => {
                    match self.captured_again(at, digit)? {
                        Some(end) => (at, item) = (end, item + 2),
                        None => return Ok(None),
                    }
                }
                _ => {
                    let end = self.item_end(item)?;
                    let is_one = self.is_one(at, item, end);
                    match self.byte(end) {
                        Some(b'?') => {
                            if is_one && let Some(found) = self.matches(at + 1, end + 1)? {
                                return Ok(Some(found));
                            }
                            item = end + 1;
                        }
                        Some(b'*') => return self.longest(at, item, end),
                        Some(b'+') if is_one => return self.longest(at + 1, item, end),
                        Some(b'-') => return self.shortest(at, item, end),
                        Some(b'+') => return Ok(None),
                        _ if is_one => (at, item) = (at + 1, end),
                        _ => return Ok(None),
                    }
                }
            }
        }
    }

    /// As many of the item as there are, or fewer where the rest asks for it.
    fn longest(&mut self, at: usize, item: usize, end: usize) -> Found {
        let mut count = 0;
        while self.is_one(at + count, item, end) {
            self.step()?;
            count += 1;
        }
        loop {
            if let Some(found) = self.matches(at + count, end + 1)? {
                return Ok(Some(found));
            }
            if count == 0 {
                return Ok(None);
            }
            count -= 1;
        }
    }

    /// As few of the item as the rest allows.
    fn shortest(&mut self, mut at: usize, item: usize, end: usize) -> Found {
        loop {
            if let Some(found) = self.matches(at, end + 1)? {
                return Ok(Some(found));
            }
            if !self.is_one(at, item, end) {
                return Ok(None);
            }
            at += 1;
        }
    }

    fn capture(&mut self, capture: Capture, at: usize, item: usize) -> Found {
        if self.captures.len() >= CAPTURES_MAX {
            return malformed("too many captures");
        }
        let level = self.captures.len();
        self.captures.push(capture);
        let found = self.matches(at, item)?;
        if found.is_none() {
            self.captures.truncate(level);
        }
        Ok(found)
    }

    fn close(&mut self, at: usize, item: usize) -> Found {
        let open = self
            .captures
            .iter()
            .rposition(|it| matches!(it, Capture::Open(_)));
        let Some(level) = open else {
            return malformed("invalid pattern capture");
        };
        let before = self.captures[level];
        if let Capture::Open(start) = before {
            self.captures[level] = Capture::Span(start, at);
        }
        let found = self.matches(at, item)?;
        if found.is_none() {
            self.captures[level] = before;
        }
        Ok(found)
    }

    fn captured_again(&mut self, at: usize, digit: u8) -> Found {
        let level = usize::from(digit).wrapping_sub(usize::from(b'1'));
        match self.captures.get(level) {
            Some(Capture::Span(start, end)) => {
                let bytes = &self.subject[*start..*end];
                let len = bytes.len();
                let is_there = self.subject[at..].starts_with(bytes);
                self.steps.take(len as u64)?;
                Ok(is_there.then_some(at + len))
            }
            // A position has no bytes that could come again.
            Some(Capture::Position(_)) => Ok(None),
            _ => malformed("invalid capture index"),
        }
    }

    fn balanced(&mut self, at: usize, item: usize) -> Found {
        let (Some(open), Some(close)) = (self.byte(item), self.byte(item + 1)) else {
            return malformed("unbalanced pattern");
        };
        if self.subject.get(at) != Some(&open) {
            return Ok(None);
        }
        let mut depth = 1;
        for (offset, byte) in self.subject[at + 1..].iter().enumerate() {
            self.steps.take(1)?;
            if *byte == close {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(at + offset + 2));
                }
            } else if *byte == open {
                depth += 1;
            }
        }
        Ok(None)
    }

    /// Where a single item of the pattern ends.
    fn item_end(&self, item: usize) -> Result<usize, PatternError> {
        match self.byte(item) {
            Some(b'%') => match self.byte(item + 1) {
                Some(_) => Ok(item + 2),
                None => malformed("malformed pattern (ends with '%')"),
            },
            Some(b'[') => {
                let mut at = item + 1;
                if self.byte(at) == Some(b'^') {
                    at += 1;
                }
                loop {
                    // A bracket right behind the opening one is one of the set.
                    let step = match self.byte(at) {
                        None => return malformed("malformed pattern (missing ']')"),
                        Some(b'%') => 2,
                        Some(_) => 1,
                    };
                    at += step;
                    if self.byte(at) == Some(b']') {
                        return Ok(at + 1);
                    }
                    if at >= self.pattern.len() {
                        return malformed("malformed pattern (missing ']')");
                    }
                }
            }
            _ => Ok(item + 1),
        }
    }

    fn is_one(&self, at: usize, item: usize, end: usize) -> bool {
        let Some(byte) = self.subject.get(at).copied() else {
            return false;
        };
        match self.pattern[item] {
            b'.' => true,
            b'%' => is_of_class(byte, self.pattern[item + 1]),
            b'[' => self.set_has(item, end, byte),
            literal => literal == byte,
        }
    }

    /// Whether the set that stands there has the byte.
    fn set_has(&self, item: usize, end: usize, byte: u8) -> bool {
        let last = end - 1;
        let mut at = item + 1;
        let is_negated = self.pattern[at] == b'^';
        if is_negated {
            at += 1;
        }
        while at < last {
            let here = self.pattern[at];
            if here == b'%' && at + 1 < last {
                if is_of_class(byte, self.pattern[at + 1]) {
                    return !is_negated;
                }
                at += 2;
            } else if at + 2 < last && self.pattern[at + 1] == b'-' {
                if (here..=self.pattern[at + 2]).contains(&byte) {
                    return !is_negated;
                }
                at += 3;
            } else {
                if here == byte {
                    return !is_negated;
                }
                at += 1;
            }
        }
        is_negated
    }
}

fn is_of_class(byte: u8, class: u8) -> bool {
    let is_in = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => byte.is_ascii_whitespace() || byte == 0x0b,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    is_in != class.is_ascii_uppercase()
}
