//! Who has signed in.
//!
//! In:  connections that have signed in, the time. Out: sessions by their tokens.
//!
//! Invariants:
//! - There are at most [`SESSIONS_MAX`]: one more ends the one that was used longest ago.
//! - One that nobody uses for [`REST_MAX`] ends, and its connections with it. A page that only watches does not use it.
//! - How long a look-up takes does not depend on what tokens there are.

use super::link::Link;
use crate::random;
use brickyard_wire::Value;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use subtle::ConstantTimeEq as _;
use tokio::time::Instant;

/// Sessions at a time.
pub(super) const SESSIONS_MAX: usize = 64;

/// How long a session lasts that nobody uses.
pub(super) const REST_MAX: Duration = Duration::from_secs(30 * 60);

/// Somebody who has signed in.
#[derive(Debug)]
pub(super) struct Session {
    token: String,
    user: String,
    /// By brick; the first is the one that signed in, and the session ends with it.
    links: Vec<tokio::sync::Mutex<Option<Link>>>,
    has_ended: AtomicBool,
    used: Mutex<Instant>,
}

impl Session {
    /// Of a user, with its connections.
    ///
    /// # Errors
    /// The system has no randomness.
    pub(super) fn new(user: String, links: Vec<Option<Link>>, now: Instant) -> io::Result<Self> {
        let bytes: [u8; 32] = random::bytes()?;
        Ok(Self {
            token: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            user,
            links: links.into_iter().map(tokio::sync::Mutex::new).collect(),
            has_ended: AtomicBool::new(false),
            used: Mutex::new(now),
        })
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) fn user(&self) -> &str {
        &self.user
    }

    /// Its connection is gone, and with it who it was.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// The reply of a brick to a command.
    pub(super) async fn call(
        &self,
        brick: usize,
        table: Option<&str>,
        words: &[Vec<u8>],
    ) -> io::Result<Value> {
        let place = self.links.get(brick).ok_or(io::ErrorKind::NotFound)?;
        let mut place = place.lock().await;
        // Taken out meanwhile: whoever goes away in the middle of a command leaves nothing for the next one to misread.
        let Some(mut link) = place.take() else {
            self.end_with(brick);
            return Err(match brick {
                0 => io::ErrorKind::UnexpectedEof.into(),
                _ => io::ErrorKind::NotFound.into(),
            });
        };
        match link.call_on(table, words).await {
            Ok(reply) => {
                *place = Some(link);
                Ok(reply)
            }
            Err(error) => {
                self.end_with(brick);
                Err(error)
            }
        }
    }

    fn end_with(&self, brick: usize) {
        if brick == 0 {
            self.has_ended.store(true, Ordering::Relaxed);
        }
    }

    /// A brick has ended its connection, as when its user was deleted. Somebody who holds it finds that out.
    fn is_cut_off(&self) -> bool {
        let first = self.links.first().and_then(|it| it.try_lock().ok());
        first.is_some_and(|it| it.as_ref().is_some_and(Link::has_ended))
    }

    fn used(&self) -> MutexGuard<'_, Instant> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self, now: Instant) -> bool {
        self.has_ended() || self.is_cut_off() || now.duration_since(*self.used()) >= REST_MAX
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<Vec<Arc<Session>>>);

impl Sessions {
    /// Takes one in.
    pub(super) fn add(&self, session: Arc<Session>, now: Instant) {
        let mut all = self.all();
        all.retain(|it| !it.is_over(now));
        if all.len() >= SESSIONS_MAX
            && let Some(oldest) = (0..all.len()).min_by_key(|at| *all[*at].used())
        {
            all.remove(oldest);
        }
        all.push(session);
    }

    /// The session of that token, which is used by that, or only looked at.
    pub(super) fn find(&self, token: &str, now: Instant, is_use: bool) -> Option<Arc<Session>> {
        let mut all = self.all();
        all.retain(|it| !it.is_over(now));
        let given = token.as_bytes();
        let fits = all
            .iter()
            .filter(|it| it.token.as_bytes().ct_eq(given).into());
        // Looks at all of them, whichever it is.
        let found = fits.fold(None, |_, it| Some(Arc::clone(it)))?;
        if is_use {
            *found.used() = now;
        }
        Some(found)
    }

    /// Ends one.
    pub(super) fn remove(&self, token: &str) {
        self.all().retain(|it| it.token != token);
    }

    /// Ends those that nobody uses; whether any is left.
    pub(super) fn end_rested(&self, now: Instant) -> bool {
        let mut all = self.all();
        all.retain(|it| !it.is_over(now));
        !all.is_empty()
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Session>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod sessions_test {
    use super::*;

    fn add(sessions: &Sessions, user: &str, now: Instant) -> String {
        let session = Session::new(user.to_owned(), Vec::new(), now).unwrap();
        let token = session.token().to_owned();
        sessions.add(Arc::new(session), now);
        token
    }

    #[test]
    fn session_ends_when_nobody_uses_it_though_a_page_watches() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let token = add(&sessions, "ann", start);
        assert_eq!(token.len(), 64);
        let almost = start + REST_MAX - Duration::from_secs(1);
        assert!(sessions.find(&token, almost, false).is_some());
        assert!(sessions.find("another", almost, true).is_none());
        assert!(sessions.find(&token, start + REST_MAX, false).is_none());
        let token = add(&sessions, "ann", start);
        assert!(sessions.find(&token, almost, true).is_some());
        assert!(sessions.find(&token, start + REST_MAX, true).is_some());
        assert!(sessions.end_rested(start + REST_MAX));
        assert!(!sessions.end_rested(start + REST_MAX * 2));
        assert!(sessions.find(&token, start + REST_MAX, true).is_none());
    }

    #[test]
    fn one_too_many_ends_the_one_that_was_used_longest_ago() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let tokens: Vec<String> = (0..SESSIONS_MAX as u64)
            .map(|number| add(&sessions, "ann", at(number)))
            .collect();
        assert!(sessions.find(&tokens[0], at(100), true).is_some());
        add(&sessions, "bob", at(101));
        assert!(sessions.find(&tokens[0], at(102), true).is_some());
        assert!(sessions.find(&tokens[1], at(102), true).is_none());
        assert!(sessions.find(&tokens[2], at(102), true).is_some());
    }

    #[test]
    fn session_that_was_signed_out_is_gone() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let token = add(&sessions, "ann", now);
        sessions.remove(&token);
        assert!(sessions.find(&token, now, true).is_none());
    }

    #[tokio::test]
    async fn session_without_its_connection_has_ended() {
        let now = Instant::now();
        let session = Session::new("ann".to_owned(), vec![None, None], now).unwrap();
        let words = [b"DBSIZE".to_vec()];
        assert!(session.call(1, None, &words).await.is_err());
        assert!(!session.has_ended());
        assert!(session.call(0, None, &words).await.is_err());
        assert!(session.has_ended());
    }
}
