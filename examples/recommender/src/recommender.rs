//! What is asked, and what happens then.
//!
//! | Request | Answer |
//! |---|---|
//! | `POST /visits` | a form with `reader` and `page`: it is counted; a browser is led to the page |
//! | `GET /pages/name/also` | JSON: how often it was opened, and what its readers also opened, most readers first |
//! | `GET /pages/name` | the same for people |
//! | `GET /` | a form to try it with |

use crate::recommended::{Recommended, rank};
use crate::store::Store;
use crate::view;
use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use brickyard_example_service::Failure;
use maud::Markup;
use serde::Deserialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// Pages that are recommended, unless more or fewer are asked for.
const COUNT: usize = 10;

const DAY_S: u64 = 24 * 3600;

pub(crate) fn routes(store: Store) -> Router {
    Router::new()
        .route("/", get(async || view::index()))
        .route("/visits", post(visit))
        .route("/pages/{name}", get(page))
        .route("/pages/{name}/also", get(also))
        .route("/style.css", get(style))
        .fallback(async || Failure::refused(StatusCode::NOT_FOUND, "no such path"))
        .with_state(store)
}

async fn style() -> impl IntoResponse {
    let headers = [(header::CONTENT_TYPE, "text/css; charset=utf-8")];
    (headers, view::STYLE)
}

#[derive(Deserialize)]
struct Visit {
    reader: String,
    page: String,
}

async fn visit(
    State(store): State<Store>,
    headers: HeaderMap,
    Form(visit): Form<Visit>,
) -> Result<Response, Failure> {
    check_name(&visit.reader)?;
    check_name(&visit.page)?;
    store.read(&visit.reader, &visit.page, today()).await?;
    let accepts = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    if accepts.is_some_and(|it| it.contains("text/html")) {
        return Ok(Redirect::to(&format!("/pages/{}", visit.page)).into_response());
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

#[derive(Deserialize)]
struct HowMany {
    count: Option<usize>,
}

async fn also(
    State(store): State<Store>,
    Path(name): Path<String>,
    Query(how_many): Query<HowMany>,
) -> Result<Json<Recommended>, Failure> {
    recommend(&store, name, how_many.count.unwrap_or(COUNT))
        .await
        .map(Json)
}

async fn page(State(store): State<Store>, Path(name): Path<String>) -> Result<Markup, Failure> {
    let recommended = recommend(&store, name, COUNT).await?;
    Ok(view::page(&recommended))
}

async fn recommend(store: &Store, page: String, count: usize) -> Result<Recommended, Failure> {
    check_name(&page)?;
    let visits = store.visits(&page).await?;
    let also = store.also(&page, today()).await?;
    let also = rank(also, count);
    Ok(Recommended { page, visits, also })
}

/// Names stand in keys and lines.
fn check_name(name: &str) -> Result<(), Failure> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_.-".contains(it);
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        let why = "a name is 1 to 64 letters, digits, '_', '.' or '-'";
        return Err(Failure::refused(StatusCode::BAD_REQUEST, why));
    }
    Ok(())
}

/// The day by UTC, counted from 1970.
fn today() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| it.as_secs() / DAY_S)
}

#[cfg(test)]
mod recommender_test {
    use super::*;

    #[test]
    fn names_are_plain() {
        assert!(check_name("bricks-2.html").is_ok());
        for name in ["", "a/1", "a:b", "a\nb", "ä", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }
}
