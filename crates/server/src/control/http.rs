//! Health, metrics and status over HTTP.
//!
//! | Path | Answer |
//! |---|---|
//! | `/livez` | 200 as long as the control thread runs |
//! | `/readyz` | 200 while requests are served; 503 while starting or stopping |
//! | `/health` | the same as JSON, with the bricks' state |
//! | `/metrics` | text for Prometheus |
//! | `/status` | JSON: version, addresses, the cluster's nodes and leader, tables, partitions, bricks |
//!
//! | `/console/` | a page for browsers ([`crate::console`]) |
//!
//! With `http_tokens` all but the first two and the console's page ask for a token: probes have none, and learn nothing else.
//!
//! Everything here is answered from atomics and copies: no request waits for a brick but the console's commands.

use super::metrics;
use super::status::{self, Phase, View};
use super::tokens::{Tokens, require};
use crate::console;
use crate::reload::Current;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;

/// The media type of metrics.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The routes over what the node shows of itself.
pub(crate) fn router(
    view: Arc<View>,
    tokens: Current<Arc<Tokens>>,
    console: Option<console::Settings>,
) -> Router {
    let console =
        console.map(|settings| console::router(Arc::clone(&view), tokens.clone(), settings));
    let guarded = Router::new()
        .route("/", get(index))
        .route("/health", get(health))
        .route("/metrics", get(metrics_text))
        .route("/status", get(status_json))
        .fallback(async || StatusCode::NOT_FOUND)
        .layer(from_fn_with_state(tokens, require));
    let open = Router::new()
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .merge(guarded)
        .with_state(view);
    match console {
        Some(console) => open.merge(console).layer(from_fn(console::greet)),
        None => open,
    }
}

async fn index() -> &'static str {
    "brickyard\n/livez /readyz /health /metrics /status\n"
}

async fn ready(State(view): State<Arc<View>>) -> Response {
    let phase = view.phase();
    let waits_for = view.cluster_view.borrow().waits_for();
    let waits_for = waits_for.filter(|_| matches!(phase, Phase::Starting | Phase::Waiting));
    let why = waits_for.map_or_else(String::new, |what| format!(": waits for {what}"));
    (status_of(phase), format!("{}{why}\n", phase.word())).into_response()
}

async fn health(State(view): State<Arc<View>>) -> Response {
    let phase = view.phase();
    (status_of(phase), axum::Json(status::health(&view))).into_response()
}

async fn metrics_text(State(view): State<Arc<View>>) -> Response {
    match metrics::text(&view) {
        Ok(text) => ([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response(),
        Err(error) => {
            let text = format!("the metrics cannot be written: {error}\n");
            (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
        }
    }
}

async fn status_json(State(view): State<Arc<View>>) -> Response {
    axum::Json(status::status(&view)).into_response()
}

fn status_of(phase: Phase) -> StatusCode {
    match phase {
        Phase::Ready => StatusCode::OK,
        Phase::Starting | Phase::Waiting | Phase::Stopping => StatusCode::SERVICE_UNAVAILABLE,
    }
}
