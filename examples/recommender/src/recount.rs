//! The walk over all readings: what the counts should be, beside what they are.
//!
//! In:  the table, in parts that are walked over at once. Out: a [`Report`]; counts that are right.
//!
//! A service that dies between a reading and its counts leaves them behind. What is missing is added, and what is too much taken away, as
//! increments: those of others meanwhile stay.

use crate::history::Pair;
use crate::store::{Counts, Store};
use brickyard_client::Error;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use tokio::task::JoinSet;

/// Corrections on their way at once.
const TOGETHER: usize = 256;

/// A count that is not what it should be.
#[derive(Debug, PartialEq, Eq)]
struct Wrong {
    day: u64,
    pair: Pair,
    counted: i64,
    expected: i64,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Report {
    counts: usize,
    wrong: Vec<Wrong>,
    is_mended: bool,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for it in &self.wrong {
            let Pair { page, other } = &it.pair;
            let (counted, expected) = (it.counted, it.expected);
            writeln!(
                f,
                "day {}: {page} and {other}: {counted}, should be {expected}",
                it.day
            )?;
        }
        let fate = if self.is_mended { "mended" } else { "found" };
        writeln!(
            f,
            "{} counts, {} wrong ones {fate}",
            self.counts,
            self.wrong.len()
        )
    }
}

/// Walks over the table in so many parts, and mends what is wrong unless it is a dry run.
pub(crate) async fn run(store: &Store, walks: u16, is_dry: bool) -> Result<Report, Error> {
    let mut parts = JoinSet::new();
    for part in 0..walks {
        let store = store.clone();
        parts.spawn(async move { store.walk(part, walks).await });
    }
    let mut expected = BTreeMap::new();
    let mut counted = BTreeMap::new();
    while let Some(ended) = parts.join_next().await {
        // A walk that panicked has told why; nothing may be mended by halves.
        let [readings, counts] = ended.unwrap_or(Err(Error::Closed))?;
        add(&mut expected, readings);
        add(&mut counted, counts);
    }
    let (counts, wrong) = compare(&expected, &counted);
    if !is_dry {
        for some in wrong.chunks(TOGETHER) {
            let mended: Vec<_> = some
                .iter()
                .map(|it| store.add(&it.pair, it.day, it.expected - it.counted))
                .collect();
            for it in mended {
                it.await?;
            }
        }
    }
    Ok(Report {
        counts,
        wrong,
        is_mended: !is_dry,
    })
}

fn add(sums: &mut BTreeMap<u64, Counts>, part: BTreeMap<u64, Counts>) {
    for (day, pages) in part {
        let of_day = sums.entry(day).or_default();
        for (page, others) in pages {
            let of_page = of_day.entry(page).or_default();
            for (other, readers) in others {
                *of_page.entry(other).or_insert(0) += readers;
            }
        }
    }
}

/// How many counts there are or should be, and those of them that are wrong.
fn compare(
    expected: &BTreeMap<u64, Counts>,
    counted: &BTreeMap<u64, Counts>,
) -> (usize, Vec<Wrong>) {
    let pairs = |days: &BTreeMap<u64, Counts>| -> BTreeSet<(u64, Pair)> {
        let pages = days.iter().flat_map(|(day, pages)| {
            let all = pages.iter();
            all.flat_map(move |(page, others)| {
                others.keys().map(move |other| {
                    let pair = Pair {
                        page: page.clone(),
                        other: other.clone(),
                    };
                    (*day, pair)
                })
            })
        });
        pages.collect()
    };
    let look = |days: &BTreeMap<u64, Counts>, day: u64, pair: &Pair| -> i64 {
        let others = days.get(&day).and_then(|it| it.get(&pair.page));
        others
            .and_then(|it| it.get(&pair.other))
            .copied()
            .unwrap_or(0)
    };
    let mut all = pairs(expected);
    all.append(&mut pairs(counted));
    let count = all.len();
    let mut wrong = Vec::new();
    for (day, pair) in all {
        let (expected, counted) = (look(expected, day, &pair), look(counted, day, &pair));
        if expected != counted {
            wrong.push(Wrong {
                day,
                pair,
                counted,
                expected,
            });
        }
    }
    (count, wrong)
}

#[cfg(test)]
mod recount_test {
    use super::*;

    fn counts(of: &[(u64, &str, &str, i64)]) -> BTreeMap<u64, Counts> {
        let mut days: BTreeMap<u64, Counts> = BTreeMap::new();
        for (day, page, other, readers) in of {
            let pages = days.entry(*day).or_default();
            let others = pages.entry((*page).to_owned()).or_default();
            others.insert((*other).to_owned(), *readers);
        }
        days
    }

    #[test]
    fn parts_add_up() {
        let mut sums = counts(&[(1, "a", "b", 2), (2, "a", "b", 1)]);
        add(&mut sums, counts(&[(1, "a", "b", 3), (1, "a", "c", 1)]));
        let expected = [(1, "a", "b", 5), (1, "a", "c", 1), (2, "a", "b", 1)];
        assert_eq!(sums, counts(&expected));
    }

    #[test]
    fn what_is_missing_too_little_or_too_much_is_wrong() {
        let expected = counts(&[(1, "a", "b", 2), (1, "b", "a", 2), (2, "a", "b", 1)]);
        let counted = counts(&[(1, "a", "b", 2), (1, "b", "a", 1), (3, "a", "b", 4)]);
        let (all, wrong) = compare(&expected, &counted);
        assert_eq!(all, 4);
        let wrong = wrong.iter();
        let told: Vec<_> = wrong
            .map(|it| (it.day, it.pair.page.as_str(), it.counted, it.expected))
            .collect();
        assert_eq!(told, [(1, "b", 1, 2), (2, "a", 0, 1), (3, "a", 4, 0)]);
    }
}
