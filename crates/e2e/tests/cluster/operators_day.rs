//! An operator's day, as docs/operations.md tells it: its blocks are run as they stand there.

use brickyard_e2e::binary;
use brickyard_e2e::port::free_dev;
use brickyard_e2e::runbook::Runbook;
use brickyard_e2e::{skip, stock};
use std::path::Path;
use std::time::Duration;

/// How long it may take on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(300);

/// From the port that the page begins at to that of its first node.
const FIRST: u16 = 10;

/// The page's numbers of nodes end here.
const NODES: u16 = 5;

#[test]
fn an_operators_day_goes_as_the_page_tells_it() {
    let what = "an operator's day (docs/operations.md)";
    if stock::redis("redis-cli", what).is_none() {
        return;
    }
    if binary::installed("curl").is_none() {
        skip::announce(what, "no curl on the PATH; on Debian: apt-get install curl");
        return;
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.md");
    let page = std::fs::read_to_string(page).expect("docs/operations.md");
    let day = Runbook::of(&page, "## An operator's day");
    let programs = binary::brickyard().parent().expect("a folder");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let port = (free_dev(NODES) - FIRST).to_string();
    day.run(folder.path(), programs, &[("PORT", &port)], PATIENCE);
}
