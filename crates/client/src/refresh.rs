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
    endpoint::Endpoint,
    leaf::Start,
    map::{SlotMap, host_of},
    prepared::Prepared,
    router::Router,
    setting::MapWatcher,
};
use brickyard_wire::Value;
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

/// What the reason for a question says of whom to ask.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hint {
    /// The address that knows.
    pub(crate) knows: Option<String>,
    /// An address that did not do what the map says: the map that it goes by may be the old one, and its node's too.
    pub(crate) doubted: Option<String>,
}

/// Shortest time between two questions.
const REFRESH_STEP: Duration = Duration::from_millis(100);

/// How long one address may take to answer, besides connecting.
const ANSWER_LIMIT: Duration = Duration::from_millis(500);

/// After so long the next address is asked beside it.
const NEXT_AFTER: Duration = Duration::from_millis(100);

/// What an address tells of a table's map.
#[derive(Clone, Debug)]
struct MapNews {
    /// How new it is at least; 0: nobody said.
    version: u64,
    /// The map, where it is wanted.
    map: Option<SlotMap>,
    /// Where lookups may begin, where there are lookups.
    starts: Vec<Start>,
}

impl MapWatcher for Router {
    fn on_map_changed(self: Arc<Self>, at: &str) {
        // A question that is under way may have been answered before.
        self.is_outdated.store(true, Ordering::Release);
        self.refresh_soon(Hint {
            knows: Some(at.to_owned()),
            ..Hint::default()
        });
    }
}

impl Router {
    /// Refreshes the map soon, unless that is under way.
    pub(crate) fn refresh_soon(self: &Arc<Self>, hint: Hint) {
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
                let _ = router.refresh(&hint).await;
            }
            sleep(REFRESH_STEP + jitter).await;
            if let Some(router) = weak.upgrade() {
                router.is_refreshing.store(false, Ordering::Release);
                if router.is_outdated.load(Ordering::Acquire) {
                    router.refresh_soon(Hint::default());
                }
            }
        });
    }

    /// Asks one address after the other for the map, until one gives a map that is no older than the one that is
    /// known; one that is cut off from the others knows only an old one. If all are older the newest is taken: the cluster
    /// may have been made anew.
    ///
    /// # Errors
    /// What the last one said, if none gave a map.
    pub(crate) async fn refresh(self: &Arc<Self>, hint: &Hint) -> Result<(), Error> {
        let mut last =
            Error::unreachable("there are no seeds; name at least one in Options::seeds");
        let mut informants = self.informants(hint).into_iter();
        let mut asked = JoinSet::new();
        let mut older: Option<MapNews> = None;
        loop {
            if let Some(endpoint) = informants.next() {
                let router = Arc::clone(self);
                let question = async move { router.ask_map(&endpoint).await };
                asked.spawn_on(question, &self.setting.runtime);
            }
            let answer = if informants.len() == 0 {
                asked.join_next().await
            } else {
                match timeout(NEXT_AFTER, asked.join_next()).await {
                    Ok(answer) => answer,
                    Err(_) => continue,
                }
            };
            match answer {
                // Who tells no version is believed.
                Some(Ok(Ok(news))) if news.version == 0 || news.version >= self.map_version() => {
                    self.take_up(news);
                    return Ok(());
                }
                Some(Ok(Ok(news))) => {
                    let is_newest = older.as_ref().is_none_or(|it| it.version < news.version);
                    older = if is_newest { Some(news) } else { older };
                }
                // A refusal says more than silence.
                Some(Ok(Err(_))) if matches!(last, Error::Refused { .. }) => {}
                Some(Ok(Err(error))) => last = error,
                // The runtime stops.
                Some(Err(_)) => last = Error::Closed,
                None if informants.len() == 0 => break,
                None => {}
            }
        }
        match older {
            Some(news) => {
                self.take_up(news);
                Ok(())
            }
            None => Err(last),
        }
    }

    /// Works by what an address told from now on.
    fn take_up(&self, news: MapNews) {
        match (&self.finder, news.map) {
            (Some(finder), map) => {
                self.install_starts(finder, (news.starts, map), news.version);
            }
            (None, Some(map)) => self.install(map),
            (None, None) => {}
        }
    }

    /// Asks one address for its map, or as much of it as is wanted.
    async fn ask_map(self: &Arc<Self>, endpoint: &Endpoint) -> Result<MapNews, Error> {
        let now = Instant::now();
        let deadline = now + self.client.options.connect_timeout + ANSWER_LIMIT;
        let question = |words: &[&str]| {
            let shape = Shape {
                is_read: true,
                place: Place::Anywhere,
            };
            self.ask(endpoint, Prepared::new(shape, 0, words), (now, deadline))
        };
        let has_map = self.client.options.lookups.strategy.has_map();
        // The version first: the map that comes after it is no older.
        let info = question(&["CLUSTER", "INFO"]);
        let slots = has_map.then(|| question(&["CLUSTER", "SLOTS"]));
        let starts = self.finder.is_some();
        let starts = starts.then(|| question(&["CLUSTER", "LOOKUP"]));
        let address = &endpoint.peer.address;
        let asked = host_of(address);
        let wrong = |why: &str| Error::protocol(format!("{address}: {why}"));
        let info = info.await.unwrap_or(Err(Error::Closed));
        let version = info.ok().and_then(|info| version_of(&info)).unwrap_or(0);
        let mut news = MapNews {
            version,
            map: None,
            starts: Vec::new(),
        };
        if let Some(slots) = slots {
            let reply = slots.await.unwrap_or(Err(Error::Closed))?;
            let map = SlotMap::from_reply(&reply, asked).map_err(|why| wrong(&why))?;
            news.map = Some(map.of_version(version));
        }
        if let Some(starts) = starts {
            let reply = starts.await.unwrap_or(Err(Error::Closed))?;
            let starts = Start::read_all(&reply, asked);
            news.starts = starts.ok_or_else(|| wrong("CLUSTER LOOKUP gave no list of bricks"))?;
        }
        Ok(news)
    }
}

/// The number in the line `cluster_current_epoch:` of a reply to `CLUSTER INFO`.
fn version_of(info: &Value) -> Option<u64> {
    let text = std::str::from_utf8(info.bytes()?).ok()?;
    let mut lines = text.lines();
    lines.find_map(|line| {
        let number = line.strip_prefix("cluster_current_epoch:")?;
        number.parse().ok()
    })
}

#[cfg(test)]
mod refresh_test {
    use super::*;

    #[test]
    fn version_is_read_from_the_reply() {
        let info = |text: &str| Value::Bulk(text.as_bytes().to_vec());
        let told = "cluster_state:ok\r\ncluster_current_epoch:17\r\ncluster_my_epoch:3\r\n";
        assert_eq!(version_of(&info(told)), Some(17));
        assert_eq!(version_of(&info("cluster_current_epoch:x\r\n")), None);
        assert_eq!(version_of(&Value::Null), None);
    }
}
