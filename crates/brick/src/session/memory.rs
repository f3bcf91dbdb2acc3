//! MEMORY of the node as a whole, and ROLE: what tools of Redis ask for.

use super::info::Info;
use brickyard_command::{CommandId, help};
use brickyard_wire::Reply;
use std::sync::atomic::Ordering::Relaxed;

/// Above this share of its bound memory is short.
const SHORT_PERCENT: u64 = 90;

/// Answers a subcommand of MEMORY that is about no key.
pub(super) fn memory(info: &Info<'_>, id: CommandId, reply: &mut Reply<'_>) {
    match id {
        CommandId::MemoryDoctor => reply.verbatim("txt", diagnosis(info).as_bytes()),
        CommandId::MemoryMallocStats => {
            reply.verbatim("txt", b"Stats not supported for the current allocator");
        }
        CommandId::MemoryPurge => reply.ok(),
        CommandId::MemoryStats => stats(info, reply),
        _ => help("memory", reply),
    }
}

fn stats(info: &Info<'_>, reply: &mut Reply<'_>) {
    let process = &info.core.shared.process;
    let resident = process.memory_resident.load(Relaxed);
    let peak = process.memory_resident_max.load(Relaxed).max(resident);
    let (clients, used, keys) = (info.buffer_bytes(), info.used_memory(), info.keys());
    let (_, scripts) = info.core.shared.scripts.len_and_bytes();
    assert!(used >= clients, "of {used} bytes clients have {clients}");
    let history = info.history_bytes();
    let dataset = used.saturating_sub(clients + history);
    let share = |part: u64, of: u64| part as f64 * 100.0 / of.max(1) as f64;
    let whole = [
        ("peak.allocated", peak),
        ("total.allocated", used),
        ("startup.allocated", 0),
        ("replication.backlog", history),
        ("clients.slaves", 0),
        ("clients.normal", clients),
        ("aof.buffer", 0),
        ("lua.caches", scripts as u64),
        ("keys.count", keys),
        ("keys.bytes-per-key", dataset / keys.max(1)),
        ("dataset.bytes", dataset),
        ("allocator.resident", resident),
        ("fragmentation.bytes", resident.saturating_sub(used)),
    ];
    let parts = [
        ("dataset.percentage", share(dataset, used)),
        ("peak.percentage", share(resident, peak)),
        ("fragmentation", resident as f64 / used.max(1) as f64),
    ];
    reply.map(whole.len() + parts.len());
    for (name, number) in whole {
        reply.bulk(name.as_bytes());
        reply.integer(i64::try_from(number).unwrap_or(i64::MAX));
    }
    for (name, number) in parts {
        reply.bulk(name.as_bytes());
        reply.double(number);
    }
}

fn diagnosis(info: &Info<'_>) -> String {
    let shared = &info.core.shared;
    let resident = shared.process.memory_resident.load(Relaxed);
    let machine = shared.identity.memory_total;
    let (bound, used) = (info.memory_bound(), info.used_memory());
    let is_short = |part: u64, of: u64| of > 0 && part / (of / 100).max(1) >= SHORT_PERCENT;
    let found = if is_short(resident, machine) {
        format!(
            "The process takes {resident} of the machine's {machine} bytes, and past them the system kills it: bound its tables \
             (TABLE ALTER name MAXMEMORY bytes), or add a node."
        )
    } else if is_short(used, bound) {
        format!(
            "Tables hold {used} bytes, and together may hold {bound} (MAXMEMORY): past that they evict keys, or refuse writes. \
             TABLE DESCRIBE says which."
        )
    } else {
        "Memory is short nowhere. TABLE DESCRIBE and TABLE BIGKEYS say what takes it.".to_owned()
    };
    found + "\n"
}

/// Answers ROLE: whom a client may write to is a master, whatever it holds copies of.
pub(super) fn role(reply: &mut Reply<'_>) {
    reply.array(3);
    reply.bulk(b"master");
    reply.integer(0);
    reply.array(0);
}

#[cfg(test)]
#[path = "memory_test.rs"]
mod memory_test;
