//! Environment variables `BRICKYARD_*` as settings.

use super::fields::FIELDS;
use super::source::{Origin, Setting};

/// Names the configuration file, as the flag `--config` does.
pub const CONFIG_VARIABLE: &str = "BRICKYARD_CONFIG";

const PREFIX: &str = "BRICKYARD_";

/// Variables of the client subcommands.
const CLIENT_VARIABLES: [&str; 7] = [
    "BRICKYARD_USER",
    "BRICKYARD_PASSWORD",
    "BRICKYARD_CA",
    "BRICKYARD_CERT",
    "BRICKYARD_CERT_KEY",
    "BRICKYARD_HTTP_TOKEN",
    "BRICKYARD_STATUS_HTTP",
];

/// Splits variables into settings and names that start like ours and mean nothing.
///
/// The latter are worth a warning and no more: Kubernetes gives every pod variables such as
/// `BRICKYARD_SERVICE_HOST` and `BRICKYARD_PORT` when a service is called `brickyard`.
pub(crate) fn read(
    variables: impl IntoIterator<Item = (String, String)>,
) -> (Vec<Setting>, Vec<String>) {
    let mut settings = Vec::new();
    let mut unknown = Vec::new();
    for (name, text) in variables {
        let is_other = name == CONFIG_VARIABLE || CLIENT_VARIABLES.contains(&name.as_str());
        if !name.starts_with(PREFIX) || is_other {
            continue;
        }
        match FIELDS.iter().find(|field| field.environment() == name) {
            Some(field) => settings.push(Setting {
                name: field.name,
                text,
                origin: Origin::Environment(name),
            }),
            None => unknown.push(name),
        }
    }
    unknown.sort();
    (settings, unknown)
}
