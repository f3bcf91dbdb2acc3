//! `/console/backups`: whoever has signed in begins a backup, and sees how it goes.
//!
//! In:  `{"table": "orders"}`. Out: what [`Backups`](super::backups::Backups) says.
//!
//! Invariant: only who may export the table begins one. A brick is asked as that user, which the log of administration tells of.

use super::state::{Console, refuse, sign_in_first};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use std::sync::Arc;

#[derive(Deserialize)]
struct Order {
    table: String,
}

/// Says whether backups can be begun, and how the last one goes.
pub(super) async fn look(State(console): State<Arc<Console>>, headers: HeaderMap) -> Response {
    let has_signed_in = console.session(&headers).is_some();
    if !has_signed_in && !console.may_look(&headers) {
        return sign_in_first();
    }
    Json(console.backups.shown(has_signed_in)).into_response()
}

/// Begins one.
pub(super) async fn begin(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Ok(Order { table }) = serde_json::from_slice(&body) else {
        return refuse(StatusCode::BAD_REQUEST, "a table is needed");
    };
    let Some(session) = console.session(&headers) else {
        return refuse(StatusCode::UNAUTHORIZED, "sign in first");
    };
    let export = ["TABLE", "EXPORT", &table];
    let export: Vec<Vec<u8>> = export.map(|it| it.as_bytes().to_vec()).into();
    match session.call(0, None, &export).await {
        Ok(brickyard_wire::Value::Error(line)) => {
            return refuse(StatusCode::FORBIDDEN, &String::from_utf8_lossy(&line));
        }
        Ok(_) => {}
        Err(error) => {
            let why = format!("the brick does not answer: {error}; sign in again");
            return refuse(StatusCode::BAD_GATEWAY, &why);
        }
    }
    let Some(opened) = console.view.opened.get() else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "the node is not open yet");
    };
    let host = &opened.shared.address.host;
    let port = opened.addresses.node.port();
    let address = match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    };
    match console.backups.begin(&address, &table, session.user()) {
        Ok(()) => Json(console.backups.shown(true)).into_response(),
        Err((status, why)) => refuse(status, &why),
    }
}
