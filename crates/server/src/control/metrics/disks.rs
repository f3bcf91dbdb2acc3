//! How the bricks' disks do, and how much room there is.

use super::page::{Distribution, Page, brick_label};
use crate::clock;
use crate::control::status::Opened;
use crate::disk::{DiskStats, Timing};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

type Of = fn(&DiskStats) -> &Timing;

pub(super) fn disks(page: &mut Page, opened: &Opened) {
    let kinds: [(&str, &str, &str, Of); 3] = [
        (
            "append",
            "brickyard_store_append_seconds",
            "Time of one append.",
            |it| &it.append,
        ),
        (
            "sync",
            "brickyard_store_sync_seconds",
            "Time of one sync.",
            |it| &it.sync,
        ),
        (
            "read",
            "brickyard_store_read_seconds",
            "Time of one cold read.",
            |it| &it.read,
        ),
    ];
    let bricks = || opened.disks.iter().enumerate();
    for (_, name, help, timing) in kinds {
        let values = bricks().map(|(brick, stats)| {
            let (sum, buckets) = timing(stats).snapshot();
            (brick_label(brick), Distribution { sum, buckets })
        });
        page.histograms(name, help, values);
    }
    let now = clock::now();
    let oldest = bricks().flat_map(|(brick, stats)| {
        kinds.iter().map(move |(order, _, _, timing)| {
            let mut labels = brick_label(brick);
            labels.push(("order", (*order).to_owned()));
            (labels, timing(stats).under_way(now).as_secs_f64())
        })
    });
    page.gauges(
        "brickyard_store_oldest_order_seconds",
        "For how long the disk has had the oldest order that it has not carried out; 0: it has none.",
        oldest,
    );
    type Count = (&'static str, &'static str, fn(&DiskStats) -> &AtomicU64);
    let counts: [Count; 3] = [
        (
            "brickyard_store_inline_appends_total",
            "Batches that the loop wrote to the log itself.",
            |it| &it.inline_appends,
        ),
        (
            "brickyard_store_append_failures_total",
            "Batches the log refused.",
            |it| &it.append_failures,
        ),
        (
            "brickyard_store_read_failures_total",
            "Cold reads that failed.",
            |it| &it.read_failures,
        ),
    ];
    for (name, help, value) in counts {
        let values =
            bricks().map(|(brick, it)| (brick_label(brick), value(it).load(Relaxed) as f64));
        page.counters(name, help, values);
    }
    page.gauge(
        "brickyard_store_damaged_ranges",
        "Ranges of the log that were unreadable at the start, and have not healed since.",
        opened.damages().len() as f64,
    );
    room(page, opened);
}

fn room(page: &mut Page, opened: &Opened) {
    let rooms = || opened.file_systems.rooms();
    let label = |place: &str| vec![("place", place.to_owned())];
    page.gauges(
        "brickyard_disk_available_bytes",
        "Room that is left on the file system of the data directory and of each brick's log.",
        rooms().map(|room| (label(room.place), room.free as f64)),
    );
    page.gauges(
        "brickyard_disk_size_bytes",
        "Size of that file system.",
        rooms().map(|room| (label(room.place), room.total as f64)),
    );
}
