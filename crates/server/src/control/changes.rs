//! Catalog changes, one after the other: decide, write, spread, answer.

use super::catalog_file::CatalogFile;
use super::link::{LoopLink, Notices, ToLoop};
use brickyard_brick::ControlReply;
use brickyard_metadata::{Catalog, Change};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::{mpsc, watch};

/// Changes that may wait. Each waits for a client, and clients wait for their answers.
const WAITING_MAX: usize = 256;

struct Asked {
    brick: usize,
    token: u64,
    change: Change,
}

/// Gives changes to the task that makes them.
pub(super) struct Changes {
    asked: mpsc::Sender<Asked>,
    loops: Rc<RefCell<Vec<LoopLink>>>,
}

struct Maker {
    loops: Rc<RefCell<Vec<LoopLink>>>,
    notices: Arc<Notices>,
    file: CatalogFile,
    catalog: watch::Sender<Arc<Catalog>>,
}

impl Changes {
    /// Starts the task.
    pub(super) fn start(
        loops: Rc<RefCell<Vec<LoopLink>>>,
        notices: Arc<Notices>,
        file: CatalogFile,
        catalog: watch::Sender<Arc<Catalog>>,
    ) -> Self {
        let (asked, mut receiver) = mpsc::channel::<Asked>(WAITING_MAX);
        let maker = Maker {
            loops: Rc::clone(&loops),
            notices,
            file,
            catalog,
        };
        tokio::task::spawn_local(async move {
            while let Some(Asked {
                brick,
                token,
                change,
            }) = receiver.recv().await
            {
                let reply = maker.make(change).await;
                super::answer(&maker.loops, brick, token, reply);
            }
        });
        Self { asked, loops }
    }

    /// Asks for a change; the brick is answered when it is made or refused.
    pub(super) fn ask(&self, brick: usize, token: u64, change: Change) {
        if self
            .asked
            .try_send(Asked {
                brick,
                token,
                change,
            })
            .is_err()
        {
            let busy = "too many table changes are waiting; try again".to_owned();
            super::answer(&self.loops, brick, token, ControlReply::Failed(busy));
        }
    }
}

impl Maker {
    async fn make(&self, change: Change) -> ControlReply {
        let current = self.catalog.borrow().clone();
        let mut next = Catalog::clone(&current);
        let applied = match next.apply(change) {
            Ok(applied) => applied,
            Err(refusal) => return ControlReply::Refused(refusal),
        };
        if next.version() == current.version() {
            return ControlReply::Changed(applied);
        }
        let next = Arc::new(next);
        if let Err(reason) = self.write(&next).await {
            tracing::error!(reason, "the catalog cannot be written; nothing was changed");
            return ControlReply::Failed(reason);
        }
        for link in self.loops.borrow_mut().iter_mut() {
            link.send(ToLoop::Catalog(Arc::clone(&next)));
        }
        let version = next.version().0;
        self.catalog.send_replace(next);
        let is_everywhere = || {
            let loops = self.loops.borrow();
            loops
                .iter()
                .all(|link| link.state.catalog.load(Ordering::Acquire) >= version)
        };
        while !is_everywhere() {
            self.notices.adopted.notified().await;
        }
        tracing::info!(version, table = applied.table.0, "catalog changed");
        ControlReply::Changed(applied)
    }

    /// Writes off this thread: a sync may take long, and health must be told meanwhile.
    async fn write(&self, catalog: &Arc<Catalog>) -> Result<(), String> {
        let (file, catalog) = (self.file.clone(), Arc::clone(catalog));
        let describe = self.file.describe();
        let written = tokio::task::spawn_blocking(move || file.store(&catalog)).await;
        match written {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("cannot write {describe}: {error}")),
            Err(error) => Err(format!("cannot write {describe}: {error}")),
        }
    }
}
