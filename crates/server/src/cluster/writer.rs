//! The thread that writes the control log, so that a slow disk holds up nothing else.
//!
//! In:  what is to be stored, in order. Out: up to where it is.
//!
//! Invariants:
//! - One sync covers everything that came while the one before it ran.
//! - A full disk is waited for: nothing is reported that is not stored.
//! - A failed sync ends the process: what was promised may be lost.

use crate::control::CatalogFile;
use crate::fatal;
use brickyard_consensus::{HardState, Persist};
use brickyard_metadata::Catalog;
use brickyard_node::{LogWriter, Report};
use brickyard_store::{BootNote, ControlLog, ControlLogError, OsDisk};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// Between two attempts to write to a full disk.
const RETRY: Duration = Duration::from_millis(200);

/// What the thread is told.
#[derive(Debug)]
enum Order {
    Persist(Persist),
    /// The catalog as it is now, for tools that look at the directory.
    Copy(Arc<Catalog>),
    /// Note that the bricks' logs lack nothing.
    ConfirmTail(BootNote),
}

/// The driver's end. Dropped, the thread finishes what it has and ends.
#[derive(Debug)]
pub(crate) struct Writer {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A panic there ends the process.
            drop(thread.join());
        }
    }
}

impl Writer {
    pub(crate) fn start(
        log: ControlLog<OsDisk>,
        state: HardState,
        copy: CatalogFile,
        reports: UnboundedSender<Report>,
    ) -> std::io::Result<Self> {
        let (orders, given) = channel();
        let writing = Writing {
            log: LogWriter::new(log, state),
            copy,
            reports,
        };
        let thread = fatal::spawn("control-log".to_owned(), move || writing.run(&given))?;
        Ok(Self {
            orders: Some(orders),
            thread: Some(thread),
        })
    }

    pub(crate) fn persist(&self, persist: Persist) {
        self.give(Order::Persist(persist));
    }

    pub(crate) fn copy(&self, catalog: Arc<Catalog>) {
        self.give(Order::Copy(catalog));
    }

    pub(crate) fn confirm_tail(&self, boot: BootNote) {
        self.give(Order::ConfirmTail(boot));
    }

    fn give(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // The thread ends only with the process, or when the sender is gone.
            drop(orders.send(order));
        }
    }
}

struct Writing {
    log: LogWriter<OsDisk>,
    copy: CatalogFile,
    reports: UnboundedSender<Report>,
}

impl Writing {
    fn run(mut self, orders: &Receiver<Order>) {
        let mut copy = None;
        while let Ok(order) = orders.recv() {
            let mut stored = None;
            let mut must_sync = false;
            let mut next = Some(order);
            while let Some(order) = next {
                match order {
                    Order::Persist(persist) => {
                        stored = Some(persist.number);
                        must_sync |= persist.must_sync;
                        self.write(&persist);
                    }
                    Order::Copy(catalog) => copy = Some(catalog),
                    Order::ConfirmTail(mut boot) => {
                        // Without the note the next start asks once more.
                        if let Err(error) = boot.confirm_tail(self.copy.disk()) {
                            tracing::warn!(%error, "that the logs are whole cannot be noted");
                        }
                    }
                }
                next = orders.try_recv().ok();
            }
            if must_sync {
                let synced = self.log.sync();
                self.expect(synced);
            }
            if let Some(number) = stored {
                // Without the driver nobody wants to know.
                drop(self.reports.send(Report::Stored(number)));
            }
            // After the report: nobody waits for the copy.
            if let Some(catalog) = copy.take()
                && let Err(error) = self.copy.store(&catalog)
            {
                tracing::debug!(%error, "the copy of the catalog cannot be written");
            }
        }
        let closed = self.log.close();
        if let Err(error) = closed {
            tracing::warn!(%error, "the control log was not closed as it should be");
        }
    }

    fn write(&mut self, persist: &Persist) {
        loop {
            match self.log.write(persist) {
                Err(error @ (ControlLogError::Full { .. } | ControlLogError::Io { .. })) => {
                    tracing::error!(%error, "the control log cannot be written; trying again");
                    drop(self.reports.send(Report::Refused(error.to_string())));
                    std::thread::sleep(RETRY);
                }
                written => return self.expect(written),
            }
        }
    }

    fn expect(&self, done: Result<(), ControlLogError>) {
        if let Err(error) = done {
            fatal::stop_control(&error.to_string());
        }
    }
}
