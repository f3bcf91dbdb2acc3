//! The page of metrics that is being made.
//!
//! In:  families of values: a name, what it means, labels. Out: text in Prometheus' format, which everything that reads metrics
//! understands (version 0.0.4).
//!
//! Invariants:
//! - A family without a value is left out: there is nothing to say of it at the moment.
//! - Counters end in `_total`, and nothing else does.

use prometheus::TextEncoder;
use prometheus::proto::{
    Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType,
};

pub(super) type Labels = Vec<(&'static str, String)>;

pub(super) fn brick_label(brick: usize) -> Labels {
    vec![("brick", brick.to_string())]
}

pub(super) fn table_label(table: &str) -> Labels {
    vec![("table", table.to_owned())]
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Page(Vec<MetricFamily>);

/// What values of a family are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// They grow until the process ends.
    Counter,
    /// They are as of now.
    Gauge,
}

/// How values spread.
#[derive(Debug)]
pub(super) struct Distribution {
    pub(super) sum: f64,
    /// Upper bounds, ascending, and how many values are in each bucket alone. The last has all that is above the others.
    pub(super) buckets: Vec<(f64, u64)>,
}

impl Page {
    pub(super) fn family(
        &mut self,
        name: &str,
        help: &str,
        kind: Kind,
        values: impl IntoIterator<Item = (Labels, f64)>,
    ) {
        debug_assert_eq!(name.ends_with("_total"), kind == Kind::Counter, "{name}");
        let samples = values.into_iter().map(|(labels, value)| {
            let mut metric = labelled(labels);
            match kind {
                Kind::Counter => {
                    let mut counter = Counter::default();
                    counter.set_value(value);
                    metric.set_counter(counter);
                }
                Kind::Gauge => {
                    let mut gauge = Gauge::default();
                    gauge.set_value(value);
                    metric.set_gauge(gauge);
                }
            }
            metric
        });
        let kind = match kind {
            Kind::Counter => MetricType::COUNTER,
            Kind::Gauge => MetricType::GAUGE,
        };
        self.add(name, help, kind, samples.collect());
    }

    pub(super) fn gauges(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, f64)>,
    ) {
        self.family(name, help, Kind::Gauge, values);
    }

    pub(super) fn counters(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, f64)>,
    ) {
        self.family(name, help, Kind::Counter, values);
    }

    /// One value of the whole node.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.gauges(name, help, [(Labels::new(), value)]);
    }

    pub(super) fn histograms(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, Distribution)>,
    ) {
        let samples = values.into_iter().map(|(labels, distribution)| {
            let mut metric = labelled(labels);
            metric.set_histogram(histogram(distribution));
            metric
        });
        self.add(name, help, MetricType::HISTOGRAM, samples.collect());
    }

    fn add(&mut self, name: &str, help: &str, kind: MetricType, samples: Vec<Metric>) {
        if samples.is_empty() {
            return;
        }
        let mut family = MetricFamily::default();
        family.set_name(name.to_owned());
        family.set_help(help.to_owned());
        family.set_field_type(kind);
        family.set_metric(samples);
        self.0.push(family);
    }

    /// All of it.
    ///
    /// # Errors
    /// A family is none, which is a bug.
    pub(super) fn text(&self) -> Result<String, prometheus::Error> {
        TextEncoder::new().encode_to_string(&self.0)
    }
}

fn labelled(labels: Labels) -> Metric {
    let pairs = labels.into_iter().map(|(name, value)| {
        let mut pair = LabelPair::default();
        pair.set_name(name.to_owned());
        pair.set_value(value);
        pair
    });
    let mut metric = Metric::default();
    metric.set_label(pairs.collect());
    metric
}

fn histogram(distribution: Distribution) -> Histogram {
    let mut count = 0;
    let mut buckets = Vec::with_capacity(distribution.buckets.len());
    for (bound, more) in distribution.buckets {
        count += more;
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(bound);
        bucket.set_cumulative_count(count);
        buckets.push(bucket);
    }
    // The encoder writes one without a bound by itself.
    buckets.pop();
    let mut histogram = Histogram::default();
    histogram.set_sample_count(count);
    histogram.set_sample_sum(distribution.sum);
    histogram.set_bucket(buckets);
    histogram
}

#[cfg(test)]
#[path = "page_test.rs"]
mod page_test;
