//! CONFIG: the settings that Redis clients and exporters look at, by Redis's names.
//!
//! What may change while the node runs is in [`Settings`]; all else is shown as it is and set in
//! the configuration file (`brickyard config print`).

use crate::accepted::Port;
use crate::keyspace_events::EventClasses;
use crate::settings::Settings;
use crate::shared::Shared;
use brickyard_command::request::ConfigCommand;
use brickyard_command::{ErrorReply, help};
use brickyard_types::{Durability, Eviction, TableAttributes};
use brickyard_wire::Reply;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A setting that may be set.
struct Settable {
    name: &'static str,
    /// The values that it may have; Redis's bounds, where the setting is Redis's.
    least: i64,
    most: i64,
    store: fn(&Settings, i64),
    /// It is given as characters for what is told, and kept as their bits.
    is_of_events: bool,
}

impl Settable {
    const fn number(
        name: &'static str,
        (least, most): (i64, i64),
        store: fn(&Settings, i64),
    ) -> Self {
        Self {
            name,
            least,
            most,
            store,
            is_of_events: false,
        }
    }
}

const SETTABLE: [Settable; 10] = [
    Settable::number(
        "slowlog-log-slower-than",
        (-1, i64::MAX),
        |settings, value| settings.slowlog_log_slower_than.store(value, Relaxed),
    ),
    Settable::number("slowlog-max-len", (0, i64::MAX), |settings, value| {
        store(&settings.slowlog_max_len, value);
    }),
    Settable::number("timeout", (0, i32::MAX as i64), |settings, value| {
        store(&settings.timeout, value);
    }),
    Settable::number("maxclients", (1, u32::MAX as i64), |settings, value| {
        store(&settings.maxclients, value);
    }),
    Settable::number(
        "client-output-bytes-max",
        (1 << 20, i64::MAX),
        |settings, value| {
            store(&settings.output_bytes_max, value);
        },
    ),
    Settable::number("maxmemory-clients", (0, i64::MAX), |settings, value| {
        store(&settings.maxmemory_clients, value);
    }),
    Settable::number(
        "tracking-table-max-keys",
        (1, i64::MAX),
        |settings, value| {
            store(&settings.tracked_keys_max, value);
        },
    ),
    script_time("lua-time-limit"),
    script_time("busy-reply-threshold"),
    Settable {
        is_of_events: true,
        ..Settable::number(
            "notify-keyspace-events",
            (0, i64::MAX),
            |settings, value| {
                store(&settings.keyspace_events, value);
            },
        )
    },
];

/// Redis has two names for it.
const fn script_time(name: &'static str) -> Settable {
    // A turn may have half as much again, and a brick that is silent for a second is taken for dead.
    Settable::number(name, (1, 500), |settings, value| {
        store(&settings.script_time_max, value);
    })
}

fn store(setting: &AtomicU64, value: i64) {
    setting.store(value.unsigned_abs(), Relaxed);
}

/// Answers CONFIG; `default` are the attributes of the default table.
pub(super) fn config(
    shared: &Shared,
    default: &TableAttributes,
    port: Port,
    command: &ConfigCommand<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), ErrorReply> {
    match command {
        ConfigCommand::Help => help("config", reply),
        ConfigCommand::Get(patterns) => {
            let settings = all(shared, default, port == Port::Node);
            let shown = settings
                .iter()
                .filter(|(name, _)| ConfigCommand::shows(patterns, name));
            reply.map(shown.clone().count());
            for (name, value) in shown {
                reply.bulk(name.as_bytes());
                reply.bulk(value.as_bytes());
            }
        }
        ConfigCommand::Set(pairs) => {
            set_settings(shared, pairs)?;
            reply.ok();
        }
        ConfigCommand::ResetStat => {
            for stats in &shared.stats {
                stats.reset();
            }
            reply.ok();
        }
        ConfigCommand::Rewrite => {
            return Err(ErrorReply::constant(
                "ERR The server is running without a config file",
            ));
        }
    }
    Ok(())
}

