//! The console: a page at HTTP's port that shows the cluster to browsers, and lets who signs in work on keys.
//!
//! In:  HTTP requests. Out: the page's files, what nodes count, replies to commands.
//!
//! | Path | Answer | To whom |
//! |---|---|---|
//! | `/console/`, its files | the page, which is in the program | everybody |
//! | `/console/status` | this node's status, and what every node counts | as `/status`, or who has signed in |
//! | `/console/map/NAME` | who holds each partition | the same |
//! | `/console/figures` | what this node counts, for the other nodes | as `/status` |
//! | `/console/session` | GET: who has signed in; POST: signs in; DELETE: signs out | everybody |
//! | `/console/backups` | GET: how the last backup that was begun here goes; POST: begins one | as `/status`; who has signed in |
//! | `/console/run` | POST: runs a command, answers with its reply | who has signed in; a few reads: see [`guard`] |
//!
//! ```text
//!  browser ── HTTP ──▶ guard ──▶ run ──▶ link ── a pair of sockets ──▶ a brick's loop, as any client's
//!                        │        ▲
//!                        └─ sessions: a link each that has signed in
//! ```
//! Invariants:
//! - A command goes the way of any client's: what its user may do, limits, what is told of administrators and the bounds of clients
//!   hold without a second implementation.
//! - A password is nowhere kept: what a session has is a connection that has signed in, and it ends with that.
//! - No page of another origin can have anything done ([`guard`]).
//!
//! Not here: what the page shows (`page/`), what HTTP says to programs (`control/http.rs`).

mod answer;
mod back_up;
mod backups;
mod commands;
mod figures;
mod files;
mod guard;
mod link;
mod nodes;
mod queue;
mod run;
mod sessions;
mod sign_in;
mod state;

pub(crate) use files::greet;
pub(crate) use state::Settings;

use crate::control::status::{View, status};
use crate::control::{partitions, tokens::Tokens};
use crate::reload::Current;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use state::{Console, refuse, sign_in_first};
use std::sync::Arc;

/// Longest body of a request: a value that somebody types, and its key.
const BODY_BYTES_MAX: usize = 1 << 20;

/// The console's routes.
pub(crate) fn router(view: Arc<View>, tokens: Current<Arc<Tokens>>, settings: Settings) -> Router {
    let console = Arc::new(Console::new(view, tokens, settings));
    let session = get(sign_in::who)
        .post(sign_in::sign_in)
        .delete(sign_in::sign_out);
    let data = Router::new()
        .route("/console/status", get(cluster_status))
        .route("/console/map/{table}", get(table_map))
        .route("/console/figures", get(own_figures))
        .route("/console/session", session)
        .route("/console/backups", get(back_up::look).post(back_up::begin))
        .route("/console/run", axum::routing::post(run::run))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn(guard::refuse_other_origins))
        .with_state(Arc::clone(&console));
    files::routes()
        .merge(data)
        .layer(from_fn_with_state(console, files::add_headers))
}

async fn cluster_status(State(console): State<Arc<Console>>, headers: HeaderMap) -> Response {
    if !console.may_look(&headers) {
        return sign_in_first();
    }
    let nodes = console.nodes.look(&console.view).await;
    let answer = json!({ "status": status(&console.view), "nodes": *nodes });
    Json(answer).into_response()
}

async fn own_figures(State(console): State<Arc<Console>>, headers: HeaderMap) -> Response {
    if !console.may_look(&headers) {
        return sign_in_first();
    }
    Json(figures::figures(&console.view)).into_response()
}

async fn table_map(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Response {
    if !console.may_look(&headers) {
        return sign_in_first();
    }
    let catalog = console
        .view
        .opened
        .get()
        .map(|it| it.catalog.borrow().clone());
    let map: Option<Value> = catalog.and_then(|catalog| {
        let mut tables = catalog.tables();
        tables.find(|it| it.name == name).map(partitions::map)
    });
    match map {
        Some(map) => Json(json!({ "table": name, "partitions": map })).into_response(),
        None => refuse(StatusCode::NOT_FOUND, "there is no such table"),
    }
}
