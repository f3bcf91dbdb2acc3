//! A brick's three disk threads, as its loop sees them.
//!
//! In:  what the brick wants appended, read, deleted, synced. Out: [`Event`]s for the brick.
//!
//! `append` writes batches in order, `sync` makes them durable in groups and seals and deletes segments, `read` reads
//! cold values and feeds the cleaner. They are three because they must not wait for one another. All three sleep when
//! there is nothing to do. The loop waits for none of them; small batches it writes itself, while the disk takes them
//! without delay.
//!
//! Not here: what each does with an order, and when it syncs (`node`).

mod append;
mod idle;
mod progress;
mod read;
mod sync;
mod timing;

pub(crate) use idle::{IdleJob, IdleThread};
pub(crate) use timing::{DiskStats, Timing};

use crate::fatal;
use crate::queue::{self, Orders};
use crate::wake::Waker;
use append::{AppendThread, Inline, InlineAppender};
use brickyard_brick::{BatchId, Event};
use brickyard_node::disk::{
    AppendOrder, AppendReport, AppendWorker, InlineAppends, ReadOrder, ReadReport, Reading,
    SyncPace, SyncWorker,
};
use brickyard_store::{Disk, Opened};
use progress::Progress;
use read::ReadThread;
use rtrb::Consumer;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use sync::{SyncReport, SyncThread};

/// The loop's end of its disk threads.
#[derive(Debug)]
pub(crate) struct DiskLink {
    append: Orders<AppendOrder>,
    append_reports: Consumer<AppendReport>,
    inline: Box<dyn Inline>,
    sync_reports: Consumer<SyncReport>,
    synced: Arc<AtomicU64>,
    synced_seen: u64,
    read: Orders<ReadOrder>,
    read_reports: Consumer<ReadReport>,
}

/// How the threads are set up.
#[derive(Debug)]
pub(crate) struct DiskSetup<'a> {
    pub(crate) brick: u32,
    pub(crate) wakers: &'a Arc<[Waker]>,
    pub(crate) pace: SyncPace,
    /// Bytes of the longest batch that the loop writes itself; 0: it writes none.
    pub(crate) inline_append_max: usize,
    pub(crate) stats: Arc<DiskStats>,
}

/// Starts the disk threads over an open log.
///
/// # Errors
/// The operating system has no room for another thread.
pub(crate) fn start<D: Disk>(
    opened: Opened<D>,
    idle: SyncSender<IdleJob<D>>,
    setup: DiskSetup<'_>,
) -> io::Result<(DiskLink, Vec<JoinHandle<()>>)> {
    let DiskSetup {
        brick,
        wakers,
        pace,
        inline_append_max,
        stats,
    } = setup;
    let index = brick as usize;
    let (mut append, append_orders) = queue::orders(append::ORDERS_MAX);
    let (append_to_loop, append_reports) = queue::reports(2 * append::ORDERS_MAX, wakers, index);
    let (mut deletes, delete_orders) = queue::orders(sync::ORDERS_MAX);
    let (sync_to_loop, sync_reports) = queue::reports(sync::ORDERS_MAX, wakers, index);
    let (mut read, read_orders) = queue::orders(read::ORDERS_MAX);
    let (read_to_loop, read_reports) = queue::reports(read::ORDERS_MAX, wakers, index);
    let synced = Arc::new(AtomicU64::new(0));
    let progress = Arc::new(Progress::new(opened.appender.end(), Arc::clone(&synced)));
    let unsealed = opened.report.resealed.iter().copied();
    let sync_thread = SyncThread {
        worker: SyncWorker::new(opened.syncer, unsealed, pace),
        deletes: delete_orders,
        around: sync::Around {
            progress: Arc::clone(&progress),
            reports: sync_to_loop,
            idle,
            stats: Arc::clone(&stats),
        },
    };
    let worker = Arc::new(Mutex::new(AppendWorker::new(opened.appender)));
    let inline = Box::new(InlineAppender {
        worker: Arc::clone(&worker),
        appends: InlineAppends::new(inline_append_max),
        around: append::Around {
            reports: VecDeque::new(),
            progress: Arc::clone(&progress),
            stats: Arc::clone(&stats),
        },
    });
    let append_thread = AppendThread {
        worker,
        orders: append_orders,
        around: append::Around {
            reports: append_to_loop,
            progress: Arc::clone(&progress),
            stats: Arc::clone(&stats),
        },
    };
    // The sync thread must be known before the append thread may want to wake it.
    let sync_handle = fatal::spawn(format!("brick{brick}-sync"), || sync_thread.run())?;
    progress.attach(sync_handle.thread().clone());
    deletes.attach(sync_handle.thread().clone());
    let read_thread = ReadThread {
        log: Reading::new(opened.reader, opened.report.damages),
        orders: read_orders,
        reports: read_to_loop,
        deletes,
        progress: Arc::clone(&progress),
        stats,
    };
    let append_handle = fatal::spawn(format!("brick{brick}-append"), || append_thread.run())?;
    append.attach(append_handle.thread().clone());
    let read_handle = fatal::spawn(format!("brick{brick}-read"), || read_thread.run())?;
    read.attach(read_handle.thread().clone());
    let link = DiskLink {
        append,
        append_reports,
        inline,
        sync_reports,
        synced,
        synced_seen: 0,
        read,
        read_reports,
    };
    Ok((link, vec![append_handle, read_handle, sync_handle]))
}

