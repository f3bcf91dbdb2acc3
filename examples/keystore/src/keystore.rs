//! What is asked, and what happens then.
//!
//! | Request | Answer |
//! |---|---|
//! | `POST /vault` | a new user's vault, under the passphrase of the request |
//! | `PUT /vault/passphrase` | the body is the passphrase from now on |
//! | `GET /secrets` | names and last versions, a line each |
//! | `PUT /secrets/name` | the body is the next version behind the one that `If-Match` names (`"0"`: none yet) |
//! | `GET /secrets/name` | the last version, or the one of `?version=`; `ETag` is its number |
//! | `GET /audit` | what was asked for today, or on the `?day=` since 1970 |
//!
//! Everything but the first needs the right passphrase; what was tried with a wrong one is in the trail too.

use crate::identity::{Identity, challenge, plain, unauthorized};
use crate::store::{Added, Store};
use crate::vault::{Cost, OpenVault, Sealed, Vault};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use brickyard_example_service::Failure;
use serde::Deserialize;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use zeroize::Zeroizing;

/// Longest secret.
const SECRET_BYTES_MAX: usize = 64 * 1024;

/// Shortest passphrase.
const PASSPHRASE_BYTES_MIN: usize = 8;

const DAY_S: u64 = 24 * 3600;

/// Keys that are derived at once: each takes memory and a core, on purpose.
static TURNS: Semaphore = Semaphore::const_new(2);

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Keystore {
    pub(crate) store: Store,
    pub(crate) cost: Cost,
}

type Answer<T = Response> = Result<T, Failure>;

pub(crate) fn routes(keystore: Keystore) -> Router {
    Router::new()
        .route("/vault", post(make_vault))
        .route("/vault/passphrase", put(change_passphrase))
        .route("/secrets", get(list))
        .route("/secrets/{name}", get(read).put(write))
        .route("/audit", get(audit))
        .fallback(async || Failure::refused(StatusCode::NOT_FOUND, "no such path"))
        .layer(DefaultBodyLimit::max(SECRET_BYTES_MAX))
        .layer(map_response(challenge))
        .with_state(keystore)
}

async fn make_vault(State(keystore): State<Keystore>, identity: Identity) -> Answer {
    check_passphrase(&identity.passphrase)?;
    let (user, cost) = (identity.user.clone(), keystore.cost);
    let vault = work(move || Vault::create(&identity.user, &identity.passphrase, cost)).await?;
    let bytes = vault.and_then(|it| it.bytes()).map_err(sealed)?;
    keystore.note(&user, "make the vault").await?;
    if !keystore.store.set_vault(&user, None, &bytes).await? {
        let why = "there is such a user already";
        return Err(Failure::refused(StatusCode::CONFLICT, why));
    }
    Ok(StatusCode::CREATED.into_response())
}

