//! Tokens that HTTP asks for.
//!
//! In:  a file with one on each line, read again when it changes. Out: whether a request has one of them.
//!
//! Invariants:
//! - A request goes by the tokens that were read last, on whatever connection it comes.
//! - How long a comparison takes does not depend on what a token is, but on its length alone.

use crate::reload::{Current, Sources};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use subtle::{Choice, ConstantTimeEq as _};

/// Shortest token: what can be guessed is none.
const TOKEN_BYTES_MIN: usize = 16;

/// How a token is sent (RFC 6750).
const SCHEME: &str = "Bearer";

/// Those that let somebody in.
pub(crate) struct Tokens(Vec<String>);

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tokens({})", self.0.len())
    }
}

/// Why there are none.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// The file cannot be read.
    #[error("cannot read http_tokens = {}: {source}; give a file with a token on each line", .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file has none that can be used.
    #[error("http_tokens = {}: {why}; put a token of 16 bytes or more on each line, such as `openssl rand -hex 24` prints", .path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl Tokens {
    /// Reads the file, and has it read again when it changes. Where none is named nobody is asked for a token.
    ///
    /// # Errors
    /// [`TokensError`]: the file has none.
    pub(crate) fn watch(
        path: &str,
        sources: &mut Sources,
    ) -> Result<Current<Arc<Self>>, TokensError> {
        if path.is_empty() {
            return Ok(Current::new(None));
        }
        let path = PathBuf::from(path);
        let paths = vec![path.clone()];
        let read = move || Self::read(&path).map(Arc::new);
        let tokens = sources.watch("HTTP goes by the tokens", paths, read)?;
        Ok(Current::new(Some(tokens)))
    }

    fn read(path: &Path) -> Result<Self, TokensError> {
        let text = std::fs::read_to_string(path).map_err(|source| TokensError::Read {
            path: path.to_owned(),
            source,
        })?;
        let content = |why: String| TokensError::Content {
            path: path.to_owned(),
            why,
        };
        let lines = text.lines().map(str::trim).enumerate();
        let tokens: Vec<(usize, &str)> = lines.filter(|(_, line)| !line.is_empty()).collect();
        for &(number, token) in &tokens {
            if let Some(why) = fault(token) {
                return Err(content(format!("line {} {why}", number + 1)));
            }
        }
        if tokens.is_empty() {
            return Err(content("it is empty".to_owned()));
        }
        let tokens = tokens.into_iter().map(|(_, token)| token.to_owned());
        Ok(Self(tokens.collect()))
    }

    /// Whether a request with this header may be answered.
    fn allow(&self, authorization: Option<&str>) -> bool {
        let given = authorization.and_then(|it| it.split_once(' '));
        let given = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(SCHEME));
        let given = given.map_or("", |(_, token)| token.trim()).as_bytes();
        let is_any = self.0.iter().fold(Choice::from(0), |is_any, token| {
            is_any | token.as_bytes().ct_eq(given)
        });
        bool::from(is_any)
    }
}

impl Current<Arc<Tokens>> {
    /// One that other nodes of the cluster, which have the same file, let in; `None`: nobody is asked for one.
    pub(crate) fn first(&self) -> Option<String> {
        self.now().and_then(|tokens| tokens.0.first().cloned())
    }

    /// Whether a request with these headers may be answered.
    pub(crate) fn allow_headers(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(header::AUTHORIZATION);
        let given = given.and_then(|it| it.to_str().ok());
        self.now().is_none_or(|tokens| tokens.allow(given))
    }
}

/// Why a line can be no token.
fn fault(token: &str) -> Option<&'static str> {
    if token.len() < TOKEN_BYTES_MIN {
        return Some("is too short");
    }
    let can_be_sent = token.bytes().all(|byte| byte.is_ascii_graphic());
    (!can_be_sent).then_some("has a byte that cannot be sent in a header")
}

/// Answers who has a token, and tells nobody else even which paths there are.
pub(crate) async fn require(
    State(tokens): State<Current<Arc<Tokens>>>,
    request: Request,
    next: Next,
) -> Response {
    if tokens.allow_headers(request.headers()) {
        return next.run(request).await;
    }
    let ask = [(header::WWW_AUTHENTICATE, "Bearer")];
    let text = "a token is needed: Authorization: Bearer TOKEN\n";
    (StatusCode::UNAUTHORIZED, ask, text).into_response()
}

#[cfg(test)]
#[path = "tokens_test.rs"]
mod tokens_test;
