//! Words of commands, as Python has them.
//!
//! In:  `bytes`, `str`, or what else has bytes. Out: bytes without the interpreter.
//!
//! Invariant: text goes as UTF-8, and what could not be read as UTF-8 goes back as it came (`surrogateescape`).

use brickyard_client::slot_of;
use pyo3::{
    Borrowed,
    exceptions::PyTypeError,
    intern,
    prelude::*,
    pybacked::{PyBackedBytes, PyBackedStr},
    types::{PyByteArray, PyBytes, PyMemoryView, PyString},
};

/// A word of a command.
#[derive(Debug)]
pub(crate) enum Word {
    Bytes(PyBackedBytes),
    Text(PyBackedStr),
}

impl AsRef<[u8]> for Word {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Word {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.to_owned().into()));
        }
        if object.is_instance_of::<PyString>() {
            if let Ok(text) = object.extract::<PyBackedStr>() {
                return Ok(Self::Text(text));
            }
            let encoded = object.call_method1(
                intern!(py, "encode"),
                (intern!(py, "utf-8"), intern!(py, "surrogateescape")),
            )?;
            return Ok(Self::Bytes(encoded.cast_into::<PyBytes>()?.into()));
        }
        if object.is_instance_of::<PyByteArray>() || PyMemoryView::from(&object).is_ok() {
            let bytes = PyMemoryView::from(&object)?.call_method0(intern!(py, "tobytes"))?;
            return Ok(Self::Bytes(bytes.cast_into::<PyBytes>()?.into()));
        }
        Err(PyTypeError::new_err(format!(
            "expected bytes or str, got {}; a codec turns other values into bytes (values=\"json\")",
            object.get_type().name()?
        )))
    }
}

/// The slot of a key, 0 to 16383.
#[pyfunction]
pub(crate) fn slot(key: Word) -> u16 {
    slot_of(key.as_ref())
}
