//! What the queues between threads are made of. `tests/interleavings` has others in the place of these, which try every
//! order in which threads can run.

pub(crate) use rtrb::{Consumer, Producer, PushError, RingBuffer};
pub(crate) use std::sync::{Mutex, MutexGuard};
pub(crate) use std::thread::{Thread, park, park_timeout};
