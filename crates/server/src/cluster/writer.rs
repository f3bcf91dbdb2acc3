//! The thread that writes the control log, so that a slow disk holds up nothing else.
//!
//! In:  entries to store, in order. Out: up to where they are stored.
//!
//! Invariants:
//! - One sync covers everything that came while the one before it ran.
//! - A full disk is waited for: nothing is reported that is not stored.
//! - A failed sync ends the process: what was promised may be lost.
//! - The copy of the catalog for tools takes two syncs, and the next entry waits behind them: where one change follows
//!   the other it is made now and then alone.

use crate::clock;
use crate::control::CatalogFile;
use crate::disk::Timing;
use crate::fatal;
use brickyard_consensus::Persist;
use brickyard_metadata::Catalog;
use brickyard_node::{LogWriter, Report};
use brickyard_store::{BootNote, ControlLogError, OsDisk};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// Between two attempts to write to a full disk.
const RETRY: Duration = Duration::from_millis(200);

/// From one copy of the catalog to the next.
const COPY_PAUSE: Duration = Duration::from_secs(1);

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
        log: LogWriter<OsDisk>,
        copy: CatalogFile,
        reports: UnboundedSender<Report>,
        timing: Arc<Timing>,
    ) -> std::io::Result<Self> {
        let (orders, given) = channel();
        let writing = Writing {
            log,
            copy,
            copied_at: None,
            reports,
            timing,
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
    copied_at: Option<Instant>,
    reports: UnboundedSender<Report>,
    /// How long entries take until they are stored.
    timing: Arc<Timing>,
}

impl Writing {
    fn run(mut self, orders: &Receiver<Order>) {
        let mut copy = None;
        loop {
            let mut stored = None;
            let mut must_sync = false;
            let mut next = match self.wait(orders, copy.is_some()) {
                Ok(order) => Some(order),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let began = clock::now();
            self.timing.begin(began);
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
            self.timing.end();
            if let Some(number) = stored {
                self.timing.add(clock::now() - began);
                // Without the driver nobody wants to know.
                drop(self.reports.send(Report::Stored(number)));
            }
            // After the report: nobody waits for the copy.
            if self.copy_due_in().is_zero() {
                self.store_copy(copy.take());
            }
        }
        self.store_copy(copy);
        let closed = self.log.close();
        if let Err(error) = closed {
            tracing::warn!(%error, "the control log was not closed as it should be");
        }
    }

    /// The next order, or word that it is time for a copy.
    fn wait(&self, orders: &Receiver<Order>, needs_copy: bool) -> Result<Order, RecvTimeoutError> {
        if needs_copy {
            return orders.recv_timeout(self.copy_due_in());
        }
        orders.recv().map_err(|_| RecvTimeoutError::Disconnected)
    }

    fn copy_due_in(&self) -> Duration {
        let since = self.copied_at.map(|at| at.elapsed());
        since.map_or(Duration::ZERO, |since| COPY_PAUSE.saturating_sub(since))
    }

    fn store_copy(&mut self, catalog: Option<Arc<Catalog>>) {
        let Some(catalog) = catalog else { return };
        if let Err(error) = self.copy.store(&catalog) {
            tracing::debug!(%error, "the copy of the catalog cannot be written");
        }
        self.copied_at = Some(Instant::now());
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
