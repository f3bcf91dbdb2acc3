//! The process, the node and its bounds.

use super::page::{Labels, Page};
use crate::control::status::{Opened, View};
use brickyard_brick::settings::Settings;
use brickyard_metadata::Catalog;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn process(page: &mut Page, opened: &Opened, catalog: &Catalog) {
    let shared = &opened.shared;
    let process = &shared.process;
    let identity = &shared.identity;
    let version = vec![("version", identity.version.to_owned())];
    page.gauges(
        "brickyard_server_build_info",
        "1, with the version as a label.",
        [(version, 1.0)],
    );
    let zone = catalog.node(identity.node);
    let zone = zone.map(|node| node.registration.zone.clone());
    let node: Labels = vec![
        ("node", identity.node.0.to_string()),
        ("zone", zone.flatten().unwrap_or_default()),
    ];
    page.gauges(
        "brickyard_server_node_info",
        "1, with the node's number in the cluster and its zone as labels.",
        [(node, 1.0)],
    );
    page.gauge(
        "brickyard_server_start_time_seconds",
        "When the process started, since the Unix epoch.",
        identity.started.0 as f64 / 1e3,
    );
    let modes: [(&str, &AtomicU64); 2] = [
        ("user", &process.cpu_user_us),
        ("system", &process.cpu_system_us),
    ];
    let seconds = modes.map(|(mode, micros)| {
        let label = vec![("mode", mode.to_owned())];
        (label, micros.load(Relaxed) as f64 / 1e6)
    });
    page.counters(
        "brickyard_server_cpu_seconds_total",
        "Processor time of all threads.",
        seconds,
    );
    page.gauge(
        "brickyard_server_resident_bytes",
        "Resident memory.",
        process.memory_resident.load(Relaxed) as f64,
    );
    page.gauge(
        "brickyard_server_machine_memory_bytes",
        "Memory of the machine.",
        identity.memory_total as f64,
    );
    let Settings {
        maxclients,
        maxmemory_clients,
        ..
    } = &shared.settings;
    page.gauge(
        "brickyard_server_connections_limit",
        "Most clients at a time (maxclients).",
        maxclients.load(Relaxed) as f64,
    );
    page.gauge(
        "brickyard_server_buffer_limit_bytes",
        "What all clients' buffers may take (maxmemory_clients); 0: no bound.",
        maxmemory_clients.load(Relaxed) as f64,
    );
}

pub(super) fn certificates(page: &mut Page, view: &View) {
    let ends = view.expiries.all().map(|(seen_by, until)| {
        let label = vec![("seen_by", seen_by.to_owned())];
        (label, until as f64)
    });
    page.gauges(
        "brickyard_tls_certificate_expiry_timestamp_seconds",
        "When the certificate ends that this node shows to other nodes, and to clients, since the Unix epoch.",
        ends,
    );
}
