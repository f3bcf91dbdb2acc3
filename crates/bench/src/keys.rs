//! Which key the next request names, and how a key is written.
//!
//! In:  the size of the key space, the length of a key, a distribution.
//! Out: key numbers `0..count`, and their names: `key:` and the number, zero-filled to the length.
//!
//! Invariant: a number has one name, of exactly the asked length, in every run and every process,
//! so that what one run loads another run finds.
//! Source for the skewed distribution: Hormann and Derflinger, "Rejection-inversion to generate
//! variates from monotone discrete distributions" (1996): O(1) a sample and no table, for any
//! number of keys.

use crate::{Error, random::Random};
use std::str::FromStr;

const PREFIX: &[u8] = b"key:";

/// How requests spread over the keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Every key is as likely as any other.
    Uniform,
    /// Key number `n` is asked for in proportion to `1 / (n + 1)^exponent`.
    Zipf {
        /// How skewed; 0.99 is the custom of key-value benchmarks.
        exponent: f64,
    },
    /// `0, 1, 2, ...` and round again: one pass writes every key once.
    Sequential,
}

impl FromStr for Distribution {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':').unwrap_or((text, "")) {
            ("uniform", "") => Ok(Self::Uniform),
            ("sequential", "") => Ok(Self::Sequential),
            ("zipf", "") => Ok(Self::Zipf { exponent: 0.99 }),
            ("zipf", exponent) => match exponent.parse() {
                Ok(exponent) if (0.01..=5.0).contains(&exponent) => Ok(Self::Zipf { exponent }),
                _ => Err(format!(
                    "the exponent of zipf is '{exponent}'; use a number from 0.01 to 5, as in zipf:0.99"
                )),
            },
            _ => Err(format!(
                "'{text}' is not a distribution; use uniform, zipf, zipf:EXPONENT or sequential"
            )),
        }
    }
}

/// The keys that a workload may name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeySpace {
    /// How many keys there are; at least 1.
    pub count: u64,
    /// Length of every key, in bytes.
    pub bytes: usize,
    /// How requests spread over them.
    pub distribution: Distribution,
}

impl KeySpace {
    /// Checks that the space is not empty and that every number fits the length.
    ///
    /// # Errors
    /// [`Error::Options`] with what to change.
    pub fn validate(&self) -> Result<(), Error> {
        if self.count == 0 {
            return Err(Error::options(
                "the key space has 0 keys; ask for at least 1",
            ));
        }
        let digits = digits(self.count - 1);
        if self.bytes < digits {
            return Err(Error::options(format!(
                "{} keys need {digits} digits but a key is {} bytes long; use longer keys or fewer",
                self.count, self.bytes
            )));
        }
        Ok(())
    }

    /// Writes the name of key `number` over the whole of `name`.
    #[inline]
    pub fn write_name(number: u64, name: &mut [u8]) {
        let mut rest = number;
        for byte in name.iter_mut().rev() {
            *byte = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        debug_assert_eq!(
            rest,
            0,
            "validate() checked that {number} fits {} bytes",
            name.len()
        );
        // Only a name with room to spare carries the prefix: the digits matter more.
        if name.len() >= PREFIX.len() + digits(number).max(12) {
            name[..PREFIX.len()].copy_from_slice(PREFIX);
        }
    }
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Draws key numbers from a [`KeySpace`].
#[derive(Clone, Debug)]
pub(crate) struct KeyPicker {
    count: u64,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Uniform,
    Zipf(Zipf),
    Sequential { next: u64, stride: u64 },
}

impl KeyPicker {
    /// A picker for share `share` of `shares` generators that divide the space between them.
    ///
    /// Only [`Distribution::Sequential`] is divided: generator 1 of 4 names 1, 5, 9, ...
    #[must_use]
    pub(crate) fn new(space: &KeySpace, share: u64, shares: u64) -> Self {
        let source = match space.distribution {
            Distribution::Uniform => Source::Uniform,
            Distribution::Zipf { exponent } => Source::Zipf(Zipf::new(space.count, exponent)),
            Distribution::Sequential => Source::Sequential {
                next: share,
                stride: shares.max(1),
            },
        };
        Self {
            count: space.count,
            source,
        }
    }

    /// The number of the next key, in `0..count`.
    #[inline]
    pub(crate) fn pick(&mut self, random: &mut Random) -> u64 {
        match &mut self.source {
            Source::Uniform => random.below(self.count),
            Source::Zipf(zipf) => zipf.sample(random),
            Source::Sequential { next, stride } => {
                let number = *next % self.count;
                *next += *stride;
                number
            }
        }
    }
}

/// Rejection-inversion over ranks `1..=count` with density `rank^-exponent`.
///
/// The curve `h(x) = x^-exponent` is integrated to `H`, a uniform draw is mapped back through the
/// inverse of `H`, and rounded to a rank `k`. The rounding favours some ranks by the difference
/// between the bar of `k` and the area under the curve; those draws are rejected (a few percent).
#[derive(Clone, Debug)]
struct Zipf {
    count: u64,
    exponent: f64,
    integral_first: f64,
    integral_last: f64,
    accept_below: f64,
}

impl Zipf {
    fn new(count: u64, exponent: f64) -> Self {
        let mut zipf = Self {
            count,
            exponent,
            integral_first: 0.0,
            integral_last: 0.0,
            accept_below: 0.0,
        };
        zipf.integral_first = zipf.integral(1.5) - 1.0;
        zipf.integral_last = zipf.integral(count as f64 + 0.5);
        zipf.accept_below = 2.0 - zipf.integral_inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    fn sample(&self, random: &mut Random) -> u64 {
        loop {
            let drawn =
                self.integral_last + random.fraction() * (self.integral_first - self.integral_last);
            let x = self.integral_inverse(drawn);
            let rank = (x + 0.5).clamp(1.0, self.count as f64).floor();
            if rank - x <= self.accept_below
                || drawn >= self.integral(rank + 0.5) - self.density(rank)
            {
                return rank as u64 - 1;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of the density: `(x^(1-e) - 1) / (1-e)`, in a form that also holds at e = 1,
    /// where it is `ln x`.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let scaled = (1.0 - self.exponent) * log;
        if scaled.abs() > 1e-8 {
            scaled.exp_m1() / scaled * log
        } else {
            log
        }
    }

    fn integral_inverse(&self, y: f64) -> f64 {
        // Rounding may push the argument of the logarithm a hair under zero.
        let scaled = (y * (1.0 - self.exponent)).max(-1.0);
        if scaled.abs() > 1e-8 {
            (scaled.ln_1p() / scaled * y).exp()
        } else {
            y.exp()
        }
    }
}

#[cfg(test)]
#[path = "keys_test.rs"]
mod keys_test;
