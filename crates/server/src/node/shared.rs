//! What all bricks of the node see, made from the configuration.

use super::data::Data;
use super::error::StartError;
use crate::addresses::ListenAddresses;
use crate::config::{Config, UserEntry};
use crate::ring::Ring;
use crate::{clock, control, random};
use brickyard_brick::acl::Acl;
use brickyard_brick::acl_log::NodeAclLog;
use brickyard_brick::channels::NodeChannels;
use brickyard_brick::directory::NodeClients;
use brickyard_brick::keyspace_events::EventClasses;
use brickyard_brick::lowest_level::LowestLevel;
use brickyard_brick::quota::Quotas;
use brickyard_brick::scripts::NodeScripts;
use brickyard_brick::settings::Settings;
use brickyard_brick::shared::{
    BrickAddress, NodeAddress, NodeCounters, NodeIdentity, NodeLimits, Oversight, ProcessStats,
    Shared,
};
use brickyard_brick::stats::Stats;
use brickyard_brick::users::{Grant, Rights, User, Users};
use brickyard_metadata::brick_name;
use brickyard_node::First;
use brickyard_types::limits::HASH_WHOLE_BYTES_MAX;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;

/// What Redis clients are told. Below 8, since clients then expect commands that came with it.
const REDIS_VERSION: &str = "7.4.2";

/// After how long without its vote a replica is taken out where others have voted, and about how long a log may stand still:
/// two thirds of a lease, so that what a disk holds up waits for less than what a dead node does. Longer than a loop that has
/// work to do is without a turn, and than healthy disks take.
const SUSPECT_AFTER: Duration = Duration::from_secs(1);

/// Makes the shared part of a node.
pub(super) fn shared(
    config: &Config,
    data: &Data,
    first: &First,
    addresses: &ListenAddresses,
    maxclients: u32,
    lowest_level: Arc<LowestLevel>,
) -> Result<Shared, StartError> {
    let node = first.catalog.node(first.node);
    let bricks = node
        .into_iter()
        .flat_map(brickyard_metadata::Node::bricks)
        .zip(&addresses.bricks)
        .map(|(member, address)| BrickAddress {
            id: brick_name(first.catalog.cluster(), member),
            port: address.port(),
        });
    let run_id: [u8; 20] = random::bytes().map_err(StartError::Random)?;
    Ok(Shared {
        identity: NodeIdentity {
            run_id: run_id.iter().map(|byte| format!("{byte:02x}")).collect(),
            node: first.node,
            node_id: data.directory.node().to_string(),
            redis_version: REDIS_VERSION,
            version: env!("CARGO_PKG_VERSION"),
            started: clock::unix(),
            process_id: std::process::id(),
            directory: data.directory.path().display().to_string(),
            config_file: config.file.clone().unwrap_or_default(),
            os: control::os(),
            memory_total: control::memory_total(),
            io_uring: io_uring(config),
        },
        address: NodeAddress {
            host: config.advertised_host(),
            port: addresses.node.port(),
            bricks: bricks.collect(),
            has_tls: !config.client_cert.is_empty(),
        },
        limits: NodeLimits {
            request_deadline: config.write_timeout,
            eviction_timeout: config.eviction_timeout,
            suspect_after: SUSPECT_AFTER.min(config.eviction_timeout),
            recovery_bandwidth: config.recovery_bandwidth.0,
            segment_bytes: config.segment_bytes.0,
            partition_bytes: config.partition_bytes.0,
            default_replicas: config.copies_by_default(),
            merge_after: config.merge_after,
            value_bytes_max: config.value_bytes_max.to_usize(),
            hash_whole_bytes_max: HASH_WHOLE_BYTES_MAX,
        },
        settings: settings(config, maxclients),
        users: Users::new(users(config)),
        keeps_users: keeps_users(config),
        stats: addresses.bricks.iter().map(|_| Stats::new()).collect(),
        process: ProcessStats::default(),
        counters: NodeCounters::new(clock::unix()),
        quotas: Quotas::default(),
        scripts: NodeScripts::new(addresses.bricks.len()),
        acl_log: NodeAclLog::default(),
        channels: NodeChannels::default(),
        directory: NodeClients::default(),
        oversight: Oversight::new(addresses.bricks.len()),
        lowest_level,
    })
}

/// Whether clients' sockets are served through a ring, or why they are not.
fn io_uring(config: &Config) -> Result<(), String> {
    let tried = match config.io_uring {
        true => Ring::new().map(drop).map_err(|error| error.to_string()),
        false => Err("off".to_owned()),
    };
    match &tried {
        Ok(()) => tracing::info!("clients' sockets are served by io_uring, many calls at a time"),
        Err(reason) => tracing::info!(reason, "clients' sockets are served call by call"),
    }
    tried
}

fn settings(config: &Config, maxclients: u32) -> Settings {
    let slow_us = i64::try_from(config.slowlog_slower_than.as_micros()).unwrap_or(i64::MAX);
    Settings {
        slowlog_log_slower_than: AtomicI64::new(slow_us),
        slowlog_max_len: AtomicU64::new(u64::from(config.slowlog_entries_max)),
        timeout: AtomicU64::new(config.idle_timeout.as_millis().div_ceil(1000) as u64),
        maxclients: AtomicU64::new(u64::from(maxclients)),
        output_bytes_max: AtomicU64::new(config.output_bytes_max.0),
        pending_bytes_max: AtomicU64::new(config.pending_append_bytes_max.0),
        maxmemory_clients: AtomicU64::new(config.client_bytes_max(control::memory_total())),
        // It was looked at when the configuration was read.
        keyspace_events: AtomicU64::new(
            EventClasses::parse(&config.notify_keyspace_events).map_or(0, EventClasses::bits),
        ),
        ..Settings::default()
    }
}

/// Whether the cluster may keep users. They are kept where other nodes ask for it, so a port for nodes that believes whoever reaches it
/// would make them worth nothing.
fn keeps_users(config: &Config) -> Result<(), String> {
    let is_guarded =
        !config.peer_cert.is_empty() || config.insecure || config.listen.ip().is_loopback();
    let is_closed = config.peer_address(!config.users.is_empty()).is_none();
    match is_guarded || is_closed {
        true => Ok(()),
        false => Err(
            "this node keeps no users: its port for nodes would believe whoever reaches it, past users and passwords; make \
             certificates with `brickyard cert init` and `brickyard cert node` and give peer_cert, peer_key and peer_ca, or \
             accept it with insecure = true"
                .to_owned(),
        ),
    }
}

/// The configured users as bricks know them.
fn users(config: &Config) -> Vec<User> {
    config.users.iter().map(user).collect()
}

fn user(entry: &UserEntry) -> User {
    let kinds = [
        (
            &entry.read,
            Rights {
                read: true,
                ..Rights::default()
            },
        ),
        (
            &entry.write,
            Rights {
                write: true,
                ..Rights::default()
            },
        ),
        (
            &entry.admin,
            Rights {
                admin: true,
                ..Rights::default()
            },
        ),
    ];
    let grants = kinds.into_iter().flat_map(|(tables, rights)| {
        tables.iter().map(move |tables| Grant {
            tables: tables.clone(),
            rights,
        })
    });
    User {
        name: entry.name.clone(),
        password_hashes: entry.password_hash.iter().cloned().collect(),
        grants: grants.collect(),
        table: entry.table.clone(),
        acl: Acl::unrestricted(),
        limits: entry.limits,
    }
}
