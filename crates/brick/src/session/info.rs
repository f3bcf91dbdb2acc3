//! INFO: the fields that clients, exporters and GUI tools read, by Redis's names.

use super::config::policy;
use super::lookup::default_table;
use crate::accepted::Port;
use crate::channels::Kind;
use crate::core::Core;
use crate::settings::Settings;
use crate::stats::{Counter, Stats};
use brickyard_command::Args;
use brickyard_command::table::COMMANDS;
use brickyard_types::{Durability, TableId};
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

const DEFAULT_SECTIONS: [&str; 11] = [
    "server",
    "clients",
    "memory",
    "persistence",
    "stats",
    "replication",
    "cpu",
    "errorstats",
    "cluster",
    "keyspace",
    "tables",
];

/// Writes the fields of a section.
type Section<'a> = &'a dyn Fn(&mut String);

/// What INFO is told by.
pub(super) struct Info<'a> {
    pub(super) core: &'a Core,
    pub(super) port: Port,
    pub(super) ops_per_second: u64,
}

impl Info<'_> {
    /// The sections that are asked for.
    pub(super) fn render(&self, args: Args<'_>) -> String {
        let asked: Vec<String> = args
            .from(1)
            .map(|name| String::from_utf8_lossy(name).to_ascii_lowercase())
            .collect();
        let all = asked
            .iter()
            .any(|name| name == "all" || name == "everything");
        let default = asked.is_empty() || asked.iter().any(|name| name == "default");
        let is_wanted = |section: &str| {
            all || (default && DEFAULT_SECTIONS.contains(&section))
                || asked.iter().any(|name| name == section)
        };
        let mut text = String::new();
        let sections: [(&str, Section<'_>); 12] = [
            ("server", &|out| self.info_server(out)),
            ("clients", &|out| self.info_clients(out)),
            ("memory", &|out| self.info_memory(out)),
            ("persistence", &|out| self.info_persistence(out)),
            ("stats", &|out| self.info_stats(out)),
            ("replication", &|out| self.info_replication(out)),
            ("cpu", &|out| self.info_cpu(out)),
            ("commandstats", &|out| self.info_commandstats(out)),
            ("errorstats", &|out| self.info_errorstats(out)),
            ("cluster", &|out| self.info_cluster(out)),
            ("keyspace", &|out| self.info_keyspace(out)),
            ("tables", &|out| self.info_tables(out)),
        ];
        for (name, write) in sections {
            if is_wanted(name) {
                if !text.is_empty() {
                    text.push_str("\r\n");
                }
                let mut title = name.to_owned();
                if let Some(first) = title.get_mut(..1) {
                    first.make_ascii_uppercase();
                }
                let _ = write!(text, "# {title}\r\n");
                write(&mut text);
            }
        }
        text
    }

    fn sum(&self, of: impl Fn(&Stats) -> &Counter) -> u64 {
        self.core
            .shared
            .stats
            .iter()
            .map(|stats| of(stats).value())
            .sum()
    }

    fn info_server(&self, out: &mut String) {
        let shared = &self.core.shared;
        let uptime = self.core.unix.0.saturating_sub(shared.identity.started.0) / 1000;
        let tcp_port = match self.port {
            Port::Node => shared.address.port,
            Port::Brick => shared
                .address
                .bricks
                .get(self.core.id.0 as usize)
                .map_or(0, |it| it.port),
        };
        field(out, "redis_version", shared.identity.redis_version);
        // Redis's of a release, by which tools tell builds apart.
        field(out, "redis_git_sha1", "00000000");
        field(out, "redis_git_dirty", 0);
        field(out, "brickyard_version", shared.identity.version);
        field(
            out,
            "redis_mode",
            if self.port == Port::Node {
                "standalone"
            } else {
                "cluster"
            },
        );
        field(out, "os", &shared.identity.os);
        field(out, "arch_bits", usize::BITS);
        field(out, "multiplexing_api", "epoll");
        let io_uring = &shared.identity.io_uring;
        field(
            out,
            "io_uring",
            io_uring
                .as_ref()
                .map_or_else(|reason| reason.as_str(), |()| "sockets"),
        );
        field(out, "process_id", shared.identity.process_id);
        field(out, "run_id", &shared.identity.run_id);
        field(out, "tcp_port", tcp_port);
        field(out, "server_time_usec", self.core.unix.0 * 1000);
        field(out, "uptime_in_seconds", uptime);
        field(out, "uptime_in_days", uptime / 86_400);
        field(out, "hz", 10);
        field(out, "executable", "brickyard");
        field(out, "config_file", &shared.identity.config_file);
        field(out, "node_id", &shared.identity.node_id);
        field(out, "bricks", self.core.bricks());
        field(out, "brick", self.core.id);
    }

    fn info_clients(&self, out: &mut String) {
        field(
            out,
            "connected_clients",
            self.sum(|stats| &stats.clients.connected),
        );
        field(
            out,
            "maxclients",
            Settings::load(&self.core.shared.settings.maxclients),
        );
        field(out, "client_buffer_bytes", self.buffer_bytes());
        let worst = self.core.shared.stats.iter();
        let worst = worst.map(|stats| stats.clients.worst_buffer_bytes.value());
        field(out, "client_buffer_bytes_worst", worst.max().unwrap_or(0));
        field(
            out,
            "maxmemory_clients",
            Settings::load(&self.core.shared.settings.maxmemory_clients),
        );
        field(out, "blocked_clients", 0);
        field(
            out,
            "tracking_clients",
            self.sum(|stats| &stats.tracking.clients),
        );
        field(
            out,
            "watching_clients",
            self.sum(|stats| &stats.feeds.waiting),
        );
    }

    /// Bytes of changes that tables keep.
    pub(super) fn history_bytes(&self) -> u64 {
        self.sum(|stats| &stats.feeds.history_bytes)
    }

    /// Bytes of all clients' buffers.
    pub(super) fn buffer_bytes(&self) -> u64 {
        self.sum(|stats| &stats.clients.buffer_bytes)
    }

    /// Bytes of tables, of the changes that they keep, and of clients' buffers.
    pub(super) fn used_memory(&self) -> u64 {
        let stats = self.core.shared.stats.iter();
        let tables = stats.flat_map(|stats| stats.tables().into_values());
        tables.map(|table| table.memory.value()).sum::<u64>()
            + self.history_bytes()
            + self.buffer_bytes()
    }

    /// Keys of all tables, as far as this node is their primary.
    pub(super) fn keys(&self) -> u64 {
        let tables = self.core.tables.iter();
        tables.map(|state| self.table_totals(state.id).0).sum()
    }

    fn info_memory(&self, out: &mut String) {
        let shared = &self.core.shared;
        let used = self.used_memory();
        let resident = shared.process.memory_resident.load(Relaxed);
        let peak = shared.process.memory_resident_max.load(Relaxed);
        field(out, "used_memory", used);
        field(out, "used_memory_human", human(used));
        field(out, "used_memory_rss", resident);
        field(out, "used_memory_rss_human", human(resident));
        field(out, "used_memory_peak", peak);
        field(out, "used_memory_peak_human", human(peak));
        field(out, "total_system_memory", shared.identity.memory_total);
        field(
            out,
            "total_system_memory_human",
            human(shared.identity.memory_total),
        );
        field(out, "used_memory_dataset", used);
        field(out, "used_memory_history", self.history_bytes());
        // What tools of Redis read; there are no clients of another kind.
        field(out, "mem_clients_normal", self.buffer_bytes());
        let (scripts, bytes) = shared.scripts.len_and_bytes();
        field(out, "number_of_cached_scripts", scripts);
        field(out, "used_memory_scripts_eval", bytes);
        let functions = &self.core.workshop.functions;
        field(out, "number_of_functions", functions.len());
        field(
            out,
            "number_of_libraries",
            functions.libraries().iter().len(),
        );
        let bound = self.memory_bound();
        field(out, "maxmemory", bound);
        field(out, "maxmemory_human", human(bound));
        let evict = default_table(self.core).evict;
        field(out, "maxmemory_policy", policy(evict));
        field(
            out,
            "mem_fragmentation_ratio",
            format!("{:.2}", resident as f64 / used.max(1) as f64),
        );
        field(out, "mem_allocator", "mimalloc");
    }

    /// What all tables together may take; 0, as in Redis, if one of them has no bound.
    pub(super) fn memory_bound(&self) -> u64 {
        let tables = self.core.tables.iter();
        let bounds: Option<Vec<u64>> = tables.map(|state| state.attributes.maxmemory).collect();
        bounds.map_or(0, |bounds| bounds.into_iter().fold(0, u64::saturating_add))
    }

    fn info_persistence(&self, out: &mut String) {
        let shared = &self.core.shared;
        let is_logged = self
            .core
            .tables
            .iter()
            .any(|state| state.attributes.durability != Durability::Memory);
        field(out, "loading", 0);
        field(out, "async_loading", 0);
        field(out, "rdb_changes_since_last_save", 0);
        field(out, "rdb_bgsave_in_progress", 0);
        field(
            out,
            "rdb_last_save_time",
            shared.counters.last_save_ms.load(Relaxed) / 1000,
        );
        field(out, "rdb_last_bgsave_status", "ok");
        field(out, "aof_enabled", u8::from(is_logged));
        field(out, "aof_rewrite_in_progress", 0);
        field(out, "aof_last_write_status", "ok");
        field(out, "log_segments", self.sum(|stats| &stats.log.segments));
        field(
            out,
            "log_file_bytes",
            self.sum(|stats| &stats.log.file_bytes),
        );
        field(
            out,
            "log_live_bytes",
            self.sum(|stats| &stats.log.live_bytes),
        );
        field(
            out,
            "log_pending_bytes",
            self.sum(|stats| &stats.log.pending_bytes),
        );
        field(
            out,
            "log_appended_bytes",
            self.sum(|stats| &stats.log.bytes),
        );
        field(out, "log_batches", self.sum(|stats| &stats.log.batches));
        field(
            out,
            "log_segments_cleaned",
            self.sum(|stats| &stats.log.segments_cleaned),
        );
        field(
            out,
            "log_clean_moved_bytes",
            self.sum(|stats| &stats.log.moved_bytes),
        );
        field(
            out,
            "log_damages",
            self.core.segments.health.damages().len(),
        );
        for (at, text) in self.core.segments.health.damages().enumerate() {
            field(out, &format!("log_damage{at}"), text);
        }
    }

    fn info_stats(&self, out: &mut String) {
        let mut tables = [0; 5];
        for stats in &self.core.shared.stats {
            for table in stats.tables().values() {
                tables[0] += table.expired.value();
                tables[1] += table.evicted.value();
                tables[2] += table.hits.value();
                tables[3] += table.misses.value();
                tables[4] += table.cold_reads.value();
            }
        }
        field(
            out,
            "total_connections_received",
            self.sum(|stats| &stats.clients.accepted),
        );
        field(
            out,
            "total_commands_processed",
            self.sum(|stats| &stats.commands),
        );
        field(out, "instantaneous_ops_per_sec", self.ops_per_second);
        field(
            out,
            "total_net_input_bytes",
            self.sum(|stats| &stats.clients.bytes_in),
        );
        field(
            out,
            "total_net_output_bytes",
            self.sum(|stats| &stats.clients.bytes_out),
        );
        field(
            out,
            "rejected_connections",
            self.sum(|stats| &stats.clients.refused),
        );
        field(out, "expired_keys", tables[0]);
        field(out, "evicted_keys", tables[1]);
        field(
            out,
            "evicted_clients",
            self.sum(|stats| &stats.clients.evicted),
        );
        field(
            out,
            "held_back_requests",
            self.sum(|stats| &stats.clients.held_back),
        );
        let channels = &self.core.shared.channels;
        for (name, kind) in [
            ("pubsub_channels", Kind::Channel),
            ("pubsub_patterns", Kind::Pattern),
            ("pubsubshard_channels", Kind::Sharded),
        ] {
            field(out, name, channels.len(kind));
        }
        field(
            out,
            "pubsub_lost_messages",
            self.sum(|stats| &stats.clients.messages_lost),
        );
        field(
            out,
            "watches_compacted",
            self.sum(|stats| &stats.feeds.compacted),
        );
        field(
            out,
            "tracking_total_keys",
            self.sum(|stats| &stats.tracking.keys),
        );
        field(
            out,
            "tracking_total_items",
            self.sum(|stats| &stats.tracking.items),
        );
        field(
            out,
            "tracking_total_prefixes",
            self.sum(|stats| &stats.tracking.prefixes),
        );
        field(out, "leased_keys", self.sum(|stats| &stats.tracking.leased));
        field(out, "keyspace_hits", tables[2]);
        field(out, "keyspace_misses", tables[3]);
        field(out, "cold_reads", tables[4]);
        // What is refused before it is looked at is counted apart from other errors.
        let errors = self.sum(|stats| &stats.errors.replied)
            + self.sum(|stats| &stats.errors.busy)
            + self.sum(|stats| &stats.errors.memory)
            + self.sum(|stats| &stats.errors.disk);
        field(out, "total_error_replies", errors);
        field(
            out,
            "protocol_errors",
            self.sum(|stats| &stats.clients.protocol_errors),
        );
        field(out, "refused_busy", self.sum(|stats| &stats.errors.busy));
        field(
            out,
            "refused_memory",
            self.sum(|stats| &stats.errors.memory),
        );
        field(out, "refused_disk", self.sum(|stats| &stats.errors.disk));
        field(
            out,
            "refused_damaged",
            self.sum(|stats| &stats.errors.damaged),
        );
        field(
            out,
            "refused_limit",
            self.sum(|stats| &stats.errors.limited),
        );
        field(out, "forwards", self.sum(|stats| &stats.forwards));
        let lookups = [
            ("lookups_answered", self.sum(|it| &it.lookups.answered)),
            ("lookups_forwarded", self.sum(|it| &it.lookups.forwarded)),
            ("lookup_hops", self.sum(|it| &it.lookups.hops)),
        ];
        for (name, count) in lookups {
            field(out, name, count);
        }
        field(out, "loop_turns", self.sum(|stats| &stats.turns));
    }

    fn info_replication(&self, out: &mut String) {
        field(out, "role", "master");
        field(out, "connected_slaves", 0);
        field(out, "master_failover_state", "no-failover");
        field(out, "master_replid", &self.core.shared.identity.run_id);
        field(out, "master_repl_offset", 0);
        field(out, "second_repl_offset", -1);
        field(out, "repl_backlog_active", 0);
    }

    fn info_cpu(&self, out: &mut String) {
        let process = &self.core.shared.process;
        let seconds = |us: u64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
        field(
            out,
            "used_cpu_sys",
            seconds(process.cpu_system_us.load(Relaxed)),
        );
        field(
            out,
            "used_cpu_user",
            seconds(process.cpu_user_us.load(Relaxed)),
        );
        field(out, "used_cpu_sys_children", "0.000000");
        field(out, "used_cpu_user_children", "0.000000");
    }

    fn info_commandstats(&self, out: &mut String) {
        for spec in COMMANDS
            .iter()
            .flat_map(|spec| std::iter::once(spec).chain(spec.subcommands))
        {
            let (mut calls, mut failed, mut rejected, mut nanoseconds) = (0, 0, 0, 0);
            for stats in &self.core.shared.stats {
                if let Some(command) = stats.commands_by_id.get(spec.id as usize) {
                    calls += command.calls.value();
                    failed += command.failed.value();
                    rejected += command.rejected.value();
                    nanoseconds += command.nanoseconds.value();
                }
            }
            if calls + rejected == 0 {
                continue;
            }
            let microseconds = nanoseconds / 1000;
            let each = nanoseconds as f64 / 1000.0 / calls.max(1) as f64;
            let text = format!(
                "calls={calls},usec={microseconds},usec_per_call={each:.2},rejected_calls={rejected},failed_calls={failed}"
            );
            field(out, &format!("cmdstat_{}", spec.name), text);
        }
    }

    /// Prefixes that tell an operator something; all others are counted as `ERR`.
    fn info_errorstats(&self, out: &mut String) {
        let damaged = self.sum(|stats| &stats.errors.damaged);
        let limited = self.sum(|stats| &stats.errors.limited);
        let counts = [
            (
                "ERR",
                self.sum(|stats| &stats.errors.replied)
                    .saturating_sub(damaged + limited),
            ),
            ("BUSY", self.sum(|stats| &stats.errors.busy)),
            ("DAMAGED", damaged),
            ("LIMIT", limited),
            ("MISCONF", self.sum(|stats| &stats.errors.disk)),
            ("OOM", self.sum(|stats| &stats.errors.memory)),
        ];
        for (prefix, count) in counts {
            if count > 0 {
                field(
                    out,
                    &format!("errorstat_{prefix}"),
                    format!("count={count}"),
                );
            }
        }
    }

    fn table_totals(&self, id: TableId) -> (u64, u64, u64, u64) {
        let mut totals = (0, 0, 0, 0);
        for stats in &self.core.shared.stats {
            if let Some(table) = stats.tables().get(&id) {
                totals.0 += table.keys.value();
                totals.1 += table.expires.value();
                totals.2 = totals.2.max(table.ttl_mean_ms.value());
                totals.3 += table.memory.value();
            }
        }
        totals
    }

    fn info_keyspace(&self, out: &mut String) {
        for state in self.core.tables.iter() {
            let number = match state.name.as_str() {
                "default" => Some(0),
                name => name
                    .parse::<u8>()
                    .ok()
                    .filter(|number| (1..16).contains(number)),
            };
            let (keys, expires, ttl, _) = self.table_totals(state.id);
            if let Some(number) = number
                && keys > 0
            {
                field(
                    out,
                    &format!("db{number}"),
                    format!("keys={keys},expires={expires},avg_ttl={ttl}"),
                );
            }
        }
    }

    fn info_cluster(&self, out: &mut String) {
        let catalog = self.core.tables.catalog();
        field(out, "cluster_enabled", u8::from(self.port == Port::Brick));
        let at_risk = catalog.tables_with_one_copy().count();
        field(out, "tables_with_one_copy", at_risk);
    }

    fn info_tables(&self, out: &mut String) {
        for state in self.core.tables.iter() {
            let (keys, expires, ttl, memory) = self.table_totals(state.id);
            let attributes = &state.attributes;
            let text = format!(
                "keys={keys},expires={expires},avg_ttl={ttl},memory={memory},medium={},durability={},partitions={}",
                attributes.medium,
                attributes.durability,
                state.map.partitions().leaves().len(),
            );
            field(out, &format!("table_{}", state.name), text);
        }
    }
}

fn field(out: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = write!(out, "{name}:{value}\r\n");
}

/// Bytes as people read them, the way Redis writes them.
fn human(bytes: u64) -> String {
    let units = [
        (1 << 40, "T"),
        (1 << 30, "G"),
        (1 << 20, "M"),
        (1 << 10, "K"),
    ];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, letter)) => format!("{:.2}{letter}", bytes as f64 / *unit as f64),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
#[path = "info_test.rs"]
mod info_test;
