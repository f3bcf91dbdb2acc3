//! Where the two may differ without either being wrong.

use brickyard_command::Args;

/// How far the two clocks may be apart while a sequence runs.
const CLOCK_MS_MAX: i64 = 5_000;

/// Whether both replies are the same time, as far as two clocks can agree on one.
pub(crate) fn is_same_time(request: Args<'_>, redis: &[u8], ours: &[u8]) -> bool {
    const TIMES: [(&[u8], i64); 5] = [
        // Small integers are shared objects in Redis, idle since it started.
        (b"idletime", i64::MAX),
        (b"ttl", CLOCK_MS_MAX / 1000),
        (b"pttl", CLOCK_MS_MAX),
        (b"expiretime", CLOCK_MS_MAX / 1000),
        (b"pexpiretime", CLOCK_MS_MAX),
    ];
    // `OBJECT IDLETIME` tells it by its first argument.
    let name = match request.get(1) {
        Some(name) if request.at(0).eq_ignore_ascii_case(b"object") => name,
        _ => request.at(0),
    };
    let tolerance = TIMES
        .iter()
        .find(|(timed, _)| name.eq_ignore_ascii_case(timed))
        .map(|(_, tolerance)| *tolerance);
    match (tolerance, number(redis), number(ours)) {
        (Some(tolerance), Some(redis), Some(ours)) => {
            redis >= 0 && ours >= 0 && redis.abs_diff(ours) <= tolerance.unsigned_abs()
        }
        _ => false,
    }
}

/// Whether both replies are the same error but for quoted bytes that are no UTF-8, which we replace.
pub(crate) fn is_same_error(redis: &[u8], ours: &[u8]) -> bool {
    redis.starts_with(b"-") && String::from_utf8_lossy(redis).as_bytes() == ours
}

fn number(reply: &[u8]) -> Option<i64> {
    let text = reply.strip_prefix(b":")?.strip_suffix(b"\r\n")?;
    std::str::from_utf8(text).ok()?.parse().ok()
}
