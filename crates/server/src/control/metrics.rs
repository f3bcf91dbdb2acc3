//! Metrics by the conventions of Prometheus: figures of the node, read at each scrape.
//!
//! Names are `brickyard_<room>_<noun>_<unit>[_total]`, units are base units (seconds, bytes, ratios), labels are `brick`,
//! `table`, `command`, `reason`, `node` and `peer` (numbers of nodes), `role`, `state`, `place`, `order`, `mode`, `seen_by`; never a key. docs/operations.md
//! has all of them, and a test holds the two together. Nothing is kept here between scrapes, and nothing is added up over nodes.

mod bricks;
mod control;
mod disks;
mod page;
mod process;
mod replication;
mod tables;

use super::status::{Phase, View};
use page::Page;

/// Renders all metrics.
///
/// # Errors
/// The text could not be built.
pub(crate) fn text(view: &View) -> Result<String, prometheus::Error> {
    let mut page = Page::default();
    let is_ready = u8::from(view.phase() == Phase::Ready);
    page.gauge(
        "brickyard_server_ready",
        "1 while requests are served.",
        f64::from(is_ready),
    );
    process::certificates(&mut page, view);
    if let Some(opened) = view.opened.get() {
        let catalog = opened.catalog.borrow().clone();
        process::process(&mut page, opened, &catalog);
        bricks::bricks(&mut page, opened);
        disks::disks(&mut page, opened);
        tables::tables(&mut page, opened, &catalog);
        replication::replication(&mut page, view, opened, &catalog);
        control::control(&mut page, view, &catalog);
    }
    page.text()
}
