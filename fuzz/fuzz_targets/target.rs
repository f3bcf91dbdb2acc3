//! The target that the program is named after, for libFuzzer.

#![no_main]

use brickyard_fuzz::{Target, named};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static TARGET: LazyLock<&Target> =
    LazyLock::new(|| named(env!("CARGO_BIN_NAME")).expect("a program for each target"));

fuzz_target!(|input: &[u8]| (TARGET.run)(input));
