//! Whether this process was forked since a client was opened.
//!
//! In:  Python's word that it is a child. Out: a refusal for clients of the parent, whose sockets and threads are not the child's.
//!
//! Invariant: nothing that belongs to the parent is used or dropped in a child: its poller is the same one, and would forget the
//! parent's sockets.

use crate::failure;
use pyo3::prelude::*;
use std::{
    ops::Deref,
    sync::atomic::{AtomicU64, Ordering},
};

/// How many forks lie between the first process and this one.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// This process is a child: clients from before belong to its parent.
#[pyfunction]
pub(crate) fn after_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Something that belongs to the process which made it.
#[derive(Debug)]
pub(crate) struct Own<T> {
    /// Nothing only while it is dropped.
    value: Option<T>,
    forks: u64,
}

impl<T> Own<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: Some(value),
            forks: FORKS.load(Ordering::Relaxed),
        }
    }

    fn is_ours(&self) -> bool {
        self.forks == FORKS.load(Ordering::Relaxed)
    }

    /// What it is.
    ///
    /// # Errors
    /// `ForkedError`: the process was forked since.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<&T> {
        match &self.value {
            Some(value) if self.is_ours() => Ok(value),
            _ => Err(failure::forked(py)),
        }
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if !self.is_ours() {
            std::mem::forget(self.value.take());
        }
    }
}

impl<T: Deref> Own<T> {
    /// The same without a refusal, for what only asks.
    pub(crate) fn peek(&self) -> Option<&T::Target> {
        self.value.as_deref().filter(|_| self.is_ours())
    }
}
