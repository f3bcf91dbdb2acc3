//! A table as Python has it: words in, replies out.
//!
//! In:  keys, values, words of commands. Out: replies, or exceptions.
//!
//! Invariant: what is called here is under way, or over, when the call returns; nothing is sent later.

use crate::{
    batch::Batch, engine::Open, failure, forks::Own, mailbox::Mailbox, reply, scan::Scan,
    watch::Watch, word::Word,
};
use brickyard_client::{Error, Pending, Table as Inner, Value};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyList},
};
use std::{sync::Arc, time::Duration};

/// A table, for one process.
#[pyclass(frozen, module = "brickyard._native")]
#[derive(Debug)]
pub(crate) struct Table {
    open: Own<Box<Open<Inner>>>,
}

impl Table {
    pub(crate) fn new(open: Open<Inner>) -> Self {
        Self {
            open: Own::new(Box::new(open)),
        }
    }
}

#[pymethods]
impl Table {
    /// The same table, whose calls may take so many seconds.
    fn with_deadline(&self, py: Python<'_>, seconds: f64) -> PyResult<Self> {
        let open = self.open.get(py)?;
        let deadline = Duration::try_from_secs_f64(seconds).map_err(|error| {
            failure::invalid(
                py,
                &format!("a deadline of {seconds} s: {error}; give a positive number"),
            )
        })?;
        Ok(Self::new(Open {
            inner: open.inner.with_deadline(deadline),
            engine: Arc::clone(&open.engine),
        }))
    }

    /// The value of a key, or `None`.
    fn get<'py>(&self, py: Python<'py>, key: Word) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let open = self.open.get(py)?;
        let value = open.engine.wait(py, || open.inner.get(&key));
        let value = value.map_err(|error| failure::exception(py, &error))?;
        Ok(reply::bytes(py, value.as_deref()))
    }

    /// Stores a value, for ever.
    fn set(&self, py: Python<'_>, key: Word, value: Word) -> PyResult<()> {
        let open = self.open.get(py)?;
        let stored = open.engine.wait(py, || open.inner.set(&key, &value));
        stored.map_err(|error| failure::exception(py, &error))
    }

    /// Any command, and its reply.
    fn call<'py>(&self, py: Python<'py>, words: Vec<Word>) -> PyResult<Bound<'py, PyAny>> {
        let open = self.open.get(py)?;
        let outcome = open.engine.wait(py, || open.inner.command(&words));
        reply::result(py, outcome)
    }

    /// Several commands at once, waited for: the outcome of each.
    fn call_many<'py>(
        &self,
        py: Python<'py>,
        commands: Vec<Vec<Word>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let open = self.open.get(py)?;
        let outcomes = open.engine.wait(py, || all(&open.inner, &commands));
        reply::outcomes(py, flat(outcomes))
    }

    /// The values of several keys; for each its value, `None`, or an exception object.
    fn get_many<'py>(&self, py: Python<'py>, keys: Vec<Word>) -> PyResult<Bound<'py, PyList>> {
        let open = self.open.get(py)?;
        let values = open.engine.wait(py, || open.inner.mget(&keys));
        let values = values.map_err(|error| failure::exception(py, &error))?;
        let list = PyList::empty(py);
        for value in values {
            match value {
                Ok(value) => list.append(reply::bytes(py, value.as_deref()))?,
                Err(error) => list.append(failure::exception(py, &error).into_value(py))?,
            }
        }
        Ok(list)
    }

    /// Sends several commands, which are not waited for.
    fn start(&self, py: Python<'_>, commands: Vec<Vec<Word>>) -> PyResult<Batch> {
        let open = self.open.get(py)?;
        let calls = all(&open.inner, &commands);
        Ok(Batch::start(&open.engine, async move { flat(calls.await) }))
    }

    /// Sends several commands, each of whose outcomes comes to the mailbox with its number.
    fn post(
        &self,
        py: Python<'_>,
        mailbox: &Mailbox,
        commands: Vec<(u64, Vec<Word>)>,
    ) -> PyResult<()> {
        let open = self.open.get(py)?;
        let calls: Vec<(u64, Pending<Value>)> = commands
            .iter()
            .map(|(number, words)| (*number, open.inner.command(words)))
            .collect();
        for (number, call) in calls {
            let post = mailbox.post().ok_or_else(|| failure::forked(py))?;
            open.engine
                .spawn(async move { post.put(number, call.await) });
        }
        Ok(())
    }

    /// The keys of slots `begin` to `end`, in pages.
    #[pyo3(signature = (begin=0, end=16384, pattern=None, page=512))]
    fn scan(
        &self,
        py: Python<'_>,
        begin: u16,
        end: u16,
        pattern: Option<Word>,
        page: u32,
    ) -> PyResult<Scan> {
        let open = self.open.get(py)?;
        let mut scan = open.inner.scan().page(page).slots(begin..end);
        if let Some(pattern) = pattern {
            scan = scan.matching(pattern.as_ref());
        }
        Ok(Scan::new(Open {
            inner: scan.into(),
            engine: Arc::clone(&open.engine),
        }))
    }

    /// What changes of the keys that begin so, of one key, or of all.
    #[pyo3(signature = (prefix=None, key=None, position=None))]
    fn watch(
        &self,
        py: Python<'_>,
        prefix: Option<Word>,
        key: Option<Word>,
        position: Option<Word>,
    ) -> PyResult<Watch> {
        let open = self.open.get(py)?;
        let mut watch = open.inner.watch();
        if let Some(prefix) = prefix {
            watch = watch.prefix(prefix.as_ref());
        }
        if let Some(key) = key {
            watch = watch.key(key.as_ref());
        }
        if let Some(position) = position {
            watch = watch.from(position.as_ref());
        }
        Ok(Watch::new(Open {
            inner: watch.into(),
            engine: Arc::clone(&open.engine),
        }))
    }

    /// For each run of slots that the same bricks hold: its first slot, the one behind its last, their addresses, the primary's first.
    fn holders(&self, py: Python<'_>) -> PyResult<Vec<(u16, u16, Vec<String>)>> {
        let open = self.open.get(py)?;
        Ok(open.inner.holders())
    }
}

/// All of them, under way.
fn all(table: &Inner, commands: &[Vec<Word>]) -> Pending<Vec<Result<Value, Error>>> {
    Pending::all(commands.iter().map(|words| table.command(words)).collect())
}

/// What is known of each; the whole has no error of its own.
fn flat(outcomes: Result<Vec<Result<Value, Error>>, Error>) -> Vec<Result<Value, Error>> {
    outcomes.unwrap_or_else(|error| vec![Err(error)])
}
