//! A client as Python has it: the connections of one process to a cluster.
//!
//! In:  options, as an object with these attributes. Out: tables.

use crate::{
    engine::{Engine, Open},
    failure,
    forks::Own,
    table::Table,
    word::Word,
};
use brickyard_client::{
    Client as Inner, Error, IdentityFiles, Lard, Options, ReadPolicy, Table as InnerTable, Tls,
    TlsFiles,
};
use pyo3::prelude::*;
use std::{sync::Arc, time::Duration};

/// Attributes of `brickyard.Options`; times are in seconds.
#[derive(Debug, FromPyObject)]
struct Wishes {
    seeds: Vec<String>,
    user: Option<String>,
    password: Option<String>,
    tls_authority: Option<String>,
    tls_certificate: Option<String>,
    tls_key: Option<String>,
    deadline: f64,
    connect_timeout: f64,
    reads_from_replicas: bool,
    cache_bytes: usize,
    near: Vec<String>,
    connections_per_brick: usize,
    in_flight_max: usize,
}

/// The connections of this process to a cluster.
#[pyclass(frozen, module = "brickyard._native")]
#[derive(Debug)]
pub(crate) struct Client {
    open: Own<Box<Open<Inner>>>,
}

#[pymethods]
impl Client {
    #[new]
    fn new(py: Python<'_>, options: Wishes) -> PyResult<Self> {
        let options = options.options(py)?;
        let engine = Arc::new(Engine::start()?);
        let made = engine.wait(py, || Inner::connect(options));
        let inner = made.map_err(|error| failure::exception(py, &error))?;
        Ok(Self {
            open: Own::new(Box::new(Open { inner, engine })),
        })
    }

    /// The table of that name; without one, the user's own.
    #[pyo3(signature = (name=None))]
    fn table(&self, py: Python<'_>, name: Option<Word>) -> PyResult<Table> {
        let open = self.open.get(py)?;
        let inner = match name {
            Some(name) => open.inner.table(String::from_utf8_lossy(name.as_ref())),
            None => open.inner.home_table(),
        };
        Ok(Table::new(Open::<InnerTable> {
            inner,
            engine: Arc::clone(&open.engine),
        }))
    }

    /// Takes no more calls.
    fn close(&self) {
        if let Some(open) = self.open.peek() {
            open.inner.close();
        }
    }
}

impl Wishes {
    fn options(self, py: Python<'_>) -> PyResult<Options> {
        let seconds = |seconds: f64, name: &str| {
            Duration::try_from_secs_f64(seconds).map_err(|error| {
                failure::invalid(
                    py,
                    &format!("{name} is {seconds} s: {error}; give a positive number"),
                )
            })
        };
        let identity = match (self.tls_certificate, self.tls_key) {
            (Some(certificate), Some(key)) => Some(IdentityFiles {
                certificate: certificate.into(),
                key: key.into(),
            }),
            (None, None) => None,
            _ => {
                let what = "a certificate goes with its key: give both tls_certificate and tls_key, or neither";
                return Err(failure::invalid(py, what));
            }
        };
        let tls = match self.tls_authority {
            Some(authority) => {
                let files = TlsFiles {
                    authority: authority.into(),
                    identity,
                };
                let read = Tls::read(files);
                Some(read.map_err(|error| failure::invalid(py, &error.to_string()))?)
            }
            None => None,
        };
        if self.seeds.is_empty() {
            let error = Error::Invalid {
                reason: "a client needs the address of a node, such as \"127.0.0.1:6379\""
                    .to_owned(),
            };
            return Err(failure::exception(py, &error));
        }
        let lard = Lard::default();
        let reads = match (self.reads_from_replicas, self.near) {
            (false, _) if self.cache_bytes > 0 => ReadPolicy::Kept {
                bytes: self.cache_bytes,
            },
            (false, _) => ReadPolicy::Primary,
            (true, near) if near.is_empty() => ReadPolicy::Replicas(lard),
            (true, hosts) => ReadPolicy::Nearest { hosts, lard },
        };
        Ok(Options {
            user: self.user,
            password: self.password,
            tls,
            deadline: seconds(self.deadline, "deadline")?,
            connect_timeout: seconds(self.connect_timeout, "connect_timeout")?,
            connections_per_brick: self.connections_per_brick,
            reads,
            in_flight_max: self.in_flight_max,
            ..Options::new(self.seeds)
        })
    }
}
