//! Log lines: events with fields on standard error.

use crate::config::LogFormat;
use std::io::IsTerminal as _;
use tracing_subscriber::EnvFilter;

/// Starts logging for the whole process.
///
/// # Errors
/// The level cannot be understood, or logging was started before.
pub fn start(format: LogFormat, level: &str) -> Result<(), String> {
    let filter = EnvFilter::try_new(level).map_err(|error| {
        format!("log_level = '{level}': {error}; write error, warn, info, debug or trace")
    })?;
    let is_terminal = std::io::stderr().is_terminal();
    let is_text = match format {
        LogFormat::Text => true,
        LogFormat::Json => false,
        LogFormat::Auto => is_terminal,
    };
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(true);
    let started = if is_text {
        builder.with_ansi(is_terminal).try_init()
    } else {
        builder
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .try_init()
    };
    started.map_err(|error| format!("logging cannot be started: {error}"))
}

/// Whether `level` can be understood.
pub(crate) fn check_level(level: &str) -> Result<(), String> {
    EnvFilter::try_new(level)
        .map(drop)
        .map_err(|error| error.to_string())
}
