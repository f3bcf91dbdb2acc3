//! Asking for the map: lazily, and once for however many calls found it wrong.
//!
//! In:  the wish for a newer map. Out: the map in the router, some time later.
//!
//! Invariants:
//! - One question at a time, and not sooner than [`REFRESH_STEP`] after the last: a cluster in trouble is not
//!   asked by every call of every client.
//! - Calls never wait for it. They go where they are sent meanwhile.

use crate::{
    Error,
    command::{Place, Shape},
    map::{SlotMap, host_of},
    prepared::Prepared,
    router::Router,
};
use brickyard_wire::Value;
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};
use tokio::time::sleep;

/// Shortest time between two questions.
const REFRESH_STEP: Duration = Duration::from_millis(100);

/// How long one address may take to answer, besides connecting, before the next one is asked.
const ANSWER_LIMIT: Duration = Duration::from_millis(500);

impl Router {
    /// Refreshes the map soon, unless that is under way. `hint` is an address that should know.
    pub(crate) fn refresh_soon(self: &Arc<Self>, hint: Option<String>) {
        if self.is_refreshing.swap(true, Ordering::AcqRel) {
            return;
        }
        let weak = Arc::downgrade(self);
        let step = REFRESH_STEP.as_millis() as u64;
        let jitter = Duration::from_millis(self.setting.random.next() % step);
        self.setting.runtime.spawn(async move {
            if let Some(router) = weak.upgrade() {
                router.is_outdated.store(false, Ordering::Release);
                // If nobody answers, the calls that fail for it ask again.
                let _ = router.refresh(hint.as_deref()).await;
            }
            sleep(REFRESH_STEP + jitter).await;
            if let Some(router) = weak.upgrade() {
                router.is_refreshing.store(false, Ordering::Release);
                if router.is_outdated.load(Ordering::Acquire) {
                    router.refresh_soon(None);
                }
            }
        });
    }

    /// A server says that its map has changed, and it has the newer one.
    pub(crate) fn on_map_changed(self: &Arc<Self>, address: &str) {
        // A question that is under way may have been answered before.
        self.is_outdated.store(true, Ordering::Release);
        self.refresh_soon(Some(address.to_owned()));
    }

    /// Asks one address after the other for the map, until one answers.
    ///
    /// # Errors
    /// What the last one said, if none gave a map.
    pub(crate) async fn refresh(self: &Arc<Self>, hint: Option<&str>) -> Result<(), Error> {
        let mut last =
            Error::unreachable("there are no seeds; name at least one in Options::seeds");
        for endpoint in self.informants(hint) {
            let shape = Shape {
                is_read: true,
                place: Place::Anywhere,
            };
            let prepared = Prepared::new(shape, 0, &["CLUSTER", "SLOTS"]);
            let now = Instant::now();
            let deadline = now + self.client.options.connect_timeout + ANSWER_LIMIT;
            let reply = self.ask(&endpoint, prepared, (now, deadline));
            let address = &endpoint.peer.address;
            match reply.await.unwrap_or(Err(Error::Closed)) {
                Ok(reply) => match self.read_map(&reply, address) {
                    Ok(()) => return Ok(()),
                    Err(error) => last = error,
                },
                // A refusal says more than silence.
                Err(_) if matches!(last, Error::Refused { .. }) => {}
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn read_map(&self, reply: &Value, address: &str) -> Result<(), Error> {
        let map = SlotMap::from_reply(reply, host_of(address))
            .map_err(|why| Error::protocol(format!("{address}: {why}")))?;
        self.install(map);
        Ok(())
    }
}
