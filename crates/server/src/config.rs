//! Configuration: one typed struct out of defaults, a TOML file, the environment and flags.
//!
//! In:  a file's path, `BRICKYARD_*` variables, flags. Out: a checked [`Config`] with the origin of
//! every value ([`Loaded`]), or every [`Problem`] at once.
//!
//! Invariants:
//! - Later sources win: defaults, file, environment, flags.
//! - Every field is declared once (`fields`) and has one name in all sources.
//! - What [`print`] writes, the file reader reads to the same values.
//!
//! Not here: which bricks a data directory has (`node` compares), what users may do (`brick`).

mod environment;
mod fields;
mod file;
mod hosts;
mod password;
mod print;
mod roles;
mod source;
mod text;
mod users;
mod validate;

pub use environment::CONFIG_VARIABLE;
pub use fields::{FIELDS, Field, Fields};
use hosts::peer_port_of;
pub use hosts::{HostPort, HostPorts};
pub use password::{hash_password, verify_password};
pub use print::print;
pub use roles::NodeRoles;
pub use source::{Origin, Problem, Problems, Setting};
pub use text::{ByteSize, ConfigValue, ConsoleUse, HttpListen, LogFormat, MemoryShare};
pub use users::UserEntry;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;
use std::path::PathBuf;

/// Most bricks of one node.
pub const BRICKS_MAX: u32 = validate::BRICKS_MAX;

/// What `peer_cert` is for certificates that nodes of this machine make for themselves.
pub(crate) const AUTO: &str = "auto";

/// A checked configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The plain fields; reachable directly, as in `config.listen`.
    pub fields: Fields,
    /// The users; none: everyone may do everything.
    pub users: Vec<UserEntry>,
    /// The file that was read, for people to find it.
    pub file: Option<String>,
}

impl Deref for Config {
    type Target = Fields;

    fn deref(&self) -> &Fields {
        &self.fields
    }
}

/// Where configuration is taken from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The file, if one was named.
    pub file: Option<PathBuf>,
    /// Environment variables, ours and others.
    pub environment: Vec<(String, String)>,
    /// Flags as (field name, value).
    pub flags: Vec<(&'static str, String)>,
}

/// A configuration and where it came from.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The values.
    pub config: Config,
    /// The origin of each field that is not at its default.
    pub origins: BTreeMap<&'static str, Origin>,
    /// Things that are odd and stop nothing; to be logged.
    pub warnings: Vec<String>,
}

impl Loaded {
    /// Reads, merges and checks the sources.
    ///
    /// # Errors
    /// Every problem that was found, each with field, value, origin, reason and remedy.
    pub fn from_sources(sources: &Sources) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let mut loaded = Self::default();
        let mut settings = Vec::new();
        if let Some(path) = &sources.file {
            let file = file::read(path, &mut problems);
            settings.extend(file.settings);
            loaded.config.users = file.users;
            loaded.config.file = Some(path.display().to_string());
        }
        let (environment, unknown) = environment::read(sources.environment.iter().cloned());
        settings.extend(environment);
        for name in unknown {
            let warning = format!("environment variable {name} is not a setting and is ignored");
            loaded.warnings.push(warning);
        }
        settings.extend(sources.flags.iter().map(|(name, text)| Setting {
            name,
            text: text.clone(),
            origin: Origin::Flag(name.replace('_', "-")),
        }));
        for setting in settings {
            loaded.apply(setting, &mut problems);
        }
        validate::Checker {
            fields: &loaded.config.fields,
            users: &loaded.config.users,
            origins: &loaded.origins,
            problems: &mut problems,
        }
        .check();
        loaded.warn_of_one_copy();
        if problems.is_empty() {
            Ok(loaded)
        } else {
            Err(Problems(problems))
        }
    }

    /// Chosen or not, one copy in a cluster is worth a word.
    fn warn_of_one_copy(&mut self) {
        let is_of_cluster = !self.config.join.0.is_empty();
        if is_of_cluster && self.config.default_replicas == 1 {
            let warning = "default_replicas is 1: tables made without REPLICAS have one copy, and what is acknowledged to \
                           them is lost with one node's disk; leave the setting out, or set it to 2 or more";
            self.warnings.push(warning.to_owned());
        }
    }

    fn apply(&mut self, setting: Setting, problems: &mut Vec<Problem>) {
        let Some(field) = Field::find(setting.name) else {
            return;
        };
        match field.set(&mut self.config.fields, &setting.text) {
            Ok(()) => {
                self.origins.insert(field.name, setting.origin);
            }
            Err(expected) => problems.push(Problem {
                field: field.name.to_owned(),
                value: Some(text::quoted(&setting.text)),
                origin: Some(setting.origin),
                why: "it cannot be understood".to_owned(),
                remedy: format!("write {expected}"),
            }),
        }
    }
}

