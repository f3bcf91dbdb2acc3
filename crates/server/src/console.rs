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
mod commands;
mod figures;
mod files;
mod guard;
mod link;
mod nodes;
mod run;
mod sessions;
mod sign_in;

pub(crate) use files::greet;

use crate::config::{AUTO, Config};
use crate::control::{Peer, Tokens, View, partitions, status};
use crate::tls::Current;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use brickyard_tls::rustls::ServerConfig;
use brickyard_tls::{Dialer, DialerFiles, TlsError};
use nodes::Nodes;
use serde_json::{Value, json};
use sessions::{Session, Sessions};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Longest body of a request: a value that somebody types, and its key.
const BODY_BYTES_MAX: usize = 1 << 20;

/// Commands that run at a time, of all browsers. One more waits, as long as [`link::TIME_MAX`] lets those take.
const RUNNING_MAX: usize = 32;

/// How the console is served.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Clients have to show certificates, which HTTP asks for nobody's: only who has signed in runs commands.
    has_client_authority: bool,
    /// Where clients may come from without a port of their own being open to more.
    listen: IpAddr,
    /// What HTTP's connections go by.
    tls: Current<Arc<ServerConfig>>,
    /// By what this node checks others' HTTP ports.
    dialer: Option<Dialer>,
}

impl Settings {
    /// What a configuration says of it; none: there is no console.
    ///
    /// # Errors
    /// A file of certificates cannot be read.
    pub(crate) fn of(
        config: &Config,
        tls: &Current<Arc<ServerConfig>>,
    ) -> Result<Option<Self>, TlsError> {
        if !config.has_console() {
            return Ok(None);
        }
        // A node shows clients a certificate of either; between nodes of one user no file is named.
        let authorities = [&config.client_ca, &config.peer_ca];
        let mut named = authorities.into_iter();
        let authority = named.find(|path| !path.is_empty() && *path != AUTO);
        let files = authority.map(|path| DialerFiles {
            authority: PathBuf::from(path),
            identity: None,
        });
        Ok(Some(Self {
            has_client_authority: !config.client_ca.is_empty(),
            listen: config.listen.ip(),
            tls: tls.clone(),
            dialer: files.map(Dialer::read).transpose()?,
        }))
    }
}

/// See the module.
pub(crate) struct Console {
    view: Arc<View>,
    tokens: Arc<Tokens>,
    settings: Settings,
    sessions: Arc<Sessions>,
    nodes: Nodes,
    running: Semaphore,
    sign_ins: sign_in::Queue,
}

/// The console's routes.
pub(crate) fn router(view: Arc<View>, tokens: Arc<Tokens>, settings: Settings) -> Router {
    let nodes = Nodes::new(
        settings.dialer.clone(),
        !settings.tls.is_plain(),
        tokens.first().map(str::to_owned),
    );
    let console = Arc::new(Console {
        view,
        tokens,
        settings,
        sessions: Arc::default(),
        nodes,
        running: Semaphore::new(RUNNING_MAX),
        sign_ins: sign_in::Queue::default(),
    });
    let session = get(sign_in::who)
        .post(sign_in::sign_in)
        .delete(sign_in::sign_out);
    let data = Router::new()
        .route("/console/status", get(cluster_status))
        .route("/console/map/{table}", get(table_map))
        .route("/console/figures", get(own_figures))
        .route("/console/session", session)
        .route("/console/run", axum::routing::post(run::run))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn(guard::refuse_other_origins))
        .with_state(Arc::clone(&console));
    files::routes()
        .merge(data)
        .layer(from_fn_with_state(console, files::add_headers))
}

impl Console {
    /// Whose request this is.
    fn session(&self, headers: &HeaderMap) -> Option<Arc<Session>> {
        let token = guard::cookie(headers, &self.cookie_name())?;
        let is_use = !guard::only_watches(headers);
        self.sessions
            .find(token, tokio::time::Instant::now(), is_use)
    }

    /// Cookies know no ports: nodes on one machine need names of their own.
    fn cookie_name(&self) -> String {
        let opened = self.view.opened.get();
        let port = opened.and_then(|it| it.addresses.http.map(|http| http.port()));
        format!("brickyard_console_{}", port.unwrap_or(0))
    }

    /// Whether this request may see what `/status` shows.
    fn may_look(&self, headers: &HeaderMap) -> bool {
        self.tokens.allow_headers(headers) || self.session(headers).is_some()
    }

    /// Why whoever has not signed in may run no command, if so.
    fn refusal(&self, Peer(peer): Peer, headers: &HeaderMap) -> Option<&'static str> {
        let advertised = self.view.opened.get();
        let advertised = advertised.map_or("", |it| it.shared.address.host.as_str());
        guard::refusal(&guard::Stranger {
            has_token: self.tokens.allow_headers(headers),
            has_client_authority: self.settings.has_client_authority,
            listen: self.settings.listen,
            from: peer.ip(),
            host: guard::host(headers),
            advertised,
            is_tls: !self.settings.tls.is_plain(),
        })
    }
}

/// An answer that says why not.
fn refuse(status: StatusCode, why: &str) -> Response {
    (status, Json(json!({ "error": why }))).into_response()
}

fn sign_in_first() -> Response {
    refuse(
        StatusCode::UNAUTHORIZED,
        "sign in, or send one of http_tokens",
    )
}

async fn cluster_status(State(console): State<Arc<Console>>, headers: HeaderMap) -> Response {
    if !console.may_look(&headers) {
        return sign_in_first();
    }
    let nodes = console.nodes.look(&console.view).await;
    let answer = json!({ "status": status(&console.view), "nodes": *nodes });
    Json(answer).into_response()
}

async fn own_figures(
    State(console): State<Arc<Console>>,
    ConnectInfo(_): ConnectInfo<Peer>,
    headers: HeaderMap,
) -> Response {
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
