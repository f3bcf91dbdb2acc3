//! Every experiment of the papers behind Brickyard (E1 to E22), measured on this machine: one page with pictures.
//!
//! In:  a program that serves ([`Settings::program`]), and what there is of peers. Out: a directory with a CSV, a JSON and an SVG an experiment, and one page of
//! HTML that needs nothing else.
//!
//! Reading order: `experiment` (what one is), `all` (the list), `run` (what it has while it measures), `data` (what it leaves), `judgement` (what is read from
//! that: figures, tables, checked rules), `campaign` (all of them, one after the other, resumable), `plot` and `page`; then any file of `all/`.
//!
//! Invariants:
//! - What is drawn, tabulated and judged is read from the CSV that an experiment left, by a function that measures nothing: no figure of ours is typed by hand.
//!   The originals' figures are, each with its place in the paper.
//! - Servers listen on loopback, keep what they keep in a directory that goes, and are ended by their own process ids.
//!
//! Not here: load generation, and how servers are started and watched (`brickyard-bench`); the comparison for docs/benchmarks.md (its program `peers`).

mod all;
mod campaign;
mod commands;
mod data;
mod experiment;
mod figure;
mod judgement;
mod load;
mod nodes;
mod number;
mod page;
mod peers;
mod plot;
mod progress;
mod record;
mod run;
mod spread;
mod table;

pub use all::{by_words, list};
pub use campaign::{Finished, Settings, page, run};
pub use experiment::Experiment;
