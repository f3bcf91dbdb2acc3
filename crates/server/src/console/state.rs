//! What all of the console's answers rest on: the node's view, who has signed in, whom it answers.
//!
//! In:  a configuration, requests' headers. Out: whose request one is, why it may not be answered.

use super::backups::Backups;
use super::guard;
use super::nodes::Nodes;
use super::queue::Queue;
use super::sessions::{Session, Sessions};
use crate::config::{AUTO, Config};
use crate::control::http_listener::Peer;
use crate::control::status::View;
use crate::control::tokens::Tokens;
use crate::reload::Current;
use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use brickyard_tls::rustls::ServerConfig;
use brickyard_tls::{Dialer, DialerFiles, TlsError};
use serde_json::json;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Commands that run at a time, of all browsers. One more waits, as long as [`super::link::TIME_MAX`] lets those take.
const RUNNING_MAX: usize = 32;

/// How the console is served.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Clients have to show certificates, which HTTP asks for nobody's: only who has signed in runs commands.
    pub(super) has_client_authority: bool,
    /// Where clients may come from without a port of their own being open to more.
    listen: IpAddr,
    /// What HTTP's connections go by.
    pub(super) tls: Current<Arc<ServerConfig>>,
    /// By what this node checks others' HTTP ports.
    dialer: Option<Dialer>,
    /// How the operator makes backups.
    backup: String,
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
            backup: config.console_backup.clone(),
        }))
    }
}

/// See the module.
pub(super) struct Console {
    pub(super) view: Arc<View>,
    pub(super) tokens: Current<Arc<Tokens>>,
    pub(super) settings: Settings,
    pub(super) sessions: Arc<Sessions>,
    pub(super) nodes: Nodes,
    pub(super) backups: Arc<Backups>,
    pub(super) running: Semaphore,
    pub(super) sign_ins: Queue,
}

impl Console {
    /// Nobody has signed in yet.
    pub(super) fn new(view: Arc<View>, tokens: Current<Arc<Tokens>>, settings: Settings) -> Self {
        let nodes = Nodes::new(
            settings.dialer.clone(),
            !settings.tls.is_plain(),
            tokens.clone(),
        );
        Self {
            view,
            tokens,
            backups: Arc::new(Backups::new(&settings.backup)),
            settings,
            sessions: Arc::default(),
            nodes,
            running: Semaphore::new(RUNNING_MAX),
            sign_ins: Queue::default(),
        }
    }

    /// Whose request this is.
    pub(super) fn session(&self, headers: &HeaderMap) -> Option<Arc<Session>> {
        let token = guard::cookie(headers, &self.cookie_name())?;
        let is_use = !guard::only_watches(headers);
        self.sessions
            .find(token, tokio::time::Instant::now(), is_use)
    }

    /// Cookies know no ports: nodes on one machine need names of their own.
    pub(super) fn cookie_name(&self) -> String {
        let opened = self.view.opened.get();
        let port = opened.and_then(|it| it.addresses.http.map(|http| http.port()));
        format!("brickyard_console_{}", port.unwrap_or(0))
    }

    /// Whether this request may see what `/status` shows.
    pub(super) fn may_look(&self, headers: &HeaderMap) -> bool {
        self.tokens.allow_headers(headers) || self.session(headers).is_some()
    }

    /// Why whoever has not signed in may run no command, if so.
    pub(super) fn refusal(&self, Peer(peer): Peer, headers: &HeaderMap) -> Option<&'static str> {
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
pub(super) fn refuse(status: StatusCode, why: &str) -> Response {
    (status, Json(json!({ "error": why }))).into_response()
}

/// The answer to whoever may not look.
pub(super) fn sign_in_first() -> Response {
    refuse(
        StatusCode::UNAUTHORIZED,
        "sign in, or send one of http_tokens",
    )
}
