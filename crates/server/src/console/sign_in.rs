//! `/console/session`: signing in and out.
//!
//! In:  `{"user": ..., "password": ...}`. Out: a cookie, which no script can read; who has signed in.
//!
//! The password goes to a brick in `AUTH`, as a client's does: by the same bounds, the same cost for users that there are not, told of
//! in the same words. Guesses by HTTP are slower than by the node port: few at a time, and a wrong one is answered late.

use super::link::Link;
use super::sessions::Session;
use super::state::{Console, refuse};
use crate::control::http_listener::Peer;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use brickyard_wire::Value;
use serde::Deserialize;
use serde_json::json;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How long others wait while as many sign in as may at a time.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// How late a wrong password is answered, its place taken meanwhile: eight guesses a second of everybody together.
const WRONG_AFTER: Duration = Duration::from_millis(500);

/// Bricks to which a session has connections: each counts for `maxclients` and for its user's limit. The slow log of others is
/// not shown.
const BRICKS_MAX: usize = 16;

/// How often those are looked for that nobody uses.
const LOOK_EVERY: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
struct Credentials {
    #[serde(default)]
    user: String,
    password: String,
}

/// Who has signed in, and whether others may look.
pub(super) async fn who(
    State(console): State<Arc<Console>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
) -> Response {
    let session = console.session(&headers);
    let answer = json!({
        "user": session.as_ref().map(|it| it.user()),
        "may_look": console.may_look(&headers),
        "refusal": console.refusal(peer, &headers),
    });
    Json(answer).into_response()
}

/// Ends the session.
pub(super) async fn sign_out(State(console): State<Arc<Console>>, headers: HeaderMap) -> Response {
    if let Some(session) = console.session(&headers) {
        console.sessions.remove(session.token());
    }
    let gone = cookie(&console, "", "; Max-Age=0");
    ([(header::SET_COOKIE, gone)], Json(json!({ "user": null }))).into_response()
}

/// See the module.
pub(super) async fn sign_in(
    State(console): State<Arc<Console>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Ok(Credentials { user, password }) = serde_json::from_slice(&body) else {
        return refuse(StatusCode::BAD_REQUEST, "a user and a password are needed");
    };
    let user = match user.as_str() {
        "" => "default".to_owned(),
        _ => user,
    };
    let place = timeout(WAIT_MAX, console.sign_ins.places.acquire()).await;
    let Ok(Ok(_place)) = place else {
        let why = "too many people sign in at this moment; try again";
        return refuse(StatusCode::TOO_MANY_REQUESTS, why);
    };
    let links = match connect(&console, peer, &user, &password).await {
        Ok(Ok(links)) => links,
        Ok(Err(refusal)) => {
            sleep(WRONG_AFTER).await;
            return refuse(StatusCode::UNAUTHORIZED, &refusal);
        }
        Err(error) => {
            let why = format!("the brick does not answer: {error}");
            return refuse(StatusCode::BAD_GATEWAY, &why);
        }
    };
    let now = Instant::now();
    let session = match Session::new(user, links, now) {
        Ok(session) => Arc::new(session),
        Err(error) => {
            let why = format!("there is no randomness: {error}");
            return refuse(StatusCode::INTERNAL_SERVER_ERROR, &why);
        }
    };
    // Whoever signs in again leaves the session of before.
    if let Some(before) = console.session(&headers) {
        console.sessions.remove(before.token());
    }
    console.sessions.add(Arc::clone(&session), now);
    look_after(&console);
    let cookie = cookie(&console, session.token(), "");
    let answer = json!({ "user": session.user() });
    ([(header::SET_COOKIE, cookie)], Json(answer)).into_response()
}

/// Connections that have signed in, by brick; or what the first brick said.
async fn connect(
    console: &Console,
    Peer(peer): Peer,
    user: &str,
    password: &str,
) -> io::Result<Result<Vec<Option<Link>>, String>> {
    let auth = ["AUTH", user, password];
    let mut first = Link::enter(&console.view, 0, peer)?;
    if let Value::Error(line) = first.call_on(None, &auth).await? {
        return Ok(Err(String::from_utf8_lossy(&line).into_owned()));
    }
    // So that CLIENT LIST says what it is. A user may not be allowed to.
    first
        .call_on(None, &["CLIENT", "SETNAME", "console"])
        .await?;
    let bricks = console.view.opened.get();
    let bricks = bricks.map_or(1, |it| it.shared.stats.len()).min(BRICKS_MAX);
    let mut links = vec![Some(first)];
    for brick in 1..bricks {
        links.push(further(console, brick, peer, &auth).await);
    }
    Ok(Ok(links))
}

/// A connection to another brick, for its slow log. Where the user has no place for it there is none.
async fn further(
    console: &Console,
    brick: usize,
    peer: std::net::SocketAddr,
    auth: &[&str],
) -> Option<Link> {
    let mut link = Link::enter(&console.view, brick, peer).ok()?;
    let reply = link.call_on(None, auth).await.ok()?;
    reply.error().is_none().then_some(link)
}

fn cookie(console: &Console, token: &str, more: &str) -> String {
    let secure = match console.settings.tls.is_plain() {
        true => "",
        false => "; Secure",
    };
    let name = console.cookie_name();
    format!("{name}={token}; Path=/console; HttpOnly; SameSite=Strict{secure}{more}")
}

/// Has sessions ended that nobody uses, for as long as there are any.
fn look_after(console: &Arc<Console>) {
    let queue = &console.sign_ins.is_looked_after;
    if queue.swap(true, Ordering::Relaxed) {
        return;
    }
    let console = Arc::clone(console);
    tokio::spawn(async move {
        loop {
            sleep(LOOK_EVERY).await;
            if !console.sessions.end_rested(Instant::now()) {
                console
                    .sign_ins
                    .is_looked_after
                    .store(false, Ordering::Relaxed);
                return;
            }
        }
    });
}
