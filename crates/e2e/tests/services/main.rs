//! The services of `examples/` as real processes beside real clusters: what they are for, and what each promises while nodes and instances fail.
//!
//! `BRICKYARD_E2E_SEED` chooses other failures and other users than the usual ones.

mod browser;
mod keystore;
mod presence;
mod programs;
mod recommender;
mod service;
mod site;
mod storm;
