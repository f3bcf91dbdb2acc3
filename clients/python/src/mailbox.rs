//! Outcomes for an event loop of Python's, which learns of them by a socket that becomes readable.
//!
//! In:  outcomes, from the runtime. Out: a byte on the socket for those that came since the last were taken; the outcomes, with their
//! numbers.
//!
//! Invariant: the runtime never takes the interpreter's lock: a busy interpreter would hold up every connection.

use crate::{forks::Own, reply};
use brickyard_client::{Error, Value};
use pyo3::{
    prelude::*,
    types::{PyAny, PyList},
};
use std::{
    io::{self, Read, Write},
    os::{fd::AsRawFd, unix::net::UnixStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What has come and was not taken.
#[pyclass(frozen, module = "brickyard._native")]
#[derive(Debug)]
pub(crate) struct Mailbox {
    own: Own<Box<Ends>>,
}

#[derive(Debug)]
struct Ends {
    reader: UnixStream,
    post: Post,
}

/// The end where outcomes come in.
#[derive(Clone, Debug)]
pub(crate) struct Post(Arc<Letters>);

#[derive(Debug)]
struct Letters {
    writer: UnixStream,
    arrived: Mutex<Arrived>,
}

#[derive(Debug, Default)]
struct Arrived {
    outcomes: Vec<(u64, Result<Value, Error>)>,
    /// The loop was told, and has not come yet.
    is_told: bool,
}

impl Post {
    /// Takes an outcome in.
    pub(crate) fn put(&self, number: u64, outcome: Result<Value, Error>) {
        let mut arrived = self.0.arrived();
        arrived.outcomes.push((number, outcome));
        if !std::mem::replace(&mut arrived.is_told, true) {
            drop(arrived);
            // It has room for a byte, since there is one at most; a loop that is gone need not know.
            let _ = (&self.0.writer).write(&[1]);
        }
    }
}

impl Letters {
    fn arrived(&self) -> MutexGuard<'_, Arrived> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mailbox {
    pub(crate) fn post(&self) -> Option<Post> {
        self.own.peek().map(|ends| ends.post.clone())
    }
}

#[pymethods]
impl Mailbox {
    #[new]
    fn new() -> PyResult<Self> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        let letters = Letters {
            writer,
            arrived: Mutex::default(),
        };
        let post = Post(Arc::new(letters));
        Ok(Self {
            own: Own::new(Box::new(Ends { reader, post })),
        })
    }

    /// The descriptor that becomes readable.
    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        Ok(self.own.get(py)?.reader.as_raw_fd())
    }

    /// What has come: numbers and outcomes, errors as exception objects.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ends = self.own.get(py)?;
        match (&ends.reader).read(&mut [0; 8]) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error.into()),
            _ => {}
        }
        let outcomes = {
            let mut arrived = ends.post.0.arrived();
            arrived.is_told = false;
            std::mem::take(&mut arrived.outcomes)
        };
        let list = PyList::empty(py);
        for (number, outcome) in outcomes {
            let outcome: Bound<'py, PyAny> = reply::outcome(py, outcome)?;
            list.append((number, outcome))?;
        }
        Ok(list)
    }
}
