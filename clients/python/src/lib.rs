//! The native half of the Python library: the client library behind PyO3, as `brickyard._native`.
//!
//! In:  calls from `python/brickyard`, as words of commands. Out: replies as Python's objects, errors as its exceptions.
//!
//! Reading order: `client`, `table` (what Python sees), `batch` and `mailbox` (calls that are not waited for at once), `engine` (who
//! moves the bytes), `word`, `reply`, `failure` (from Python's objects and back).
//!
//! Invariants:
//! - Who waits holds no lock of the interpreter, and nothing here takes that lock by itself: the connections never wait for Python.
//! - A process that was forked leaves its parent's connections alone.
//!
//! Not here: mappings, codecs, locks, partitions (`python/brickyard`); where a call goes and when it is sent again (`brickyard_client`).

mod batch;
mod client;
mod engine;
mod failure;
mod forks;
mod mailbox;
mod reply;
mod scan;
mod table;
mod watch;
mod word;

use pyo3::prelude::*;

/// See the crate.
#[pymodule(name = "_native", gil_used = false)]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<client::Client>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<scan::Scan>()?;
    module.add_class::<watch::Watch>()?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<mailbox::Mailbox>()?;
    module.add_function(wrap_pyfunction!(forks::after_fork, module)?)?;
    module.add_function(wrap_pyfunction!(word::slot, module)?)?;
    Ok(())
}
