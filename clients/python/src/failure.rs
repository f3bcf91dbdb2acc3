//! Errors of the client library as exceptions of Python's half (`brickyard/errors.py`).
//!
//! In:  an [`Error`]. Out: the exception that makes the same promise.
//!
//! Invariant: what is not known to mean "not executed" becomes `UnknownOutcome`, also if it is new to this file.

use brickyard_client::Error;
use pyo3::{prelude::*, sync::PyOnceLock, types::PyDict};

/// What Python's module of errors holds, by name.
static ERRORS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

const FORKED: &str = "this client was opened before the process was forked, and its connections are the parent's; open \
                      another one here (a pickled table does so by itself)";

/// The exception for an error, to be raised or handed out.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error {
        Error::Refused { .. } => "Refused",
        Error::Timeout { .. } => "ReadTimeout",
        Error::Unreachable { .. } => "Unreachable",
        Error::Overloaded { .. } => "Overloaded",
        Error::Protocol { .. } => "ProtocolError",
        Error::Invalid { .. } => "InvalidCall",
        Error::Closed => "ClientClosed",
        _ => "UnknownOutcome",
    };
    let text = match error {
        Error::Refused { text } => text.clone(),
        other => other.to_string(),
    };
    make(py, name, &text)
}

pub(crate) fn forked(py: Python<'_>) -> PyErr {
    make(py, "ForkedError", FORKED)
}

pub(crate) fn invalid(py: Python<'_>, text: &str) -> PyErr {
    make(py, "InvalidCall", text)
}

fn make(py: Python<'_>, name: &str, text: &str) -> PyErr {
    let errors = ERRORS.get_or_try_init(py, || {
        let module = py.import("brickyard.errors")?;
        Ok::<_, PyErr>(module.dict().unbind())
    });
    let made = errors.and_then(|errors| {
        let class = errors.bind(py).as_any().get_item(name)?;
        class.call1((text,))
    });
    // Without its own module there is at least what the module would say.
    made.map_or_else(|error| error, PyErr::from_value)
}
