//! What is asked, and what happens then.
//!
//! | Request | Answer |
//! |---|---|
//! | `GET /` | all pages |
//! | `GET /pages/name` | the page, one visit more; `ETag` is its version; with `?raw` its text alone |
//! | `PUT /pages/name` | saves the body behind the version that `If-Match` names (`"0"`: none yet) |
//! | `GET`, `POST /edit/name` | the form, and what it sends |
//! | `GET`, `POST /join`, `/sign-in` | a new user, a new session |
//! | `POST /sign-out` | the session is over |
//! | `GET /me` | whose session it is |

use crate::session::{Visitor, cookie, token_of};
use crate::store::{Page, Store};
use crate::{password, view};
use axum::extract::{DefaultBodyLimit, Form, Path, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Router, extract::Request};
use axum_extra::extract::CookieJar;
use brickyard_example_service::{Failure, token};
use maud::Markup;
use serde::Deserialize;
use std::io;

/// Longest page, and with it longest request.
const PAGE_BYTES_MAX: usize = 256 * 1024;

/// Longest name of a page or a user.
const NAME_BYTES_MAX: usize = 64;

/// Shortest password.
const PASSWORD_BYTES_MIN: usize = 8;

/// No script, no frame, nothing from elsewhere: what a page says cannot do anything.
const POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) store: Store,
    is_behind_tls: bool,
}

type Answer<T = Response> = Result<T, Failure>;

impl Site {
    pub(crate) const fn new(store: Store, is_behind_tls: bool) -> Self {
        Self {
            store,
            is_behind_tls,
        }
    }
}

pub(crate) fn routes(site: Site) -> Router {
    Router::new()
        .route("/", get(index))
        .route("/pages/{name}", get(read).put(put))
        .route("/edit/{name}", get(edit_form).post(edit))
        .route("/join", get(join_form).post(join))
        .route("/sign-in", get(sign_in_form).post(sign_in))
        .route("/sign-out", post(sign_out))
        .route("/me", get(me))
        .route("/style.css", get(style))
        .fallback(async || Failure::refused(StatusCode::NOT_FOUND, "no such page"))
        .layer(DefaultBodyLimit::max(PAGE_BYTES_MAX))
        .layer(from_fn(guard))
        .with_state(site)
}

/// Refuses what other sites' pages have a browser send; and what goes with every answer.
async fn guard(request: Request, next: Next) -> Response {
    let from = request.headers().get("sec-fetch-site");
    let is_foreign = from.is_some_and(|it| it != "same-origin" && it != "none");
    if is_foreign && !request.method().is_safe() {
        let why = "forms of other sites are not taken";
        return Failure::refused(StatusCode::FORBIDDEN, why).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // What is shown depends on who asks and changes at any time.
    let name: HeaderName = header::CACHE_CONTROL;
    headers
        .entry(name)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn style() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/css; charset=utf-8"),
        (header::CACHE_CONTROL, "max-age=3600"),
    ];
    (headers, view::STYLE)
}

async fn index(State(site): State<Site>, visitor: Visitor) -> Answer<Markup> {
    Ok(view::index(&visitor, &site.store.pages().await?))
}

async fn me(Visitor(user): Visitor) -> Answer {
    let user = user.ok_or_else(nobody)?;
    Ok(format!("{user}\n").into_response())
}

#[derive(Deserialize)]
struct Wishes {
    raw: Option<String>,
}

async fn read(
    State(site): State<Site>,
    Path(name): Path<String>,
    Query(wishes): Query<Wishes>,
    visitor: Visitor,
) -> Answer {
    check_name(&name)?;
    let Some(page) = site.store.page(&name).await? else {
        let page = view::missing(&visitor, &name);
        return Ok((StatusCode::NOT_FOUND, page).into_response());
    };
    let tag = [(header::ETAG, format!("\"{}\"", page.version))];
    if wishes.raw.is_some() {
        return Ok((tag, page.text).into_response());
    }
    // A page can be read though nobody knows how often it was.
    let visits = site.store.visit(&name).await.ok();
    Ok((tag, view::page(&visitor, &name, &page, visits)).into_response())
}

async fn put(
    State(site): State<Site>,
    Path(name): Path<String>,
    Visitor(user): Visitor,
    headers: HeaderMap,
    text: String,
) -> Answer {
    let base = headers
        .get(header::IF_MATCH)
        .and_then(|it| it.to_str().ok()?.trim_matches('"').parse().ok())
        .ok_or_else(|| {
            let why = "If-Match names the version that you have seen; \"0\" if there is none yet";
            Failure::refused(StatusCode::PRECONDITION_REQUIRED, why)
        })?;
    match save(&site, &name, user, base, text).await? {
        Some(version) => {
            let tag = [(header::ETAG, format!("\"{version}\""))];
            Ok((StatusCode::NO_CONTENT, tag).into_response())
        }
        None => {
            let why = "another version was saved meanwhile; read it first";
            Err(Failure::refused(StatusCode::PRECONDITION_FAILED, why))
        }
    }
}