impl DiskLink {
    /// Writes a batch, or gives it to the append thread, behind what that has to do.
    pub(crate) fn append(&mut self, order: AppendOrder) {
        if let AppendOrder::Batch(append) = &order
            && (self.inline).append(append, &self.append, &self.append_reports)
        {
            return;
        }
        self.append.give(order);
    }

    /// Gives an order to the read thread.
    pub(crate) fn read(&mut self, order: ReadOrder) {
        self.read.give(order);
    }

    /// Passes the orders on and wakes the threads that have new ones.
    pub(crate) fn flush(&mut self) {
        self.append.flush();
        self.read.flush();
    }

    /// Whether an order waits for room in its ring.
    pub(crate) fn is_backed_up(&self) -> bool {
        self.append.is_backed_up() || self.read.is_backed_up()
    }

    /// Whether the loop has written a batch itself and has not heard of it.
    pub(crate) fn has_inline_reports(&self) -> bool {
        self.inline.has_reports()
    }

    /// Whether a thread reported something.
    pub(crate) fn has_reports(&self) -> bool {
        self.has_inline_reports()
            || !self.append_reports.is_empty()
            || self.synced.load(Ordering::Acquire) != self.synced_seen
            || !self.sync_reports.is_empty()
            || !self.read_reports.is_empty()
    }

    /// Passes what the threads reported to `handle`.
    pub(crate) fn deliver(&mut self, mut handle: impl FnMut(Event<'_>)) {
        // Read before the appends are taken: what is synced by now was reported appended before.
        let synced = self.synced.load(Ordering::Acquire);
        let sync_reports = self.sync_reports.slots();
        while let Some(report) = self.inline.take_report() {
            handle(report.into_event());
        }
        while let Ok(report) = self.append_reports.pop() {
            handle(report.into_event());
        }
        if synced > self.synced_seen {
            self.synced_seen = synced;
            handle(Event::Synced(BatchId(synced)));
        }
        for _ in 0..sync_reports {
            let Ok(report) = self.sync_reports.pop() else {
                break;
            };
            handle(match report {
                SyncReport::Checkpointed(token) => Event::Checkpointed(token, Ok(())),
                SyncReport::Poisoned(reason) => Event::Poisoned(reason),
            });
        }
        while let Ok(report) = self.read_reports.pop() {
            report.deliver(&mut handle);
        }
    }
}

#[cfg(test)]
#[path = "disk_test.rs"]
mod disk_test;
