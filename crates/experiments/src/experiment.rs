//! What an experiment is.
//!
//! In:  nothing. Out: [`Experiment`]s: what was asked, what the original did and found, how it is measured here and judged.
//!
//! Not here: the experiments themselves, and their list (`all`).

use crate::data::Data;
use crate::judgement::Judgement;
use crate::run::Run;

/// One of the papers' experiments.
#[derive(Debug)]
pub struct Experiment {
    /// As in `E6`.
    pub number: u8,
    /// What people call it.
    pub title: &'static str,
    /// What it asks.
    pub question: &'static str,
    /// What was done before, and found.
    pub original: Original,
    /// What is smaller here than there, and why it may be.
    pub scaled: &'static str,
    /// What is expected here of the original's shape.
    pub expected: Expected,
    /// That shape in words.
    pub shape: &'static str,
    /// Its share of the time, in minutes of an hour.
    pub(crate) minutes: f64,
    /// Measures.
    pub(crate) measure: fn(&Run<'_>) -> anyhow::Result<Data>,
    /// Reads figures, tables and verdicts from what was measured. It must cope with any subset: a peer may be missing.
    pub(crate) judge: fn(&Data) -> Judgement,
}

/// An experiment as it was published.
#[derive(Debug)]
pub struct Original {
    /// The paper.
    pub paper: Paper,
    /// Section, figure or table, where the figures stand.
    pub place: &'static str,
    /// How it was set up.
    pub setup: &'static str,
    /// What came out, with figures.
    pub found: &'static str,
}

/// The five documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// The benchmark section of the longer version of [`Paper::Osdi`].
    DdsLong,
    /// Gribble et al., 2000.
    Osdi,
    /// The note on consistent hashing, 2011.
    Infinispan,
    /// Rufino et al., 2007.
    Domus,
    /// Li et al., 2013.
    Zht,
}

impl Paper {
    /// Authors, title, year.
    #[must_use]
    pub const fn citation(self) -> &'static str {
        match self {
            Self::DdsLong => {
                "Gribble, Brewer, Hellerstein and Culler: Scalable, distributed data structures for Internet service construction; \
                 the longer benchmark section"
            }
            Self::Osdi => {
                "Gribble, Brewer, Hellerstein and Culler: Scalable, distributed data structures for Internet service construction \
                 (OSDI 2000)"
            }
            Self::Infinispan => {
                "Consistent hashing and performance (Infinispan's blog, 2 February 2011)"
            }
            Self::Domus => "Rufino, Pina, Alves and Exposto: pDomus, an evaluation (2007)",
            Self::Zht => {
                "Li, Zhou, Brandstatter and Raicu: Distributed key-value store on HPC and cloud systems (2013)"
            }
        }
    }
}

/// What is expected of the original's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The same shape.
    Reproduced,
    /// The opposite: the original showed a weakness.
    Inverted,
    /// Another shape, for a reason that is told.
    Explained,
}

impl Expected {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Inverted => "inverted",
            Self::Explained => "explained",
        }
    }
}

impl Experiment {
    /// `E6`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("E{}", self.number)
    }

    /// The beginning of its files' names, which sort as the numbers do.
    #[must_use]
    pub(crate) fn stem(&self) -> String {
        format!("e{:02}", self.number)
    }
}