impl Fields {
    /// Bytes that all clients' buffers may take on a machine with so much memory; 0: as many as they like.
    #[must_use]
    pub fn client_bytes_max(&self, memory_total: u64) -> u64 {
        match self.maxmemory_clients {
            MemoryShare::Bytes(bytes) => bytes.0,
            MemoryShare::Percent(percent) => {
                let share = memory_total / 100 * u64::from(percent);
                share.max(self.client_bytes_least())
            }
        }
    }

    /// With less the one client that sends or reads the longest value would be closed. A buffer that grows is copied into one of twice its size.
    fn client_bytes_least(&self) -> u64 {
        let value = self.value_bytes_max.0;
        value.saturating_mul(2).saturating_add(1 << 20)
    }

    /// Port of brick 0; 0 when the system is to choose.
    #[must_use]
    pub fn first_brick_port(&self) -> u16 {
        match (self.brick_port, self.listen.port()) {
            (0, 0) => 0,
            (0, node) => node.saturating_add(1),
            (first, _) => first,
        }
    }

    /// Address of brick `index`'s port; port 0 when the system is to choose.
    #[must_use]
    pub fn brick_address(&self, index: u32) -> SocketAddr {
        let first = self.first_brick_port();
        let port = match (first, u16::try_from(index)) {
            (0, _) => 0,
            (first, Ok(index)) => first.saturating_add(index),
            (_, Err(_)) => u16::MAX,
        };
        SocketAddr::new(self.listen.ip(), port)
    }

    /// Where other nodes reach this one, if they may; port 0 when the system is to choose.
    ///
    /// `has_users` matters to the default: with users the data is behind passwords, and the port for nodes without
    /// certificates believes everybody, so that it is opened only by somebody who wants a cluster.
    #[must_use]
    pub fn peer_address(&self, has_users: bool) -> Option<SocketAddr> {
        let is_guarded = has_users && !self.insecure && self.peer_cert.is_empty();
        let port = match (self.peer_port, self.listen.port()) {
            (0, _) if is_guarded && self.join.0.is_empty() => return None,
            (0, 0) => 0,
            (0, node) => peer_port_of(node),
            (port, _) => port,
        };
        Some(SocketAddr::new(self.listen.ip(), port))
    }

    /// Up to how many copies tables get for which no number was chosen.
    #[must_use]
    pub fn copies_by_default(&self) -> u8 {
        u8::try_from(self.default_replicas).unwrap_or(u8::MAX)
    }

    /// The address of a node's port for other nodes, given that of its node port: as far from it as this
    /// node's own.
    #[must_use]
    pub fn peer_of(&self, node: &HostPort) -> HostPort {
        let port = match (self.peer_port, self.listen.port()) {
            (0, _) | (_, 0) => peer_port_of(node.port),
            (own, listen) => own.wrapping_sub(listen).wrapping_add(node.port),
        };
        HostPort {
            host: node.host.clone(),
            port,
        }
    }

    /// Where HTTP listens, if it does. `has_users` matters to `auto`: with users the data is behind
    /// passwords, and so should be what is told about it.
    ///
    /// # Errors
    /// `auto` would be a port above 65535.
    #[expect(clippy::result_unit_err, reason = "the one way to fail is in the doc")]
    pub fn http_address(&self, has_users: bool) -> Result<Option<SocketAddr>, ()> {
        match self.http {
            HttpListen::Off => Ok(None),
            HttpListen::At(address) => Ok(Some(address)),
            HttpListen::Auto
                if has_users && !self.listen.ip().is_loopback() && self.http_tokens.is_empty() =>
            {
                Ok(None)
            }
            HttpListen::Auto => {
                let port = match self.listen.port() {
                    0 => 0,
                    port => port.checked_add(1000).ok_or(())?,
                };
                Ok(Some(SocketAddr::new(self.listen.ip(), port)))
            }
        }
    }

    /// Whether HTTP serves the console.
    #[must_use]
    pub fn has_console(&self) -> bool {
        match self.console {
            ConsoleUse::Auto => self.client_ca.is_empty(),
            ConsoleUse::On => true,
            ConsoleUse::Off => false,
        }
    }

    /// The host that cluster clients are told.
    #[must_use]
    pub fn advertised_host(&self) -> String {
        if !self.advertise.is_empty() {
            return self.advertise.trim_matches(['[', ']']).to_owned();
        }
        match self.listen.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => ip.to_string(),
        }
    }
}

#[cfg(test)]
#[path = "config_test.rs"]
mod config_test;
