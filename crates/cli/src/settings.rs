//! The server's settings as flags: one for each field of the configuration, made from its table.

use anyhow::Context as _;
use brickyard_server::config::{CONFIG_VARIABLE, FIELDS, Field, Loaded, Sources};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use std::path::PathBuf;

/// The file that was named, and the flags that were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct SettingsArguments {
    file: Option<PathBuf>,
    flags: Vec<(&'static str, String)>,
}

impl SettingsArguments {
    /// Reads the settings from all their sources.
    pub(crate) fn load(&self) -> anyhow::Result<Loaded> {
        // Variables that are not UTF-8 are none of ours.
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let file = self
            .file
            .clone()
            .or_else(|| std::env::var_os(CONFIG_VARIABLE).map(PathBuf::from));
        let sources = Sources {
            file,
            environment,
            flags: self.flags.clone(),
        };
        Loaded::from_sources(&sources)
            .context("nothing was started; `brickyard config print` shows every setting")
    }

    /// Gives a setting a value as if by its flag, unless the flag was given.
    pub(crate) fn set_default(&mut self, name: &'static str, text: impl Into<String>) {
        if !self.has(name) {
            self.flags.push((name, text.into()));
        }
    }

    /// Whether the flag was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|(given, _)| *given == name)
    }
}

impl Args for SettingsArguments {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .value_parser(clap::value_parser!(PathBuf))
            .help(format!(
                "Configuration file in TOML [env: {CONFIG_VARIABLE}]"
            ));
        FIELDS
            .iter()
            .map(flag)
            .fold(command.arg(file), Command::arg)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingsArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut this = Self::default();
        this.update_from_arg_matches(matches)?;
        Ok(this)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        if let Some(file) = matches.get_one::<PathBuf>("config") {
            self.file = Some(file.clone());
        }
        for field in FIELDS {
            if let Some(text) = matches.get_one::<String>(field.name) {
                self.flags.push((field.name, text.clone()));
            }
        }
        Ok(())
    }
}

/// Values are checked with all others when the sources are merged, so that every problem is told at
/// once; here they are text.
fn flag(field: &'static Field) -> Arg {
    let defaults = brickyard_server::config::Fields::default();
    let help = format!(
        "{} [default: {}] [env: {}]",
        field.reason,
        field.toml(&defaults),
        field.environment()
    );
    let summary = field
        .reason
        .split_once(". ")
        .map_or(field.reason, |(first, _)| first);
    let arg = Arg::new(field.name)
        .long(field.flag())
        .help_heading(field.section)
        .help(summary.trim_end_matches('.').to_owned())
        .long_help(help)
        .value_name(field.unit.to_ascii_uppercase())
        .action(ArgAction::Set);
    if field.is_switch {
        arg.num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name("BOOL")
    } else {
        arg
    }
}

#[cfg(test)]
#[path = "settings_test.rs"]
mod settings_test;
