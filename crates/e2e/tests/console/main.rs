//! The console, and the dashboard for Grafana: what HTTP answers to whom, and what a real browser shows of a cluster that fails and moves.

mod browser;
mod dashboard;
mod http;
mod load;
mod pictures;
