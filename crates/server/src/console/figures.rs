//! What a node counts, as the page wants it: few numbers, of all bricks, whose differences are rates.
//!
//! In:  the node's view. Out: JSON. Nothing here waits for a brick.

use crate::cluster::view::MembershipState;
use crate::control::status::{Opened, View};
use brickyard_brick::stats::{LATENCY_BUCKETS, Stats};
use brickyard_command::table::COMMANDS;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{SystemTime, UNIX_EPOCH};

/// This node's.
pub(super) fn figures(view: &View) -> Value {
    let (leader, down, connected) = match &view.cluster_view.borrow().membership {
        MembershipState::Member(member) => (
            member.leader.map(|it| it.0),
            member.down.as_ref().map(|down| ids(down)),
            ids(&member.connected),
        ),
        MembershipState::Bootstrap(_) => (None, None, Vec::new()),
    };
    let mut shown = json!({
        "phase": view.phase().word(),
        "leader": leader,
        "down": down,
        "connected": connected,
        "now_ms": now_ms(),
    });
    if let Some(opened) = view.opened.get() {
        add_counts(&mut shown, opened);
    }
    shown
}

fn ids(nodes: &[brickyard_routing::NodeId]) -> Vec<u32> {
    nodes.iter().map(|node| node.0).collect()
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| it.as_millis() as u64)
}

fn add_counts(shown: &mut Value, opened: &Opened) {
    let shared = &opened.shared;
    let stats = &shared.stats;
    let sum = |count: fn(&Stats) -> u64| stats.iter().map(count).sum::<u64>();
    let process = &shared.process;
    let cpu = process.cpu_user_us.load(Relaxed) + process.cpu_system_us.load(Relaxed);
    shown["node"] = json!(shared.identity.node.0);
    shown["version"] = json!(shared.identity.version);
    shown["started_ms"] = json!(shared.identity.started.0);
    shown["catalog_version"] = json!(opened.catalog.borrow().version().0);
    shown["cpu_us"] = json!(cpu);
    shown["resident"] = json!(process.memory_resident.load(Relaxed));
    shown["memory"] = json!(shared.identity.memory_total);
    shown["received"] = json!(sum(|it| it.clients.bytes_in.value()));
    shown["sent"] = json!(sum(|it| it.clients.bytes_out.value()));
    shown["latency"] = json!(latency(stats));
    shown["errors"] = json!({
        "replied": sum(|it| it.errors.replied.value()),
        "busy": sum(|it| it.errors.busy.value()),
        "memory": sum(|it| it.errors.memory.value()),
        "disk": sum(|it| it.errors.disk.value()),
        "damaged": sum(|it| it.errors.damaged.value()),
        "limit": sum(|it| it.errors.limited.value()),
    });
    let bricks = stats.iter().enumerate().map(|(brick, it)| {
        json!({
            "brick": brick,
            "connections": it.clients.connected.value(),
            "commands": it.commands.value(),
            "busy_thousandths": it.busy.value(),
            "log_pending": it.log.pending_bytes.value(),
            "log_bytes": it.log.file_bytes.value(),
            "log_live": it.log.live_bytes.value(),
        })
    });
    shown["bricks"] = bricks.collect();
}

/// Calls of commands on keys by the power of two of microseconds that they took at most: what clients wait for, without what
/// administrators and this page ask.
fn latency<'a>(stats: impl IntoIterator<Item = &'a Stats> + Copy) -> [u64; LATENCY_BUCKETS] {
    let on_keys = COMMANDS.iter().filter(|spec| spec.key_first > 0);
    let on_keys: BTreeSet<usize> = on_keys.map(|spec| spec.id as usize).collect();
    let mut sums = [0; LATENCY_BUCKETS];
    for stats in stats {
        for command in on_keys
            .iter()
            .filter_map(|id| stats.commands_by_id.get(*id))
        {
            for (sum, bucket) in sums.iter_mut().zip(&command.latency) {
                *sum += bucket.value();
            }
        }
    }
    sums
}
