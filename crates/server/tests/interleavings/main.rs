//! The queues between threads, and what puts a loop to sleep, in every order in which two threads can run.
//!
//! The files are the product's own; `threads`, `wake` and `atomic` are exchanged for ones that `loom` steers. It tries all
//! orders, and all values that a weak memory may show; a thread that sleeps for ever is a failure.

// The ring is only as good as `rtrb`: here it is a queue under a lock, so that what is tried is our own.
mod threads;
mod wake;

#[path = "../../src/queue.rs"]
mod queue;

use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread::yield_now;
use std::sync::Arc;
use threads::{Mutex, current, park, spawn};
use wake::Waker;

/// A loop: it sleeps while there is nothing, having said so, and having looked once more.
fn sleep_until(waker: &Waker, mut is_there: impl FnMut() -> bool) {
    loop {
        if is_there() {
            return;
        }
        waker.fall_asleep();
        if is_there() {
            waker.wake_up();
            return;
        }
        park();
        waker.wake_up();
    }
}

#[test]
fn a_sender_wakes_a_loop_that_falls_asleep() {
    loom::model(|| {
        let waker = loom::sync::Arc::new(Waker::new(current()));
        let message = loom::sync::Arc::new(AtomicBool::new(false));
        let (theirs, sent) = (waker.clone(), message.clone());
        let (sender, _) = spawn(move || {
            // No order but that of the fences.
            sent.store(true, Ordering::Relaxed);
            theirs.wake();
        });
        sleep_until(&waker, || message.load(Ordering::Relaxed));
        sender.join().expect("a sender");
    });
}

/// The test above can fail: without a fence the loop sleeps for ever.
#[test]
#[should_panic(expected = "deadlock")]
fn without_fences_the_loop_sleeps_for_ever() {
    loom::model(|| {
        let asleep = loom::sync::Arc::new(AtomicBool::new(false));
        let message = loom::sync::Arc::new(AtomicBool::new(false));
        let (theirs, sent) = (asleep.clone(), message.clone());
        // Nothing here waits for a lock, so `loom`'s own threads do; what is torn down after a deadlock has no lock.
        let sleeper = loom::thread::current();
        let sender = loom::thread::spawn(move || {
            sent.store(true, Ordering::Relaxed);
            if theirs.load(Ordering::Relaxed) {
                sleeper.unpark();
            }
        });
        while !message.load(Ordering::Relaxed) {
            asleep.store(true, Ordering::Relaxed);
            if message.load(Ordering::Relaxed) {
                break;
            }
            loom::thread::park();
            asleep.store(false, Ordering::Relaxed);
        }
        sender.join().expect("a sender");
    });
}

#[test]
fn orders_arrive_in_order_and_the_thread_ends_with_its_loop() {
    loom::model(|| {
        let (mut orders, mut taking) = queue::orders(1);
        let (worker, name) = spawn(move || {
            let mut got = Vec::new();
            while let Some(order) = queue::wait(&mut taking) {
                got.push(order);
            }
            got
        });
        orders.attach(name);
        orders.give(1);
        orders.give(2);
        orders.flush();
        while orders.is_backed_up() {
            yield_now();
            orders.flush();
        }
        drop(orders);
        assert_eq!(worker.join().expect("a worker"), [1, 2]);
    });
}

/// Whoever writes, what was ordered first is written first, and what the thread has reported is there.
#[test]
fn a_loop_that_borrows_the_worker_overtakes_no_order() {
    loom::model(|| {
        let written = loom::sync::Arc::new(Mutex::new(Vec::new()));
        let reported = loom::sync::Arc::new(AtomicUsize::new(0));
        let (mut orders, mut taking) = queue::orders(2);
        let (theirs, told) = (written.clone(), reported.clone());
        let (worker, name) = spawn(move || {
            queue::serve(&mut taking, &theirs, |written, order| {
                written.push(order);
                told.fetch_add(1, Ordering::Relaxed);
            });
        });
        orders.attach(name);
        orders.give(1);
        orders.flush();
        match orders.lend(&written) {
            Some(mut written) => {
                assert_eq!(*written, [1]);
                assert_eq!(reported.load(Ordering::Relaxed), 1);
                written.push(2);
            }
            None => {
                orders.give(2);
                orders.flush();
            }
        }
        drop(orders);
        worker.join().expect("a worker");
        assert_eq!(*queue::lock(&written), [1, 2]);
    });
}

#[test]
fn a_report_wakes_the_loop() {
    loom::model(|| {
        let wakers: Arc<[Waker]> = Arc::new([Waker::new(current())]);
        let (mut reports, mut taking) = queue::reports(1, &wakers, 0);
        let (worker, _) = spawn(move || reports.give(1));
        sleep_until(&wakers[0], || !taking.is_empty());
        assert_eq!(taking.pop().ok(), Some(1));
        worker.join().expect("a worker");
    });
}

#[test]
fn reports_to_a_loop_that_has_ended_are_nobodys() {
    loom::model(|| {
        let wakers: Arc<[Waker]> = Arc::new([Waker::new(current())]);
        let (mut reports, taking) = queue::reports(1, &wakers, 0);
        let (worker, _) = spawn(move || {
            reports.give(1);
            reports.give(2);
        });
        drop(taking);
        worker.join().expect("a worker");
    });
}
