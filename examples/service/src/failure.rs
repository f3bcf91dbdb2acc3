//! Why a request was not answered as it was meant, as an answer in HTTP.
//!
//! | Status | What became of it |
//! |---|---|
//! | 4xx | it was looked at and refused; nothing changed |
//! | 503 | nothing changed; the same request may be sent again |
//! | 504 | it may have been done, or may still be; look before sending it again |
//!
//! Source: docs/wire.md, "What an error promises".

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use brickyard_client::Error;
use std::fmt;

/// See the module.
#[derive(Debug)]
pub enum Failure {
    /// The table did not do it, or did not say whether it has.
    Table(Error),
    /// The request itself is refused: with this status, for this reason.
    Refused(StatusCode, String),
}

impl Failure {
    /// A refusal of what was asked.
    pub fn refused(status: StatusCode, why: impl Into<String>) -> Self {
        Self::Refused(status, why.into())
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Refused(status, _) => *status,
            Self::Table(Error::Invalid { .. }) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Table(error) if error.is_not_executed() => StatusCode::SERVICE_UNAVAILABLE,
            Self::Table(_) => StatusCode::GATEWAY_TIMEOUT,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Table(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(_, why) => f.write_str(why),
            Self::Table(error) if error.is_not_executed() => {
                write!(f, "nothing was changed; try again: {error}")
            }
            Self::Table(error) => write!(f, "look before you try again: {error}"),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut response = (status, format!("{self}\n")).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        response
    }
}

/// The error of a change that takes several calls, some of which may have been executed when another failed.
#[must_use]
pub fn unknown(error: Error) -> Error {
    match error {
        Error::UnknownOutcome { .. } => error,
        other => Error::UnknownOutcome {
            reason: format!("a part of it may have been done: {other}"),
        },
    }
}

#[cfg(test)]
#[path = "failure_test.rs"]
mod failure_test;
