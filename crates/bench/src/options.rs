//! What a run is: a server, a workload, a pace, an end.
//!
//! In:  a caller's wishes. Out: [`Options`], checked before anything is sent.

use crate::{
    Error,
    keys::{Distribution, KeySpace},
    link::Target,
    reply::Protocol,
    workload::Workload,
};
use std::{str::FromStr, time::Duration};

/// How the requests of an open loop are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Evenly.
    Constant,
    /// As independent users would: waiting times are exponential.
    Poisson,
}

impl FromStr for Arrivals {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "constant" => Ok(Self::Constant),
            "poisson" => Ok(Self::Poisson),
            _ => Err(format!(
                "'{word}' is not a kind of arrivals; use constant or poisson"
            )),
        }
    }
}

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// A pipeline at a time, on every connection.
    Closed {
        /// Requests in a pipeline.
        pipeline: usize,
    },
    /// At a fixed rate over all connections.
    Open {
        /// Requests a second.
        per_s: f64,
        /// How they are spaced.
        arrivals: Arrivals,
        /// Most requests that may be due and not answered; more are left out and counted.
        waiting_max: usize,
    },
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this time, warm-up excluded.
    Elapsed(Duration),
    /// After so many requests, warm-up excluded.
    Count(u64),
}

/// A whole run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server.
    pub target: Target,
    /// What is asked of it.
    pub workload: Workload,
    /// When requests are sent.
    pub pace: Pace,
    /// When the run ends.
    pub until: Until,
    /// Load that comes first and is not counted.
    pub warm_up: Duration,
    /// How many connections.
    pub connections: usize,
    /// How many threads share them.
    pub threads: usize,
    /// Fixes the keys, values and waiting times.
    pub seed: u64,
    /// How long the last replies are waited for once everything has been sent.
    pub drain_limit: Duration,
}

impl Options {
    /// The run that writes every key of this one's workload once, and nothing else.
    #[must_use]
    pub fn filling(&self) -> Self {
        let keys = KeySpace {
            distribution: Distribution::Sequential,
            ..self.workload.keys
        };
        Self {
            workload: Workload {
                set_share: 1.0,
                keys,
                ..self.workload.clone()
            },
            pace: Pace::Closed { pipeline: 64 },
            until: Until::Count(keys.count),
            warm_up: Duration::ZERO,
            ..self.clone()
        }
    }

    /// Checks that the numbers make sense together.
    pub(crate) fn validate(&self) -> Result<(), Error> {
        self.workload.validate()?;
        if self.target.protocol == Protocol::Memcached && self.workload.expire_ms.is_some() {
            return Err(Error::options(
                "expiry is not written for memcached; leave it out",
            ));
        }
        if self.threads == 0 || self.connections < self.threads {
            return Err(Error::options(format!(
                "{} connections cannot be shared by {} threads; every thread needs at least one",
                self.connections, self.threads
            )));
        }
        match self.pace {
            Pace::Closed { pipeline: 0 } => Err(Error::options(
                "a pipeline of 0 requests sends nothing; use at least 1",
            )),
            Pace::Open { per_s, .. } if !(per_s > 0.0 && per_s.is_finite()) => Err(Error::options(
                format!("the rate is {per_s} requests a second; use a number above 0"),
            )),
            _ => Ok(()),
        }
    }
}
