//! A load that remembers everything: for trying a cluster under failures, and checking what its clients saw.
//!
//! In:  the addresses of a running cluster ([`LoadOptions`]), and failures that the caller makes meanwhile.
//! Out: a [`Recording`]: every operation with its outcome, which `brickyard-history` checks; how long callers waited
//! at worst; throughput over time, and a picture of it ([`plot`]).
//!
//! The load goes through the client library, as a program's would: it follows the cluster's changes, tries again what is
//! safe to try again, and may read from any replica.
//!
//! Reading order: `load`, `worker` (what each client does), `recording`, `plot`; `failure` (what can go wrong); `network`, which can be cut and lose packets; `disk`, which
//! can be full, stall and be slow; `busy` cores.
//!
//! Invariant: an operation that is not in the recording was not sent.
//!
//! Not here: processes and their ends; the caller makes the failures.

mod busy;
mod disk;
mod failure;
mod load;
mod network;
mod plot;
mod recording;
mod worker;

pub use brickyard_client::{Lookups, ReadPolicy};
pub use brickyard_history::{Action, CheckedHistory, Nanos, Operation, Outcome, Violation};
pub use busy::BusyCores;
pub use disk::{DiskError, DiskHarm, SlowDisk};
pub use failure::{Failure, Order};
pub use load::{Load, LoadError, LoadOptions};
pub use network::{Network, NetworkError};
pub use plot::{Mark, plot};
pub use recording::{Kind, Recording, Sample, Wait};
