//! CONFIG: the settings that Redis clients and exporters look at, by Redis's names.
//!
//! What may change while the node runs is in [`Settings`]; all else is shown as it is and set in
//! the configuration file (`brickyard config print`).

use crate::brick::Brick;
use crate::connection::ConnectionId;
use crate::settings::Settings;
use crate::shared::Shared;
use brickyard_command::request::ConfigCommand;
use brickyard_command::{Args, ErrorReply, Spec, help};
use std::sync::atomic::Ordering::Relaxed;

/// Settings that may be set, with how.
type Set = fn(&Settings, i64) -> bool;

const SETTABLE: [(&str, Set); 5] = [
    ("slowlog-log-slower-than", |settings, value| {
        settings.slowlog_log_slower_than.store(value, Relaxed);
        true
    }),
    ("slowlog-max-len", |settings, value| {
        store(&settings.slowlog_max_len, value, 0)
    }),
    ("timeout", |settings, value| {
        store(&settings.timeout, value, 0)
    }),
    ("maxclients", |settings, value| {
        store(&settings.maxclients, value, 1)
    }),
    ("client-output-bytes-max", |settings, value| {
        store(&settings.output_bytes_max, value, 1 << 20)
    }),
];

fn store(setting: &std::sync::atomic::AtomicU64, value: i64, least: i64) -> bool {
    if value < least {
        return false;
    }
    setting.store(value.unsigned_abs(), Relaxed);
    true
}

impl Brick {
    pub(super) fn execute_config(
        &mut self,
        id: ConnectionId,
        spec: &'static Spec,
        args: &Args<'_>,
    ) {
        let outcome = ConfigCommand::parse(spec.id, *args).and_then(|command| match command {
            ConfigCommand::Help => {
                self.reply(id, |reply| help("config", reply));
                Ok(())
            }
            ConfigCommand::Get(patterns) => {
                self.show_settings(id, &patterns);
                Ok(())
            }
            ConfigCommand::Set(pairs) => self.set_settings(id, &pairs),
            ConfigCommand::ResetStat => {
                for stats in &self.core.shared.stats {
                    stats.reset();
                }
                self.reply(id, |reply| reply.ok());
                Ok(())
            }
            ConfigCommand::Rewrite => Err(ErrorReply::constant(
                "ERR The server is running without a config file",
            )),
        });
        if let Err(error) = outcome {
            self.refuse(id, Some(spec), &error);
        }
    }

    fn show_settings(&mut self, id: ConnectionId, patterns: &[&[u8]]) {
        let default = self
            .core
            .table_by_name
            .get("default")
            .and_then(|index| self.core.table(*index));
        let attributes = default
            .map(|state| state.attributes.clone())
            .unwrap_or_default();
        let is_node_port =
            self.connections[id.0 as usize].accepted.port == crate::effect::Port::Node;
        let settings = all(&self.core.shared, &attributes, is_node_port);
        let shown: Vec<&(&str, String)> = settings
            .iter()
            .filter(|(name, _)| ConfigCommand::shows(patterns, name))
            .collect();
        self.reply(id, |reply| {
            reply.map(shown.len());
            for (name, value) in shown {
                reply.bulk(name.as_bytes());
                reply.bulk(value.as_bytes());
            }
        });
    }

    fn set_settings(
        &mut self,
        id: ConnectionId,
        pairs: &[(&[u8], &[u8])],
    ) -> Result<(), ErrorReply> {
        let known = all(
            &self.core.shared,
            &brickyard_types::TableAttributes::default(),
            true,
        );
        let mut changes = Vec::new();
        for (name, value) in pairs {
            let asked = name;
            let name = String::from_utf8_lossy(name).to_ascii_lowercase();
            let Some((_, set)) = SETTABLE.iter().find(|(settable, _)| *settable == name) else {
                return Err(if known.iter().any(|(known, _)| *known == name) {
                    ConfigCommand::refused_setting(
                        &name,
                        "it is set in the configuration file or per table (TABLE ALTER)",
                    )
                } else {
                    ConfigCommand::unknown_setting(asked)
                });
            };
            let Some(value) = brickyard_command::parse_integer(value) else {
                return Err(ConfigCommand::refused_setting(
                    &name,
                    "argument couldn't be parsed into an integer",
                ));
            };
            changes.push((name, *set, value));
        }
        for (name, set, value) in changes {
            if !set(&self.core.shared.settings, value) {
                return Err(ConfigCommand::refused_setting(
                    &name,
                    "argument is out of range",
                ));
            }
        }
        self.reply(id, |reply| reply.ok());
        Ok(())
    }
}

/// Every setting with its value.
fn all(
    shared: &Shared,
    attributes: &brickyard_types::TableAttributes,
    is_node_port: bool,
) -> Vec<(&'static str, String)> {
    use brickyard_types::{Durability, Eviction};
    let settings = &shared.settings;
    let number = |value: &std::sync::atomic::AtomicU64| Settings::load(value).to_string();
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
        ("bind", shared.advertise_host.clone()),
        (
            "client-output-bytes-max",
            number(&settings.output_bytes_max),
        ),
        ("cluster-enabled", yes_no(!is_node_port)),
        ("cluster-require-full-coverage", yes_no(true)),
        ("databases", "16".to_owned()),
        ("dir", shared.directory.clone()),
        ("maxclients", number(&settings.maxclients)),
        ("maxmemory", attributes.maxmemory.unwrap_or(0).to_string()),
        (
            "maxmemory-policy",
            match attributes.evict {
                Eviction::None => "noeviction",
                Eviction::Lru => "allkeys-lru",
            }
            .to_owned(),
        ),
        ("notify-keyspace-events", String::new()),
        ("port", shared.port.to_string()),
        ("proto-max-bulk-len", shared.value_bytes_max.to_string()),
        ("save", String::new()),
        (
            "slowlog-log-slower-than",
            settings.slowlog_log_slower_than.load(Relaxed).to_string(),
        ),
        ("slowlog-max-len", number(&settings.slowlog_max_len)),
        ("timeout", number(&settings.timeout)),
    ]
}
