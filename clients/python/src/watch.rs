//! What changes of a table, some changes at a time.
//!
//! In:  how long to wait. Out: changes as tuples that begin with their kind, and the position behind them.
//!
//! Not here: codecs, and one change after the other (`python/brickyard/watch.py`).

use crate::{engine::Open, failure, forks::Own, reply};
use brickyard_client::{TableChange, Watch as Inner};
use brickyard_rdb::RdbValue;
use pyo3::{
    IntoPyObjectExt,
    prelude::*,
    types::{PyAny, PyBytes, PyList},
};
use std::time::Duration;
use tokio::sync::Mutex;

/// Whoever follows a table.
#[pyclass(frozen, module = "brickyard._native")]
#[derive(Debug)]
pub(crate) struct Watch {
    open: Own<Box<Open<Mutex<Inner>>>>,
}

impl Watch {
    pub(crate) fn new(open: Open<Mutex<Inner>>) -> Self {
        Self {
            open: Own::new(Box::new(open)),
        }
    }
}

#[pymethods]
impl Watch {
    /// The next changes, or none if none came within so many seconds.
    fn next_within<'py>(&self, py: Python<'py>, seconds: f64) -> PyResult<Bound<'py, PyList>> {
        let open = self.open.get(py)?;
        let wait = Duration::try_from_secs_f64(seconds).map_err(|error| {
            let what = format!("waiting for {seconds} s: {error}; give a positive number");
            failure::invalid(py, &what)
        })?;
        let changes = open.engine.wait(py, || async {
            open.inner.lock().await.next_within(wait).await
        });
        let changes = changes.map_err(|error| failure::exception(py, &error))?;
        let list = PyList::empty(py);
        for change in changes {
            list.append(tuple(py, change)?)?;
        }
        Ok(list)
    }

    /// Takes the position of now, unless there is one.
    fn begin(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.open.get(py)?;
        let begun = open
            .engine
            .wait(py, || async { open.inner.lock().await.begin().await });
        begun.map_err(|error| failure::exception(py, &error))
    }

    /// Behind what was returned last; `None` before anything was asked.
    fn position<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let open = self.open.get(py)?;
        let position = open.engine.wait(py, || async {
            open.inner.lock().await.position().map(<[u8]>::to_vec)
        });
        Ok(reply::bytes(py, position.as_deref()))
    }
}

/// A change: its kind, and what there is to it.
fn tuple(py: Python<'_>, change: TableChange) -> PyResult<Bound<'_, PyAny>> {
    let text = |bytes: &[u8]| PyBytes::new(py, bytes);
    match change {
        TableChange::Set {
            key,
            value,
            expires_at_ms,
        } => ("set", text(&key), text(&value), expires_at_ms).into_bound_py_any(py),
        TableChange::Restore {
            key,
            payload,
            expires_at_ms,
        } => {
            let Ok(RdbValue::Hash(fields)) = brickyard_rdb::restore(&payload) else {
                let what = "a change has a value of a type that this library does not know; a later one does";
                return Err(failure::invalid(py, what));
            };
            let fields: Vec<_> = fields
                .iter()
                .map(|field| (text(&field.name), text(&field.value)))
                .collect();
            ("hash", text(&key), fields, expires_at_ms).into_bound_py_any(py)
        }
        TableChange::Delete { key } => ("delete", text(&key)).into_bound_py_any(py),
        TableChange::Clear { first, last, .. } => ("clear", first, last).into_bound_py_any(py),
        _ => {
            let what = "a change is of a kind that this library does not know; a later one does";
            Err(failure::invalid(py, what))
        }
    }
}