fn set_settings(shared: &Shared, pairs: &[(&[u8], &[u8])]) -> Result<(), ErrorReply> {
    // As in Redis, a name that is there twice is what is told first, whether or not it may be set.
    for (at, (asked, _)) in pairs.iter().enumerate() {
        if pairs[..at]
            .iter()
            .any(|(other, _)| other.eq_ignore_ascii_case(asked))
        {
            let name = String::from_utf8_lossy(asked).to_ascii_lowercase();
            return Err(ConfigCommand::refused_setting(&name, "duplicate parameter"));
        }
    }
    // All or none: nothing is set before everything has been looked at.
    let mut changes: Vec<(&Settable, i64)> = Vec::new();
    for (asked, value) in pairs {
        let settable = settable(shared, asked)?;
        let refused = |reason: &str| ConfigCommand::refused_setting(settable.name, reason);
        let value = if settable.is_of_events {
            let classes = EventClasses::parse(&String::from_utf8_lossy(value));
            classes.map_err(refused)?.bits().cast_signed()
        } else {
            brickyard_command::parse_integer(value)
                .ok_or_else(|| refused("argument couldn't be parsed into an integer"))?
        };
        if !(settable.least..=settable.most).contains(&value) {
            return Err(refused(&format!(
                "argument must be between {} and {} inclusive",
                settable.least, settable.most
            )));
        }
        changes.push((settable, value));
    }
    for (settable, value) in changes {
        assert!(
            (settable.least..=settable.most).contains(&value),
            "{value} was refused for {}",
            settable.name
        );
        (settable.store)(&shared.settings, value);
    }
    Ok(())
}

/// The setting called `asked`, or why it cannot be set.
fn settable(shared: &Shared, asked: &[u8]) -> Result<&'static Settable, ErrorReply> {
    let name = String::from_utf8_lossy(asked).to_ascii_lowercase();
    if let Some(settable) = SETTABLE.iter().find(|it| it.name == name) {
        return Ok(settable);
    }
    let shown = all(shared, &TableAttributes::default(), true);
    Err(if shown.iter().any(|(shown, _)| *shown == name) {
        ConfigCommand::refused_setting(
            &name,
            "it is set in the configuration file or per table (TABLE ALTER)",
        )
    } else {
        ConfigCommand::unknown_setting(asked)
    })
}

/// What a table does at its bound, in Redis's words.
pub(super) const fn policy(evict: Eviction) -> &'static str {
    match evict {
        Eviction::None => "noeviction",
        Eviction::Lru => "allkeys-lru",
    }
}

/// Every setting with its value.
fn all(
    shared: &Shared,
    attributes: &TableAttributes,
    is_node_port: bool,
) -> Vec<(&'static str, String)> {
    let settings = &shared.settings;
    let number = |value: &AtomicU64| Settings::load(value).to_string();
    // Redis's 0 is a port that is not there: ours speaks the one or the other.
    let port_if = |is: bool| if is { shared.address.port } else { 0 }.to_string();
    let yes_no = |is: bool| if is { "yes" } else { "no" }.to_owned();
    vec![
        (
            "appendfsync",
            if attributes.durability == Durability::Fsync {
                "always"
            } else {
                "everysec"
            }
            .to_owned(),
        ),
        (
            "appendonly",
            yes_no(attributes.durability != Durability::Memory),
        ),
        ("bind", shared.address.host.clone()),
        ("busy-reply-threshold", number(&settings.script_time_max)),
        (
            "client-output-bytes-max",
            number(&settings.output_bytes_max),
        ),
        ("cluster-enabled", yes_no(!is_node_port)),
        ("cluster-require-full-coverage", yes_no(true)),
        ("databases", "16".to_owned()),
        ("dir", shared.identity.directory.clone()),
        ("lua-time-limit", number(&settings.script_time_max)),
        ("maxclients", number(&settings.maxclients)),
        ("maxmemory", attributes.maxmemory.unwrap_or(0).to_string()),
        ("maxmemory-clients", number(&settings.maxmemory_clients)),
        ("maxmemory-policy", policy(attributes.evict).to_owned()),
        ("notify-keyspace-events", settings.keyspace_events().text()),
        ("port", port_if(!shared.address.has_tls)),
        (
            "proto-max-bulk-len",
            shared.limits.value_bytes_max.to_string(),
        ),
        ("save", String::new()),
        (
            "slowlog-log-slower-than",
            settings.slowlog_log_slower_than.load(Relaxed).to_string(),
        ),
        ("slowlog-max-len", number(&settings.slowlog_max_len)),
        ("timeout", number(&settings.timeout)),
        (
            "tracking-table-max-keys",
            number(&settings.tracked_keys_max),
        ),
        ("tls-port", port_if(shared.address.has_tls)),
    ]
}

#[cfg(test)]
#[path = "config_test.rs"]
mod config_test;
