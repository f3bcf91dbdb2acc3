//! Replies as Python's objects.
//!
//! In:  a [`Value`], or the [`Error`] that came instead. Out: `None`, `bytes`, `str` (status lines), `int`, `float`, `bool`, `list`,
//! `dict`; an error inside of a reply is an exception object, which is not raised.

use crate::failure;
use brickyard_client::{Error, Value};
use pyo3::{
    IntoPyObjectExt,
    prelude::*,
    types::{PyBytes, PyDict, PyInt, PyList},
};

/// A call's result as Python's object.
///
/// # Errors
/// The exception that stands for the error.
pub(crate) fn result<'py>(
    py: Python<'py>,
    outcome: Result<Value, Error>,
) -> PyResult<Bound<'py, PyAny>> {
    match outcome {
        Ok(value) => object(py, value),
        Err(error) => Err(failure::exception(py, &error)),
    }
}

/// A call's result as Python's object; an error as an exception object.
pub(crate) fn outcome<'py>(
    py: Python<'py>,
    outcome: Result<Value, Error>,
) -> PyResult<Bound<'py, PyAny>> {
    match outcome {
        Ok(value) => object(py, value),
        Err(error) => Ok(failure::exception(py, &error)
            .into_value(py)
            .into_bound(py)
            .into_any()),
    }
}

/// Bytes, or `None`.
pub(crate) fn bytes<'py>(py: Python<'py>, bytes: Option<&[u8]>) -> Option<Bound<'py, PyBytes>> {
    bytes.map(|bytes| PyBytes::new(py, bytes))
}

fn object(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Simple(line) => String::from_utf8_lossy(&line).into_bound_py_any(py)?,
        Value::Error(line) => {
            let text = String::from_utf8_lossy(&line).into_owned();
            let refused = failure::exception(py, &Error::Refused { text });
            refused.into_value(py).into_bound(py).into_any()
        }
        Value::Integer(number) => number.into_bound_py_any(py)?,
        Value::Bulk(bytes) | Value::Verbatim { bytes, .. } => PyBytes::new(py, &bytes).into_any(),
        Value::Array(elements) | Value::Set(elements) | Value::Push(elements) => {
            list(py, elements)?.into_any()
        }
        Value::Map(pairs) => {
            let dict = PyDict::new(py);
            for (key, value) in pairs {
                dict.set_item(object(py, key)?, object(py, value)?)?;
            }
            dict.into_any()
        }
        Value::Double(number) => number.into_bound_py_any(py)?,
        Value::Boolean(truth) => truth.into_bound_py_any(py)?,
        Value::BigNumber(digits) => {
            let digits = String::from_utf8_lossy(&digits).into_owned();
            py.get_type::<PyInt>().call1((digits,))?
        }
    })
}

fn list(py: Python<'_>, elements: Vec<Value>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for element in elements {
        list.append(object(py, element)?)?;
    }
    Ok(list)
}

/// Outcomes in their order, errors as exception objects.
pub(crate) fn outcomes(
    py: Python<'_>,
    all: Vec<Result<Value, Error>>,
) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for one in all {
        list.append(outcome(py, one)?)?;
    }
    Ok(list)
}
