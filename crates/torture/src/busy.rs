//! Cores that have no time for anybody.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, available_parallelism, spawn};

/// All cores of this machine are busy as long as the value lives.
#[derive(Debug)]
pub struct BusyCores {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl BusyCores {
    /// From now on.
    #[must_use]
    pub fn begin() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let cores = available_parallelism().map_or(1, usize::from);
        let threads = (0..cores).map(|_| {
            let is_over = Arc::clone(&is_over);
            spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        });
        let threads = threads.collect();
        Self { is_over, threads }
    }
}

impl Drop for BusyCores {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It does nothing that could panic.
            drop(thread.join());
        }
    }
}
