//! A walk over keys, page by page.

use crate::{engine::Open, failure, forks::Own, reply};
use brickyard_client::Scan as Inner;
use pyo3::{prelude::*, types::PyList};
use tokio::sync::Mutex;

/// A walk over keys.
#[pyclass(frozen, module = "brickyard._native")]
#[derive(Debug)]
pub(crate) struct Scan {
    open: Own<Box<Open<Mutex<Inner>>>>,
}

impl Scan {
    pub(crate) fn new(open: Open<Mutex<Inner>>) -> Self {
        Self {
            open: Own::new(Box::new(open)),
        }
    }
}

#[pymethods]
impl Scan {
    /// The next keys, which may be none; `None` after the last.
    fn next_page<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let open = self.open.get(py)?;
        let page = open
            .engine
            .wait(py, || async { open.inner.lock().await.next_page().await });
        let page = page.map_err(|error| failure::exception(py, &error))?;
        let list = page.map(|keys| {
            let list = PyList::empty(py);
            for key in &keys {
                list.append(reply::bytes(py, Some(key)))?;
            }
            Ok::<_, PyErr>(list)
        });
        list.transpose()
    }
}
