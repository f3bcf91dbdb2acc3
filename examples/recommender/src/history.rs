//! One reader's day: the pages that he opened, in order.
//!
//! In:  lines, as they were appended. Out: which pairs of pages they make.
//!
//! Invariant: the pairs of a history are those of its first reading, and of the second behind it, and so on: whoever counts each reading as it
//! comes counts the whole.

/// Of two pages that one reader opened: to be counted at `page` for `other`. The two of them make two such pairs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pair {
    pub(crate) page: String,
    pub(crate) other: String,
}

impl Pair {
    fn both_ways(one: &str, two: &str) -> [Self; 2] {
        let pair = |page: &str, other: &str| Self {
            page: page.to_owned(),
            other: other.to_owned(),
        };
        [pair(one, two), pair(two, one)]
    }
}

/// See the module.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    /// Each page once, in the order in which they were first opened.
    pages: Vec<String>,
}

impl History {
    pub(crate) fn read(lines: &[u8]) -> Self {
        let mut history = Self::default();
        for page in String::from_utf8_lossy(lines).lines() {
            if !history.has(page) {
                history.pages.push(page.to_owned());
            }
        }
        history
    }

    fn has(&self, page: &str) -> bool {
        self.pages.iter().any(|it| it == page)
    }

    /// The pairs that a reading of `page` makes with what came before it; none if it was opened before.
    pub(crate) fn pairs_with(&self, page: &str) -> Vec<Pair> {
        if self.has(page) {
            return Vec::new();
        }
        let pairs = self.pages.iter();
        pairs.flat_map(|it| Pair::both_ways(it, page)).collect()
    }

    /// All pairs of the day.
    pub(crate) fn pairs(&self) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for (at, page) in self.pages.iter().enumerate() {
            let before = self.pages.iter().take(at);
            pairs.extend(before.flat_map(|it| Pair::both_ways(it, page)));
        }
        pairs
    }
}

#[cfg(test)]
mod history_test {
    use super::*;

    #[test]
    fn what_each_reading_makes_adds_up_to_the_day() {
        let readings = ["a", "b", "a", "c", "b", "d"];
        let mut lines = String::new();
        let mut pairs = Vec::new();
        for page in readings {
            pairs.extend(History::read(lines.as_bytes()).pairs_with(page));
            lines += &format!("{page}\n");
        }
        let mut all = History::read(lines.as_bytes()).pairs();
        pairs.sort();
        all.sort();
        assert_eq!(pairs, all);
        // Four pages, each with three others.
        assert_eq!(all.len(), 12);
    }

    #[test]
    fn first_page_and_one_that_was_open_make_no_pair() {
        assert_eq!(History::read(b"").pairs_with("a"), []);
        assert_eq!(History::read(b"a\n").pairs_with("a"), []);
        let pairs = History::read(b"a\n").pairs_with("b");
        assert_eq!(pairs, Pair::both_ways("a", "b"));
    }
}
