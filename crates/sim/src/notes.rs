//! What is noted of a run: its digest, its story, the first violation, how often what happened.
//!
//! Invariant: nothing in the run reads it but its end.

use crate::clock::Nanos;
use crate::coverage::Coverage;
use crate::digest::Digest;
use std::collections::BTreeMap;

/// See the module.
#[derive(Default)]
pub(crate) struct Notes {
    digest: Digest,
    /// What happened, for people; nothing is kept if nobody will read it.
    story: Option<Vec<String>>,
    /// The first violation, and where in the story it stands.
    violation: Option<(String, usize)>,
    /// What happened how often.
    counts: BTreeMap<&'static str, u64>,
    /// Which transitions of the protocol this run comes through, if anybody asks.
    coverage: Option<Coverage>,
}

impl Notes {
    pub(crate) fn new(is_told: bool) -> Self {
        Self {
            story: is_told.then(Vec::new),
            ..Self::default()
        }
    }

    /// Whether somebody will read the story.
    pub(crate) const fn is_told(&self) -> bool {
        self.story.is_some()
    }

    pub(crate) fn tell(&mut self, now: Nanos, what: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            story.push(line(now, &what()));
        }
    }

    pub(crate) fn take_story(&mut self) -> Vec<String> {
        self.story.take().unwrap_or_default()
    }

    /// What the nodes were like stands before the violation.
    pub(crate) fn describe(&mut self, now: Nanos, nodes: impl FnOnce() -> String) {
        if let (Some(story), Some((_, at))) = (&mut self.story, &self.violation) {
            story.insert(*at, line(now, &nodes()));
        }
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_insert(0) += 1;
    }

    pub(crate) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.counts.clone()
    }

    /// The first violation is noted.
    pub(crate) fn object(&mut self, now: Nanos, what: String) {
        if self.violation.is_none() {
            let at = self.story.as_ref().map_or(0, Vec::len);
            self.tell(now, || format!("VIOLATION: {what}"));
            self.violation = Some((what, at));
        }
    }

    pub(crate) fn violation(&self) -> Option<&str> {
        self.violation.as_ref().map(|(what, _)| &what[..])
    }

    pub(crate) fn digest(&mut self, number: u64) {
        self.digest.number(number);
    }

    pub(crate) fn digest_bytes(&mut self, bytes: &[u8]) {
        self.digest.bytes(bytes);
    }

    pub(crate) fn digest_value(&self) -> u64 {
        self.digest.value()
    }

    /// From now on it is noted which transitions the run comes through.
    pub(crate) fn begin_coverage(&mut self) {
        self.coverage = Some(Coverage::default());
    }

    pub(crate) const fn is_covered(&self) -> bool {
        self.coverage.is_some()
    }

    pub(crate) fn coverage(&mut self) -> Option<&mut Coverage> {
        self.coverage.as_mut()
    }

    pub(crate) fn take_coverage(&mut self) -> Coverage {
        self.coverage.take().unwrap_or_default()
    }
}

fn line(now: Nanos, what: &str) -> String {
    format!("{:>10.3} ms  {what}", now as f64 / 1e6)
}