async fn change_passphrase(
    State(keystore): State<Keystore>,
    identity: Identity,
    body: Bytes,
) -> Answer {
    let text = std::str::from_utf8(&body).unwrap_or_default();
    let new = Zeroizing::new(text.to_owned());
    check_passphrase(&new)?;
    let user = identity.user.clone();
    let (open, old) = keystore.open(identity, "change the passphrase").await?;
    let (owner, cost) = (user.clone(), keystore.cost);
    let vault = work(move || open.close(&owner, &new, cost)).await?;
    let bytes = vault.and_then(|it| it.bytes()).map_err(sealed)?;
    let is_set = keystore.store.set_vault(&user, Some(&old), &bytes);
    if !is_set.await? {
        let why = "the passphrase was changed meanwhile";
        return Err(Failure::refused(StatusCode::CONFLICT, why));
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn list(State(keystore): State<Keystore>, identity: Identity) -> Answer {
    let user = identity.user.clone();
    keystore.open(identity, "list secrets").await?;
    let secrets = keystore.store.secrets(&user).await?;
    let lines = secrets
        .iter()
        .map(|(name, last)| format!("{name} {last}\n"));
    Ok(lines.collect::<String>().into_response())
}

async fn write(
    State(keystore): State<Keystore>,
    Path(name): Path<String>,
    headers: HeaderMap,
    identity: Identity,
    secret: Bytes,
) -> Answer {
    let name = plain(&name).ok_or_else(no_name)?;
    let base: u64 = headers
        .get(header::IF_MATCH)
        .and_then(|it| it.to_str().ok()?.trim_matches('"').parse().ok())
        .ok_or_else(|| {
            let why = "If-Match names the version that you have seen; \"0\" if there is none yet";
            Failure::refused(StatusCode::PRECONDITION_REQUIRED, why)
        })?;
    let (user, version) = (identity.user.clone(), base.saturating_add(1));
    let action = format!("write {name} {version}");
    let (open, _) = keystore.open(identity, &action).await?;
    let sealed = open.seal((&user, name, version), &secret).map_err(sealed)?;
    let is_next = keystore.store.last_version(&user, name).await? == base;
    let added = match is_next {
        true => {
            keystore
                .store
                .add_secret(&user, name, version, &sealed)
                .await?
        }
        false => Added::Taken,
    };
    match added {
        Added::Stored => {
            let tag = [(header::ETAG, format!("\"{version}\""))];
            Ok((StatusCode::NO_CONTENT, tag).into_response())
        }
        Added::Taken => {
            let why = "that is not the last version; read it first";
            Err(Failure::refused(StatusCode::PRECONDITION_FAILED, why))
        }
    }
}

#[derive(Deserialize)]
struct Which {
    version: Option<u64>,
}

async fn read(
    State(keystore): State<Keystore>,
    Path(name): Path<String>,
    Query(which): Query<Which>,
    identity: Identity,
) -> Answer {
    let name = plain(&name).ok_or_else(no_name)?;
    let user = identity.user.clone();
    let version = match which.version {
        Some(version) => version,
        None => keystore.store.last_version(&user, name).await?,
    };
    let action = format!("read {name} {version}");
    let (open, _) = keystore.open(identity, &action).await?;
    let Some(found) = keystore.store.secret(&user, name, version).await? else {
        let why = "no such secret, or no such version";
        return Err(Failure::refused(StatusCode::NOT_FOUND, why));
    };
    let secret = open.unseal((&user, name, version), &found);
    let headers = [
        (header::ETAG, format!("\"{version}\"")),
        (header::CACHE_CONTROL, "no-store".to_owned()),
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
    ];
    Ok((headers, secret.map_err(sealed)?).into_response())
}

#[derive(Deserialize)]
struct When {
    day: Option<u64>,
}

async fn audit(
    State(keystore): State<Keystore>,
    Query(when): Query<When>,
    identity: Identity,
) -> Answer {
    let user = identity.user.clone();
    keystore.open(identity, "read the trail").await?;
    let day = when.day.unwrap_or_else(|| now_s() / DAY_S);
    Ok(keystore.store.trail(&user, day).await?.into_response())
}

impl Keystore {
    /// Opens a user's vault for what he is about to do, which is in the trail then; with it what the table has of the vault.
    async fn open(&self, identity: Identity, action: &str) -> Answer<(OpenVault, Vec<u8>)> {
        let user = identity.user.clone();
        let Some(bytes) = self.store.vault(&user).await? else {
            return Err(unauthorized());
        };
        let vault = Vault::read(&bytes).map_err(sealed)?;
        let opened = work(move || vault.open(&identity.user, &identity.passphrase)).await?;
        match opened {
            Ok(open) => {
                self.note(&user, action).await?;
                Ok((open, bytes))
            }
            Err(Sealed::Passphrase) => {
                self.note(&user, &format!("REFUSED {action}")).await?;
                Err(unauthorized())
            }
            Err(other) => Err(sealed(other)),
        }
    }

    async fn note(&self, user: &str, action: &str) -> Answer<()> {
        let now = now_s();
        let line = format!("{now} {action}");
        Ok(self.store.note(user, now / DAY_S, &line).await?)
    }
}

/// Does what takes long on a thread of its own, when it is its turn.
async fn work<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> Answer<T> {
    let broken = |why: String| Failure::refused(StatusCode::INTERNAL_SERVER_ERROR, why);
    let turn = TURNS.acquire().await;
    let _turn = turn.map_err(|error| broken(error.to_string()))?;
    let done = spawn_blocking(what).await;
    done.map_err(|error| broken(error.to_string()))
}

fn check_passphrase(passphrase: &str) -> Result<(), Failure> {
    if passphrase.len() < PASSPHRASE_BYTES_MIN {
        let why = "a passphrase has at least 8 characters";
        return Err(Failure::refused(StatusCode::BAD_REQUEST, why));
    }
    Ok(())
}

fn no_name() -> Failure {
    let why = "a name is 1 to 64 letters, digits, '_', '.' or '-'";
    Failure::refused(StatusCode::BAD_REQUEST, why)
}

fn sealed(why: Sealed) -> Failure {
    let why = match why {
        Sealed::Passphrase => "the passphrase does not open it",
        Sealed::Damaged => "what the table holds is not what was stored there",
        Sealed::Broken => "it cannot be encrypted here; has the system no randomness?",
    };
    Failure::refused(StatusCode::INTERNAL_SERVER_ERROR, why)
}

fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| it.as_secs())
}
