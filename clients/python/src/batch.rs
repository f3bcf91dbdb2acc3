//! Calls that were sent, and are waited for later.
//!
//! In:  calls under way. Out: their outcomes, as often as they are asked for.

use crate::{
    engine::{Engine, Open},
    forks::Own,
    reply,
};
use brickyard_client::{Error, Value};
use pyo3::{prelude::*, types::PyList};
use std::{
    future::Future,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};
use tokio::sync::oneshot;

type Outcomes = Vec<Result<Value, Error>>;

/// Where the outcomes come in; nothing once somebody waits there.
type Awaited = Mutex<Option<oneshot::Receiver<Outcomes>>>;

/// Several calls that were made together.
#[pyclass(frozen, module = "brickyard._native")]
#[derive(Debug)]
pub(crate) struct Batch {
    open: Own<Box<Open<Awaited>>>,
    told: OnceLock<Py<PyList>>,
}

impl Batch {
    /// Sees to calls until they are over.
    pub(crate) fn start(
        engine: &Arc<Engine>,
        calls: impl Future<Output = Outcomes> + Send + 'static,
    ) -> Self {
        let (sender, receiver) = oneshot::channel();
        engine.spawn(async move {
            // Nobody may want to know any more.
            let _ = sender.send(calls.await);
        });
        Self {
            open: Own::new(Box::new(Open {
                inner: Mutex::new(Some(receiver)),
                engine: Arc::clone(engine),
            })),
            told: OnceLock::new(),
        }
    }
}

#[pymethods]
impl Batch {
    /// Waits for all of them: the outcome of each, errors as exception objects.
    fn wait<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let open = self.open.get(py)?;
        if let Some(told) = self.told.get() {
            return Ok(told.bind(py).clone());
        }
        // A second thread that waits does so for the first one.
        let outcomes = open.engine.wait(py, || async {
            let receiver = open
                .inner
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            match receiver {
                Some(receiver) => receiver.await.ok(),
                None => None,
            }
        });
        let Some(outcomes) = outcomes else {
            let told = self.told.get().map(|told| told.bind(py).clone());
            return told.ok_or_else(|| {
                crate::failure::invalid(
                    py,
                    "another thread waits for these calls; let one of them do so",
                )
            });
        };
        let list = reply::outcomes(py, outcomes)?;
        let told = self.told.get_or_init(|| list.unbind());
        Ok(told.bind(py).clone())
    }

    /// Whether all of them are over, so that `wait` does not wait.
    fn is_done(&self, py: Python<'_>) -> PyResult<bool> {
        let open = self.open.get(py)?;
        let receiver = open.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let is_told = self.told.get().is_some();
        Ok(is_told || receiver.as_ref().is_some_and(|it| !it.is_empty()))
    }
}
