//! The page's files, as they are in the program, and what browsers are told about all of the console's answers.
//!
//! Invariant: a browser that keeps to the policy runs nothing but these files, and connects to nobody else, whatever a key, a value or
//! a name has in it.

use super::state::Console;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use std::sync::Arc;

/// Nothing but what is named: this node's own files, and connections to it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

macro_rules! files {
    ($($path:literal: $kind:expr, $file:literal;)+) => {
        /// Path, media type, contents.
        const FILES: &[(&str, &str, &str)] = &[
            $(($path, $kind, include_str!(concat!("page/", $file))),)+
        ];
    };
}

files! {
    "/console/": HTML, "index.html";
    "/console/console.css": STYLE, "console.css";
    "/console/console.js": SCRIPT, "console.js";
    "/console/ask.js": SCRIPT, "ask.js";
    "/console/charts.js": SCRIPT, "charts.js";
    "/console/cluster.js": SCRIPT, "cluster.js";
    "/console/elements.js": SCRIPT, "elements.js";
    "/console/history.js": SCRIPT, "history.js";
    "/console/keys.js": SCRIPT, "keys.js";
    "/console/lists.js": SCRIPT, "lists.js";
    "/console/operations.js": SCRIPT, "operations.js";
    "/console/icon.svg": IMAGE, "icon.svg";
}

/// The routes of the files.
pub(super) fn routes() -> Router {
    let routes = Router::new().route("/console", get(async || Redirect::permanent("/console/")));
    FILES.iter().fold(routes, |routes, (path, kind, text)| {
        let kind = [(header::CONTENT_TYPE, *kind)];
        routes.route(path, get(move || std::future::ready((kind, *text))))
    })
}

/// Adds what browsers go by.
pub(super) async fn add_headers(
    State(console): State<Arc<Console>>,
    request: Request,
    next: Next,
) -> Response {
    let mut answer = next.run(request).await;
    let headers = answer.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Another version of the program has other files; data are of now.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if !console.settings.tls.is_plain() {
        let always = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, always);
    }
    answer
}

/// Leads browsers that come to the port to the console; programs get what they got before.
pub(crate) async fn greet(request: Request, next: Next) -> Response {
    let accept = request.headers().get(header::ACCEPT);
    let is_browser = accept.and_then(|it| it.to_str().ok());
    let is_browser = is_browser.is_some_and(|it| it.contains("text/html"));
    if request.method() == Method::GET && request.uri().path() == "/" && is_browser {
        return Redirect::temporary("/console/").into_response();
    }
    next.run(request).await
}

#[cfg(test)]
mod files_test {
    use super::FILES;

    #[test]
    fn page_names_nobody_else_and_has_no_script_or_style_within() {
        for (path, _, text) in FILES {
            let is_named = text.contains("https://") || text.contains("http://");
            // SVG's namespace is a name and no address.
            let text = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!is_named || !text.contains("://"), "{path} names a host");
            assert!(!text.contains("innerHTML"), "{path}: text is no markup");
        }
        let (_, _, page) = FILES[0];
        for within in ["<style", " style=", " onclick=", "<script>"] {
            assert!(!page.contains(within), "{within}");
        }
    }

    #[test]
    fn what_the_page_and_its_modules_load_is_served() {
        let served = |name: &str| {
            FILES
                .iter()
                .any(|(path, ..)| *path == format!("/console/{name}"))
        };
        for (path, _, text) in FILES {
            let imports = text.split("from \"./").skip(1);
            for name in imports.filter_map(|it| it.split('"').next()) {
                assert!(served(name), "{path} loads {name}");
            }
            let linked = text.split("=\"/console/").skip(1);
            for name in linked.filter_map(|it| it.split('"').next()) {
                assert!(served(name), "{path} loads {name}");
            }
        }
    }
}
