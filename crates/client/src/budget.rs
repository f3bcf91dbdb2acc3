//! How much may be in flight: calls, and bytes of their requests.
//!
//! In:  the cost of a call, before it is sent and once it is over. Out: whether it may go now, or a wait.
//!
//! Who asks for more than a cluster can do makes the queue before it longer and longer, until every call that has its turn
//! has used up its time: then all are executed for nothing. So a call waits only for a part of its time, and where those
//! before it waited so long, the next ones need not begin.
//!
//! Invariants:
//! - What is in flight never exceeds the bounds, but for a single request that is larger by itself.
//! - Who waits is served in the order in which they began to wait.
//!
//! Source: the standing queue of CoDel (Nichols & Jacobson, "Controlling Queue Delay", 2012), and of what it means for servers
//! (Maurer, "Fail at Scale", 2015).

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};
use tokio::{sync::Semaphore, time::Instant};

/// The bounds, shared by all tables of a client.
#[derive(Debug)]
pub(crate) struct Budget {
    calls: Semaphore,
    bytes: Semaphore,
    bytes_max: u32,
    /// How long the last call waited whose turn came, in microseconds; 0 if it did not.
    waited_us: AtomicU64,
}

impl Budget {
    pub(crate) fn new(calls_max: usize, bytes_max: usize) -> Self {
        let most = Semaphore::MAX_PERMITS.min(u32::MAX as usize);
        let bytes_max = bytes_max.clamp(1, most) as u32;
        Self {
            calls: Semaphore::new(calls_max.clamp(1, most)),
            bytes: Semaphore::new(bytes_max as usize),
            bytes_max,
            waited_us: AtomicU64::new(0),
        }
    }

    /// What a request of `len` bytes costs: never more than there is at all.
    pub(crate) fn cost(&self, len: usize) -> u32 {
        u32::try_from(len).unwrap_or(u32::MAX).min(self.bytes_max)
    }

    /// Takes a call's cost, if there is that much left and nobody waits for it.
    pub(crate) fn try_take(&self, cost: u32) -> bool {
        let Ok(call) = self.calls.try_acquire() else {
            return false;
        };
        let Ok(bytes) = self.bytes.try_acquire_many(cost) else {
            return false;
        };
        call.forget();
        bytes.forget();
        self.waited_us.store(0, Relaxed);
        true
    }

    /// How long who begins to wait now will have to, going by the last one.
    pub(crate) fn expected_wait(&self) -> Duration {
        Duration::from_micros(self.waited_us.load(Relaxed))
    }

    /// Waits for a call's cost and takes it. Nothing is taken if this is dropped before.
    pub(crate) async fn take(&self, cost: u32) {
        let began = Instant::now();
        // The semaphores are never closed, so neither fails.
        if let Ok(call) = self.calls.acquire().await
            && let Ok(bytes) = self.bytes.acquire_many(cost).await
        {
            call.forget();
            bytes.forget();
            let waited = began.elapsed().as_micros();
            self.waited_us
                .store(u64::try_from(waited).unwrap_or(u64::MAX), Relaxed);
        }
    }

    /// Gives a call's cost back.
    pub(crate) fn give_back(&self, cost: u32) {
        self.calls.add_permits(1);
        self.bytes.add_permits(cost as usize);
    }
}

#[cfg(test)]
mod budget_test {
    use super::*;

    #[tokio::test]
    async fn whoever_waited_says_how_long_the_next_one_will() {
        let budget = Budget::new(1, 100);
        assert!(budget.try_take(1));
        let waits = budget.take(1);
        tokio::pin!(waits);
        let early = tokio::time::timeout(Duration::from_millis(20), &mut waits);
        assert!(early.await.is_err());
        assert_eq!(budget.expected_wait(), Duration::ZERO, "nobody had a turn");
        budget.give_back(1);
        waits.await;
        assert!(budget.expected_wait() >= Duration::from_millis(20));
        budget.give_back(1);
        assert!(budget.try_take(1));
        assert_eq!(budget.expected_wait(), Duration::ZERO);
    }

    #[test]
    fn both_bounds_hold_and_a_huge_request_goes_alone() {
        let budget = Budget::new(2, 100);
        assert!(budget.try_take(60));
        assert!(!budget.try_take(60), "too many bytes");
        assert!(budget.try_take(40));
        assert!(!budget.try_take(0), "too many calls");
        budget.give_back(60);
        budget.give_back(40);
        let huge = budget.cost(1 << 40);
        assert!(budget.try_take(huge));
        assert!(!budget.try_take(1));
        budget.give_back(huge);
        assert!(budget.try_take(1));
    }
}
