//! `/console/run`: one command, as a client of the node port would send it.
//!
//! In:  `{"command": ["GETRANGE", "key", "0", "99"], "table": "orders", "brick": 0}`; table and brick may be left out; a word that is
//! no text is `{"base64": ...}`. Out: `{"reply": ...}`, which may be `{"error": ...}`.

use super::answer;
use super::commands::{Purpose, purpose};
use super::link::Link;
use super::state::{Console, refuse};
use crate::control::http_listener::Peer;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brickyard_wire::Value;
use serde::Deserialize;
use serde_json::json;
use std::io;
use std::sync::Arc;

/// What a browser wants done.
#[derive(Debug, Deserialize)]
struct Order {
    command: Vec<Word>,
    table: Option<String>,
    #[serde(default)]
    brick: usize,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Word {
    Text(String),
    Bytes { base64: String },
}

impl Word {
    fn bytes(self) -> Result<Vec<u8>, String> {
        match self {
            Self::Text(text) => Ok(text.into_bytes()),
            Self::Bytes { base64 } => STANDARD.decode(base64).map_err(|error| error.to_string()),
        }
    }
}

/// See the module.
pub(super) async fn run(
    State(console): State<Arc<Console>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let order: Order = match serde_json::from_slice(&body) {
        Ok(order) => order,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &format!("not a command: {error}")),
    };
    let words = order.command.into_iter().map(Word::bytes);
    let words: Vec<Vec<u8>> = match words.collect() {
        Ok(words) => words,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &format!("not base64: {error}")),
    };
    let session = console.session(&headers);
    match purpose(&words) {
        None => {
            let why = "the console does not send that command; use a client";
            return refuse(StatusCode::FORBIDDEN, why);
        }
        Some(Purpose::Change) if session.is_none() => {
            let why = "sign in: only reads are for everybody";
            return refuse(StatusCode::UNAUTHORIZED, why);
        }
        Some(Purpose::Look | Purpose::Change) => {}
    }
    if session.is_none()
        && let Some(why) = console.refusal(peer, &headers)
    {
        return refuse(StatusCode::UNAUTHORIZED, why);
    }
    let Ok(_running) = console.running.acquire().await else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "the node stops");
    };
    match session {
        Some(session) => {
            let token = session.token().to_owned();
            let (brick, table) = (order.brick, order.table);
            let called = Arc::clone(&session);
            // A browser that goes away in the middle of a command must not take its session along.
            let called =
                tokio::spawn(async move { called.call(brick, table.as_deref(), &words).await });
            match called
                .await
                .unwrap_or_else(|error| Err(io::Error::other(error)))
            {
                Ok(reply) => shown(&reply),
                Err(error) => {
                    if session.has_ended() {
                        console.sessions.remove(&token);
                    }
                    failed(&error)
                }
            }
        }
        None => match Link::enter(&console.view, order.brick, peer.0) {
            Ok(mut link) => match link.call_on(order.table.as_deref(), &words).await {
                Ok(reply) => shown(&reply),
                Err(error) => failed(&error),
            },
            Err(error) => failed(&error),
        },
    }
}

fn shown(reply: &Value) -> Response {
    Json(json!({ "reply": answer::json(reply) })).into_response()
}

fn failed(error: &io::Error) -> Response {
    let why = match error.kind() {
        io::ErrorKind::NotConnected => "the node is not open for clients yet".to_owned(),
        io::ErrorKind::NotFound => {
            "there is no such brick, or this session has no connection to it".to_owned()
        }
        io::ErrorKind::TimedOut => {
            "the brick has not answered in time: what became of the command is unknown".to_owned()
        }
        io::ErrorKind::UnexpectedEof => {
            "the brick has ended the connection: sign in again".to_owned()
        }
        _ => format!("the brick's reply could not be had: {error}"),
    };
    refuse(StatusCode::BAD_GATEWAY, &why)
}
