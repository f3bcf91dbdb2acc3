//! Who asks: the user and the passphrase that a request brings along (HTTP's Basic scheme, RFC 7617).

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use brickyard_example_service::Failure;
use zeroize::Zeroizing;

/// A user's name and his passphrase, which is wiped when the request is over.
pub(crate) struct Identity {
    pub(crate) user: String,
    pub(crate) passphrase: Zeroizing<String>,
}

/// The answer to who does not say who he is, or has another passphrase.
pub(crate) fn unauthorized() -> Failure {
    let why = "user and passphrase, please (HTTP Basic); POST /vault makes a new user's";
    Failure::refused(StatusCode::UNAUTHORIZED, why)
}

/// Says with such an answer how one says who one is.
pub(crate) async fn challenge(mut response: Response) -> Response {
    if response.status() == StatusCode::UNAUTHORIZED {
        let scheme = HeaderValue::from_static("Basic realm=\"keystore\", charset=\"UTF-8\"");
        let headers = response.headers_mut();
        headers.insert(header::WWW_AUTHENTICATE, scheme);
    }
    response
}

impl<S: Sync> FromRequestParts<S> for Identity {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let header = parts.headers.get(header::AUTHORIZATION);
        let header = header.and_then(|it| it.to_str().ok());
        header.and_then(read).ok_or_else(unauthorized)
    }
}

/// What the header says.
fn read(header: &str) -> Option<Identity> {
    let (scheme, text) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let bytes = Zeroizing::new(BASE64.decode(text.trim()).ok()?);
    let (user, passphrase) = std::str::from_utf8(&bytes).ok()?.split_once(':')?;
    Some(Identity {
        user: plain(user)?.to_owned(),
        passphrase: Zeroizing::new(passphrase.to_owned()),
    })
}

/// A name of a user or a secret: 1 to 64 letters, digits and a few signs, so that it can stand in keys and lines.
pub(crate) fn plain(name: &str) -> Option<&str> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_.-".contains(it);
    let fits = (1..=64).contains(&name.len()) && name.chars().all(is_plain);
    fits.then_some(name)
}

#[cfg(test)]
mod identity_test {
    use super::*;

    fn header(text: &str) -> String {
        format!("Basic {}", BASE64.encode(text))
    }

    #[test]
    fn user_ends_at_the_first_colon() {
        let identity = read(&header("ann:a:b c")).expect("an identity");
        assert_eq!(identity.user, "ann");
        assert_eq!(&**identity.passphrase, "a:b c");
    }

    #[test]
    fn what_names_nobody_is_refused() {
        for text in [
            header("ann"),
            header(":x"),
            header("a/b:x"),
            header("a\nb:x"),
            "Basic %".to_owned(),
            "Bearer abc".to_owned(),
            String::new(),
        ] {
            assert!(read(&text).is_none(), "{text}");
        }
    }
}
