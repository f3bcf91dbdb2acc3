//! Who may do what: other origins nothing, strangers little.
//!
//! In:  a request's headers, where it comes from. Out: whether it is refused, and why.
//!
//! Three kinds of people are kept out:
//! - **Another page in the browser of somebody who has signed in.** Cookies are `SameSite=Strict`; whatever changes something needs a
//!   header that no form can send and that another origin's script may not, and an `Origin` that is this host.
//! - **A page whose name was made to lead here** (DNS rebinding). Its origin *is* the host that it names. It has no cookie; and who
//!   has not signed in is answered only at names that are this node's: addresses, `localhost`, what it advertises. Under TLS the
//!   certificate sees to that.
//! - **People for whom the node port is closed.** Who has not signed in gets no further by HTTP than by the node port: neither past
//!   a certificate that is asked for there, nor from another machine to a port of loopback, nor past `http_tokens`.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::net::IpAddr;

/// What the page sends, and no form can.
const OWN: &str = "x-brickyard-console";

/// Its value where the page only looks, and nobody sits before it.
const WATCH: &str = "watch";

/// Refuses what the page itself would not have sent.
pub(super) async fn refuse_other_origins(request: Request, next: Next) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD)
        && let Some(why) = foreign(request.headers())
    {
        let why = serde_json::json!({ "error": why });
        return (StatusCode::FORBIDDEN, axum::Json(why)).into_response();
    }
    next.run(request).await
}

/// Why a request that changes something is not the page's, if so.
fn foreign(headers: &HeaderMap) -> Option<&'static str> {
    if !headers.contains_key(OWN) {
        return Some("the header X-Brickyard-Console is missing, which the console's page sends");
    }
    if let Some(origin) = text(headers, header::ORIGIN.as_str()) {
        let from = origin.split_once("://").map(|(_, from)| from);
        let is_own = from.is_some_and(|from| from.eq_ignore_ascii_case(host(headers)));
        if !is_own {
            return Some("that page is of another origin");
        }
    }
    let site = text(headers, "sec-fetch-site");
    let is_foreign = site.is_some_and(|it| it != "same-origin" && it != "none");
    is_foreign.then_some("that page is of another origin")
}

/// Whether the page sent this by itself: that keeps no session.
pub(super) fn only_watches(headers: &HeaderMap) -> bool {
    text(headers, OWN).is_none_or(|it| it == WATCH)
}

/// What was asked for, as `host:port`.
pub(super) fn host(headers: &HeaderMap) -> &str {
    text(headers, header::HOST.as_str()).unwrap_or_default()
}

/// A cookie's value.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).into_iter();
    let all = all.filter_map(|it| it.to_str().ok());
    let mut pairs = all.flat_map(|it| it.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|it| it.to_str().ok())
}

/// Somebody who has not signed in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stranger<'a> {
    /// It has one of `http_tokens`, or nobody is asked for one.
    pub(super) has_token: bool,
    /// Clients have to show certificates.
    pub(super) has_client_authority: bool,
    /// Where clients connect.
    pub(super) listen: IpAddr,
    pub(super) from: IpAddr,
    /// What it asked for, as `host:port`.
    pub(super) host: &'a str,
    /// What this node says that it is called.
    pub(super) advertised: &'a str,
    pub(super) is_tls: bool,
}

/// Why it may run no command, if so.
pub(super) fn refusal(stranger: &Stranger<'_>) -> Option<&'static str> {
    if !stranger.has_token {
        return Some("sign in, or send one of http_tokens");
    }
    if stranger.has_client_authority {
        return Some(
            "sign in: clients of this cluster show certificates, and a browser has shown none",
        );
    }
    if stranger.listen.is_loopback() && !stranger.from.is_loopback() {
        return Some("sign in: the node port is for clients on this machine");
    }
    if !stranger.is_tls && !is_own_name(stranger.host, stranger.advertised) {
        return Some("sign in, or call this node by its address: that name is not one of its own");
    }
    None
}

/// Whether a page of that name can be no other than this node's.
fn is_own_name(host: &str, advertised: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|it| it.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_matches(['[', ']']);
    name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || (!advertised.is_empty() && name.eq_ignore_ascii_case(advertised))
}

#[cfg(test)]
#[path = "guard_test.rs"]
mod guard_test;
