//! What the operating system says of this process and machine.

use brickyard_brick::shared::ProcessStats;
use rustix::system::{sysinfo, uname};
use std::sync::atomic::Ordering::Relaxed;

/// Writes the present figures into `stats`.
pub(crate) fn refresh(stats: &ProcessStats) {
    let (resident, resident_max) = resident_bytes();
    stats.memory_resident.store(resident, Relaxed);
    stats.memory_resident_max.store(resident_max, Relaxed);
    if let Some((user, system)) = cpu_microseconds() {
        stats.cpu_user_us.store(user, Relaxed);
        stats.cpu_system_us.store(system, Relaxed);
    }
}

/// Memory of the machine in bytes.
pub(crate) fn memory_total() -> u64 {
    let info = sysinfo();
    #[expect(
        clippy::useless_conversion,
        reason = "the field's type differs between systems; on 64-bit ones it is this"
    )]
    let total = u64::from(info.totalram);
    total.saturating_mul(u64::from(info.mem_unit))
}

/// The operating system as `INFO` names it.
pub(crate) fn os() -> String {
    let name = uname();
    let part = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    format!(
        "{} {} {}",
        part(name.sysname()),
        part(name.release()),
        part(name.machine())
    )
}

fn resident_bytes() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.trim().strip_suffix("kB"))
            .and_then(|kib| kib.trim().parse::<u64>().ok())
            .map_or(0, |kib| kib * 1024)
    };
    (field("VmRSS:"), field("VmHWM:"))
}

/// User and system time of all threads, from the kernel's account.
fn cpu_microseconds() -> Option<(u64, u64)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name in parentheses and may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let ticks_per_second = rustix::param::clock_ticks_per_second().max(1);
    let mut next = || {
        let ticks: u64 = fields.next()?.parse().ok()?;
        Some(ticks.saturating_mul(1_000_000) / ticks_per_second)
    };
    Some((next()?, next()?))
}
