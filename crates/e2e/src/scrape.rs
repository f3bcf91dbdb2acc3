//! A node's page of metrics, as Prometheus reads it.
//!
//! In:  the text of `/metrics`. Out: its series and their values, by name and labels.

use std::collections::{BTreeMap, BTreeSet};

/// A name, and its labels in the order in which they stand.
type Series = (String, Vec<(String, String)>);

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scrape {
    series: BTreeMap<Series, f64>,
    families: BTreeSet<String>,
}

impl Scrape {
    /// Reads a page.
    ///
    /// # Panics
    /// If a line of it is neither a comment nor a sample.
    #[must_use]
    pub fn of(page: &str) -> Self {
        let mut scrape = Self::default();
        for line in page.lines().filter(|line| !line.is_empty()) {
            if let Some(comment) = line.strip_prefix('#') {
                let mut words = comment.split_ascii_whitespace();
                if words.next() == Some("TYPE") {
                    let family = words.next().expect("the name of a family");
                    scrape.families.insert(family.to_owned());
                }
                continue;
            }
            let (series, value) = line.rsplit_once(' ').expect("a series and its value");
            let value = value.parse().expect("a number");
            let is_news = scrape.series.insert(parse(series), value).is_none();
            assert!(is_news, "twice on a page: {series}");
        }
        scrape
    }

    /// The names of families, without the endings of histograms.
    #[must_use]
    pub fn families(&self) -> &BTreeSet<String> {
        &self.families
    }

    /// Every series: name, labels, value.
    pub fn series(&self) -> impl Iterator<Item = (&str, &[(String, String)], f64)> {
        let series = self.series.iter();
        series.map(|((name, labels), value)| (name.as_str(), labels.as_slice(), *value))
    }

    /// The sum of all series of a name that have these labels; none: there are none.
    #[must_use]
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let has = |of: &[(String, String)], label: &(&str, &str)| {
            let mut of = of.iter();
            of.any(|(name, value)| (name.as_str(), value.as_str()) == *label)
        };
        let fits = self
            .series()
            .filter(|(own, of, _)| *own == name && labels.iter().all(|label| has(of, label)));
        let values: Vec<f64> = fits.map(|(_, _, value)| value).collect();
        (!values.is_empty()).then(|| values.iter().sum())
    }
}

fn parse(series: &str) -> Series {
    let Some((name, labels)) = series.split_once('{') else {
        return (series.to_owned(), Vec::new());
    };
    let labels = labels.strip_suffix("\"}").expect("the end of labels");
    // What the tests name has no quotes in it.
    let labels = labels.split("\",").map(|label| {
        let (name, value) = label.split_once("=\"").expect("a label and its value");
        (name.to_owned(), value.to_owned())
    });
    (name.to_owned(), labels.collect())
}

#[cfg(test)]
mod scrape_test {
    use super::*;

    #[test]
    fn series_are_found_by_name_and_labels() {
        let page = "# HELP a_total Times.\n# TYPE a_total counter\na_total{brick=\"0\",table=\"t, u\"} 2\n\
                    a_total{brick=\"1\",table=\"t, u\"} 3\n# TYPE b gauge\nb 0.5\n";
        let scrape = Scrape::of(page);
        assert_eq!(scrape.sum("a_total", &[]), Some(5.0));
        assert_eq!(scrape.sum("a_total", &[("brick", "1")]), Some(3.0));
        assert_eq!(scrape.sum("a_total", &[("table", "t, u")]), Some(5.0));
        assert_eq!(scrape.sum("a_total", &[("table", "u")]), None);
        assert_eq!(scrape.sum("b", &[]), Some(0.5));
        let families: Vec<&str> = scrape.families().iter().map(String::as_str).collect();
        assert_eq!(families, ["a_total", "b"]);
    }
}
