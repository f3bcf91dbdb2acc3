//! Who asks: the session that a browser's cookie names.
//!
//! Invariant: the cookie is the session's token and nothing else; what it means only the table knows, so that a session that was ended is
//! over at every instance.

use crate::site::Site;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum_extra::extract::CookieJar;
use axum_extra::extract::cookie::{Cookie, SameSite};
use brickyard_example_service::Failure;

const COOKIE: &str = "session";

/// The user of the session, if there is one.
#[derive(Clone, Debug)]
pub(crate) struct Visitor(pub(crate) Option<String>);

impl FromRequestParts<Site> for Visitor {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, site: &Site) -> Result<Self, Failure> {
        let jar = CookieJar::from_headers(&parts.headers);
        match token_of(&jar) {
            Some(token) => Ok(Self(site.store.session(token).await?)),
            None => Ok(Self(None)),
        }
    }
}

/// The token that a browser shows.
pub(crate) fn token_of(jar: &CookieJar) -> Option<&str> {
    jar.get(COOKIE).map(Cookie::value)
}

/// What a browser is to show from now on: no script reads it, and other sites' pages do not send it.
pub(crate) fn cookie(token: String, is_for_https: bool) -> Cookie<'static> {
    Cookie::build((COOKIE, token))
        .path("/")
        .http_only(true)
        .same_site(SameSite::Strict)
        .secure(is_for_https)
        .build()
}

#[cfg(test)]
mod session_test {
    use super::*;

    #[test]
    fn cookie_is_for_this_site_alone() {
        let [open, https] = [false, true].map(|it| cookie("t".to_owned(), it).to_string());
        assert_eq!(open, "session=t; HttpOnly; SameSite=Strict; Path=/");
        assert!(https.contains("; Secure"), "{https}");
        let jar = CookieJar::new().add(cookie("t".to_owned(), true));
        assert_eq!(token_of(&jar), Some("t"));
        assert_eq!(token_of(&CookieJar::new()), None);
    }
}
