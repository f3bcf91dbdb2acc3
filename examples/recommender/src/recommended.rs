//! What is recommended beside a page: other pages, by how many readers both have.

use serde::Serialize;
use std::collections::BTreeMap;

/// A page, and what its readers also opened.
#[derive(Debug, Serialize)]
pub(crate) struct Recommended {
    pub(crate) page: String,
    pub(crate) visits: i64,
    pub(crate) also: Vec<Also>,
}

/// Another page, and how many readers of the first one opened it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Also {
    pub(crate) page: String,
    pub(crate) readers: i64,
}

/// The first so many, those with most readers first.
pub(crate) fn rank(counts: BTreeMap<String, i64>, count: usize) -> Vec<Also> {
    let also = counts.into_iter();
    let mut also: Vec<Also> = also.map(|(page, readers)| Also { page, readers }).collect();
    // Those that have as many stay in the order of their names.
    also.sort_by_key(|it| std::cmp::Reverse(it.readers));
    also.truncate(count);
    also
}

#[cfg(test)]
mod recommended_test {
    use super::*;

    #[test]
    fn most_readers_come_first_and_ties_are_in_order() {
        let counts = [("c", 1), ("b", 3), ("a", 1), ("d", 2)];
        let counts = counts.map(|(page, readers)| (page.to_owned(), readers));
        let also = rank(counts.into(), 3);
        let also: Vec<_> = also.iter().map(|it| (&*it.page, it.readers)).collect();
        assert_eq!(also, [("b", 3), ("d", 2), ("a", 1)]);
    }
}
