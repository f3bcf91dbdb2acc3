//! What the control thread looks at once a second, for those who watch the node.
//!
//! In:  the operating system, the catalog. Out: figures of the process, copies that are missing, what has become of partitions,
//! room on disks; a warning in the log; orders that found their ring full are passed on.
//!
//! Invariant: nothing here waits for a disk: a file system is asked on a thread of its own, and not again before it has answered.

use super::copies::Copies;
use super::file_systems::FileSystems;
use super::link::LoopLink;
use super::turnover::Turnover;
use super::{partitions, process};
use crate::clock;
use brickyard_brick::shared::Shared;
use brickyard_metadata::{Catalog, CatalogVersion, TableEntry};
use brickyard_types::TableId;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How often.
const EVERY: Duration = Duration::from_secs(1);

/// See the module.
pub(super) struct Housekeeping {
    pub(super) shared: Arc<Shared>,
    pub(super) catalog: watch::Receiver<Arc<Catalog>>,
    pub(super) file_systems: Arc<FileSystems>,
    pub(super) loops: Rc<RefCell<Vec<LoopLink>>>,
    pub(super) shown: Shown,
}

/// Where whoever watches finds it.
pub(super) struct Shown {
    pub(super) copies: watch::Sender<Copies>,
    pub(super) turnover: watch::Sender<Turnover>,
}

impl Housekeeping {
    /// For ever.
    pub(super) async fn run(self) {
        let mut interval = tokio::time::interval(EVERY);
        let mut counted: Option<CatalogVersion> = None;
        let mut missing = 0;
        let mut at_risk = Vec::new();
        let mut looking: Option<JoinHandle<()>> = None;
        loop {
            interval.tick().await;
            process::refresh(&self.shared.process);
            let catalog = self.catalog.borrow().clone();
            if counted != Some(catalog.version()) {
                counted = Some(catalog.version());
                missing = partitions::missing(&catalog);
                warn_of_one_copy(&catalog, &mut at_risk);
                self.shown.turnover.send_modify(|it| it.look(&catalog));
            }
            let copies = &self.shown.copies;
            copies.send_if_modified(|copies| copies.check(missing, clock::now()));
            if looking.as_ref().is_none_or(JoinHandle::is_finished) {
                let file_systems = Arc::clone(&self.file_systems);
                looking = Some(tokio::task::spawn_blocking(move || file_systems.look()));
            }
            for link in self.loops.borrow_mut().iter_mut() {
                link.flush();
            }
        }
    }
}

/// Tells of tables with one copy where there are nodes for more: of those that were not `told` of.
fn warn_of_one_copy(catalog: &Catalog, told: &mut Vec<TableId>) {
    let at_risk: Vec<&TableEntry> = catalog.tables_with_one_copy().collect();
    let is_new = |table: &&&TableEntry| !told.contains(&table.id);
    let new: Vec<&str> = at_risk
        .iter()
        .filter(is_new)
        .map(|table| table.name.as_str())
        .collect();
    if !new.is_empty() {
        tracing::warn!(
            tables = new.join(" "),
            "these tables have one copy, and what is acknowledged to them is lost with one node's disk: TABLE ALTER name \
             REPLICAS auto gives them copies on other nodes"
        );
    }
    *told = at_risk.iter().map(|table| table.id).collect();
}
