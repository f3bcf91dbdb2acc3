//! The console: what HTTP answers to whom, and what a real browser shows of a cluster that fails and moves.

mod browser;
mod http;