/// Saves a page; its version, or none: the one that it was made of is not the last one any more.
async fn save(
    site: &Site,
    name: &str,
    user: Option<String>,
    base: u64,
    text: String,
) -> Answer<Option<u64>> {
    check_name(name)?;
    let page = Page {
        version: base.saturating_add(1),
        author: user.ok_or_else(nobody)?,
        text,
        edit: token().map_err(broken)?,
    };
    let is_saved = site.store.save(name, base, &page).await?;
    Ok(is_saved.then_some(page.version))
}

async fn edit_form(State(site): State<Site>, Path(name): Path<String>, visitor: Visitor) -> Answer {
    check_name(&name)?;
    if visitor.0.is_none() {
        return Ok(Redirect::to("/sign-in").into_response());
    }
    let page = site.store.page(&name).await?.unwrap_or_default();
    Ok(view::edit(&visitor, &name, page.version, &page.text, None).into_response())
}

#[derive(Deserialize)]
struct Edit {
    base: u64,
    text: String,
}

async fn edit(
    State(site): State<Site>,
    Path(name): Path<String>,
    visitor: Visitor,
    Form(edit): Form<Edit>,
) -> Answer {
    // Forms send lines as mail does.
    let text = edit.text.replace("\r\n", "\n");
    let user = visitor.0.clone();
    if save(&site, &name, user, edit.base, text.clone())
        .await?
        .is_some()
    {
        return Ok(Redirect::to(&format!("/pages/{name}")).into_response());
    }
    let last = site.store.page(&name).await?.unwrap_or_default();
    let form = view::edit(&visitor, &name, last.version, &text, Some(&last));
    Ok((StatusCode::CONFLICT, form).into_response())
}

#[derive(Deserialize)]
struct Credentials {
    user: String,
    password: String,
}

async fn join_form(visitor: Visitor) -> Markup {
    view::credentials(&visitor, "/join", "Join", None)
}

async fn sign_in_form(visitor: Visitor) -> Markup {
    view::credentials(&visitor, "/sign-in", "Sign in", None)
}

async fn join(
    State(site): State<Site>,
    visitor: Visitor,
    jar: CookieJar,
    Form(Credentials { user, password }): Form<Credentials>,
) -> Answer {
    check_name(&user)?;
    let refuse = |status, why| {
        let form = view::credentials(&visitor, "/join", "Join", Some(why));
        Ok((status, form).into_response())
    };
    if password.len() < PASSWORD_BYTES_MIN {
        return refuse(
            StatusCode::BAD_REQUEST,
            "A password has at least 8 characters.",
        );
    }
    let hash = password::hash(password).await.map_err(broken)?;
    if !site.store.add_user(&user, &hash).await? {
        return refuse(StatusCode::CONFLICT, "That name is taken.");
    }
    begin_session(&site, jar, &user).await
}

async fn sign_in(
    State(site): State<Site>,
    visitor: Visitor,
    jar: CookieJar,
    Form(Credentials { user, password }): Form<Credentials>,
) -> Answer {
    let hash = site.store.password_hash(&user).await?;
    if !password::is_right(password, hash).await.map_err(broken)? {
        let why = "Name or password is wrong.";
        let form = view::credentials(&visitor, "/sign-in", "Sign in", Some(why));
        return Ok((StatusCode::UNAUTHORIZED, form).into_response());
    }
    begin_session(&site, jar, &user).await
}

/// A token that was never shown before names the new session, whatever the browser had.
async fn begin_session(site: &Site, jar: CookieJar, user: &str) -> Answer {
    let token = token().map_err(broken)?;
    site.store.begin_session(&token, user).await?;
    let jar = jar.add(cookie(token, site.is_behind_tls));
    Ok((jar, Redirect::to("/")).into_response())
}

async fn sign_out(State(site): State<Site>, jar: CookieJar) -> Answer {
    if let Some(token) = token_of(&jar) {
        site.store.end_session(token).await?;
    }
    let jar = jar.remove(cookie(String::new(), site.is_behind_tls));
    Ok((jar, Redirect::to("/")).into_response())
}

fn check_name(name: &str) -> Result<(), Failure> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_-".contains(it);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(is_plain) {
        let why = "a name is 1 to 64 letters, digits, '_' or '-'";
        return Err(Failure::refused(StatusCode::BAD_REQUEST, why));
    }
    Ok(())
}

fn nobody() -> Failure {
    Failure::refused(StatusCode::UNAUTHORIZED, "sign in first, at /sign-in")
}

fn broken(error: io::Error) -> Failure {
    Failure::refused(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}

#[cfg(test)]
mod site_test {
    use super::*;

    #[test]
    fn names_are_plain() {
        for name in ["a", "A-page_1", &"x".repeat(64)] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "a b", "a:b", "../a", "ä", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn nothing_on_a_page_may_run() {
        assert!(POLICY.starts_with("default-src 'none'") && !POLICY.contains("script-src"));
    }
}
