//! One table's way through the cluster: whom a call goes to, and what follows when that fails.
//!
//! In:  calls; failures of their attempts; maps. Out: calls on connections; calls that are over.
//!
//! Invariants:
//! - A call is in one place: on a connection, pausing in a task of its own, or over. So what pauses counts
//!   as in flight, and is bounded.
//! - Knowing nothing is no obstacle: without a map, or with one that is wrong, a call goes to any address
//!   that may know better, and a brick that is asked wrongly says where to go.
//!
//! Not here: who is where (`directory`), finding that out where no map is held (`seek`), when a call may be sent again (`retry`), asking for the map (`refresh`).

use crate::{
    Error,
    budget::Budget,
    call::{Call, Caller, Route},
    command::{Place, Shape},
    connection::Greeting,
    directory::Directory,
    endpoint::Endpoint,
    finder::Finder,
    ids::Ids,
    kept::Kept,
    leaf::Start,
    lookups::LookupCounts,
    map::{SlotMap, host_of},
    options::Options,
    peer::{Kind, Peer},
    prepared::Prepared,
    random::Random,
    refresh::Hint,
    retry::{Again, AttemptFailure, Verdict, decide, pause},
    setting::Setting,
};
use brickyard_types::Slot;
use brickyard_wire::{Value, ids_up_to};
use std::{
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak, atomic::AtomicBool},
    time::Instant,
};
use tokio::{runtime::Handle, sync::oneshot, time::sleep};

/// What the tables of a client share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) budget: Budget,
    pub(crate) runtime: Handle,
    pub(crate) is_closed: AtomicBool,
}

/// The way to one table.
#[derive(Debug)]
pub(crate) struct Router {
    pub(crate) client: Arc<Shared>,
    pub(crate) setting: Arc<Setting>,
    directory: RwLock<Directory>,
    /// What is known of a map that is not held, or not surely.
    pub(crate) finder: Option<Arc<Finder>>,
    pub(crate) is_refreshing: AtomicBool,
    /// The map has changed since the question that is under way was asked.
    pub(crate) is_outdated: AtomicBool,
}

impl Router {
    pub(crate) fn new(client: Arc<Shared>, table: Option<String>) -> Arc<Self> {
        Arc::new_cyclic(|router| Self::make(&client, table, router))
    }

    fn make(client: &Arc<Shared>, table: Option<String>, router: &Weak<Self>) -> Self {
        let options = &client.options;
        let random = Random::new();
        let setting = Arc::new(Setting {
            owner: Weak::<Self>::clone(router),
            ids: Ids::new(&random),
            greeting: Greeting {
                user: options.user.clone(),
                password: options.password.clone(),
                table,
                reads_from_backups: options.reads.lard().is_some(),
            },
            channels: options.connections_per_brick,
            connect_timeout: options.connect_timeout,
            tls: options.tls.clone(),
            silence_limit: options.silence_limit,
            hedge_after: options.hedge_after,
            reply_limits: options.messages.reply,
            runtime: client.runtime.clone(),
            random,
            near: options.reads.near().to_vec(),
            kept: Kept::new(options.reads.kept_bytes()).map(Arc::new),
        });
        let seeds = options.seeds.iter();
        let directory = Directory {
            map: SlotMap::empty(),
            mapped: Vec::new(),
            seeds: seeds
                .map(|seed| Endpoint::new(seed, Kind::Unknown, &setting))
                .collect(),
            nodes: Vec::new(),
        };
        Self {
            client: Arc::clone(client),
            setting,
            directory: RwLock::new(directory),
            finder: Finder::new(client.options.lookups).map(Arc::new),
            is_refreshing: AtomicBool::new(false),
            is_outdated: AtomicBool::new(false),
        }
    }

    /// Another way to the table, with connections of its own: a call that waits holds up others on its connection.
    pub(crate) fn apart(&self) -> Arc<Self> {
        let options = self.client.options.clone();
        let client = Arc::new(Shared {
            budget: Budget::new(options.in_flight_max, options.in_flight_bytes_max),
            options,
            runtime: self.client.runtime.clone(),
            is_closed: AtomicBool::new(false),
        });
        let router = Self::new(client, self.setting.greeting.table.clone());
        router.refresh_soon(Hint::default());
        router
    }

    /// Makes a call of a request and sends it.
    pub(crate) fn start(
        self: &Arc<Self>,
        prepared: Prepared,
        cost: u32,
        times: (Instant, Instant),
    ) -> oneshot::Receiver<Result<Value, Error>> {
        let route = Route::Free { redirect: None };
        let (call, receiver) =
            Call::new(prepared, route, Arc::<Self>::clone(self), Some(cost), times);
        self.dispatch(call, times.0);
        receiver
    }

    /// Asks one endpoint, once, outside of the budget: for questions of the library's own.
    pub(crate) fn ask(
        self: &Arc<Self>,
        endpoint: &Endpoint,
        prepared: Prepared,
        times: (Instant, Instant),
    ) -> oneshot::Receiver<Result<Value, Error>> {
        let (call, receiver) = Call::new(
            prepared,
            Route::Fixed,
            Arc::<Self>::clone(self),
            None,
            times,
        );
        if let Err((call, failure)) = endpoint.push(call, 0, times.0) {
            call.on_failure(failure);
        }
        receiver
    }

    /// Sends a call to whom it should go now; where it is not known who that is, it is found out first.
    fn dispatch(self: &Arc<Self>, call: Box<Call>, now: Instant) {
        let Some(finder) = &self.finder else {
            return self.hand_over(call, None, now);
        };
        match call.prepared.shape.place {
            Place::Slot(slot) | Place::Primary(slot) if !call.is_redirected() => {
                if self.knows(finder, slot) {
                    self.hand_over(call, None, now);
                } else if let Some(members) = finder.at_hand(slot) {
                    self.hand_over(call, Some(&members), now);
                } else {
                    self.seek(finder, slot, call, now);
                }
            }
            _ => self.hand_over(call, None, now),
        }
    }

    /// Whether the slot is found by the whole map.
    fn knows(&self, finder: &Finder, slot: Slot) -> bool {
        let is_known = finder.has_map() && self.directory().members(slot).next().is_some();
        if is_known {
            finder.note_direct();
        }
        is_known
    }

    /// Sends a call to one of those that hold its slot: `found`, or by the map.
    pub(crate) fn hand_over(
        self: &Arc<Self>,
        mut call: Box<Call>,
        found: Option<&[Arc<Endpoint>]>,
        now: Instant,
    ) {
        let spread = match call.prepared.shape.place {
            Place::Slot(slot) | Place::Primary(slot) => usize::from(slot.0),
            Place::Node | Place::Anywhere => 0,
        };
        let refused = match self.choose(&mut call, found, now) {
            Ok(endpoint) => match endpoint.push(call, spread, now) {
                Ok(()) => return,
                Err(refused) => refused,
            },
            Err(NoWay::NoNodePort) => {
                call.finish(Err(Error::invalid(
                    "it concerns the whole table or several slots, which only a node port serves, and \
                     none is known: all seeds are bricks' ports; add a node port to Options::seeds",
                )));
                return;
            }
            Err(NoWay::AllDown) => (
                call,
                AttemptFailure::NotSent("no address of the cluster answers".to_owned()),
            ),
        };
        let (call, failure) = refused;
        call.on_failure(failure);
    }

    fn choose(
        self: &Arc<Self>,
        call: &mut Call,
        found: Option<&[Arc<Endpoint>]>,
        now: Instant,
    ) -> Result<Arc<Endpoint>, NoWay> {
        if let Route::Free { redirect } = &mut call.route
            && let Some(address) = redirect.take()
        {
            return Ok(self.endpoint(&address));
        }
        let mut suspect = None;
        let directory = self.directory();
        let chosen = match (call.prepared.shape.place, found) {
            (Place::Slot(slot) | Place::Primary(slot), None) => {
                let members = directory.members(slot);
                self.choose_holder(&directory, members, call, now, &mut suspect)
            }
            (Place::Slot(_) | Place::Primary(_), Some(found)) => {
                self.choose_holder(&directory, found.iter(), call, now, &mut suspect)
            }
            (place, _) => self.choose_port(&directory, place, call, now),
        };
        drop(directory);
        if let Some(suspect) = suspect {
            self.probe(&suspect, now);
        }
        chosen
    }

    /// One of those that hold the call's slot, or who passes it on to them.
    fn choose_holder<'a>(
        &self,
        directory: &Directory,
        members: impl Iterator<Item = &'a Arc<Endpoint>> + Clone,
        call: &mut Call,
        now: Instant,
        suspect: &mut Option<Arc<Endpoint>>,
    ) -> Result<Arc<Endpoint>, NoWay> {
        let avoid = call.avoid.take();
        let may_be_replica = matches!(call.prepared.shape.place, Place::Slot(_)) && call.is_read();
        let lard = self.client.options.reads.lard().filter(|_| may_be_replica);
        let chosen = match lard {
            Some(lard) => Directory::replica(members, call.prepared.key_hash, lard, avoid, now),
            None => directory.primary(members, now, suspect),
        };
        let stand_in = || directory.stand_in(Kind::Brick, avoid, self.random(), now);
        chosen.or_else(stand_in).ok_or(NoWay::AllDown)
    }

    /// Some port, for a call that is about no slot.
    fn choose_port(
        &self,
        directory: &Directory,
        place: Place,
        call: &mut Call,
        now: Instant,
    ) -> Result<Arc<Endpoint>, NoWay> {
        let avoid = call.avoid.take();
        if place == Place::Anywhere {
            let chosen = directory.stand_in(Kind::Brick, avoid, self.random(), now);
            return chosen.ok_or(NoWay::AllDown);
        }
        let chosen = directory.stand_in(Kind::Unknown, avoid, self.random(), now);
        chosen.ok_or_else(|| {
            let is_brick = |it: &Arc<Endpoint>| it.peer.kind() == Kind::Brick;
            if directory.nodes.is_empty() && directory.seeds.iter().all(is_brick) {
                NoWay::NoNodePort
            } else {
                NoWay::AllDown
            }
        })
    }

    /// Finds out whether an address that was silent is there: once it is heard, calls go there again.
    fn probe(self: &Arc<Self>, endpoint: &Endpoint, now: Instant) {
        let shape = Shape {
            is_read: true,
            place: Place::Anywhere,
        };
        let ping = Prepared::new(shape, 0, &["PING"]);
        // What it says is of no interest.
        drop(self.ask(endpoint, ping, (now, now + self.setting.silence_limit)));
    }

    /// Whom to ask for the map, best first: who knows, then node ports, then bricks, those that answer before
    /// those that do not, who is doubted behind others, and otherwise by chance.
    pub(crate) fn informants(&self, hint: &Hint) -> Vec<Arc<Endpoint>> {
        let now = Instant::now();
        let directory = self.directory();
        let doubted = hint.doubted.as_deref();
        let doubted_node = doubted.and_then(|it| directory.node_port_of(it));
        let mut all: Vec<Arc<Endpoint>> = Vec::new();
        for endpoint in directory.all() {
            if !all
                .iter()
                .any(|known| known.peer.address == endpoint.peer.address)
            {
                all.push(Arc::clone(endpoint));
            }
        }
        // Who says that there is news has it; others may not have heard yet.
        if let (Some(finder), Some(knows)) = (&self.finder, &hint.knows)
            && !all.iter().any(|known| known.peer.address == *knows)
        {
            all.push(finder.endpoint(knows, || self.new_brick(knows)));
        }
        all.sort_by_cached_key(|it| {
            let address = Some(it.peer.address.as_str());
            let is_hinted = hint.knows.as_deref() == address;
            let is_doubted = address == doubted || address == doubted_node;
            (
                !is_hinted,
                !it.peer.is_up(now) || is_doubted,
                it.peer.kind(),
                self.random(),
            )
        });
        all
    }

    /// Works by `map` from now on.
    pub(crate) fn install(&self, map: SlotMap) {
        let mut directory = self.directory_mut();
        let addresses = map.addresses().iter();
        let mapped = addresses
            .map(|address| {
                directory
                    .find(address)
                    .unwrap_or_else(|| self.new_brick(address))
            })
            .collect();
        let is_seed = |address: &String| {
            let mut seeds = directory.seeds.iter();
            seeds.any(|it| it.peer.address == *address)
        };
        let nodes = map.node_ports().iter().filter(|it| !is_seed(it));
        let nodes = nodes.map(|address| {
            let known = directory.find(address);
            known.unwrap_or_else(|| Endpoint::new(address, Kind::Node, &self.setting))
        });
        let nodes: Vec<Arc<Endpoint>> = nodes.collect();
        // A server that tells of none leaves those that another told of.
        if !map.node_ports().is_empty() {
            directory.nodes = nodes;
        }
        directory.map = map;
        // Endpoints that are in neither list close their connections once nothing is owed there.
        directory.mapped = mapped;
    }

    /// Begins lookups at these from now on, and goes by `map` if that may be held besides.
    pub(crate) fn install_starts(
        &self,
        finder: &Finder,
        (starts, map): (Vec<Start>, Option<SlotMap>),
        version: u64,
    ) {
        let bytes = map.as_ref().map(SlotMap::bytes);
        let may_hold = finder.install(starts, bytes, &self.setting.random);
        if let Some(map) = map.filter(|_| may_hold) {
            return self.install(map);
        }
        let nodes = finder.nodes(&self.setting.random);
        let is_seed = |address: &String| {
            let directory = self.directory();
            directory.seeds.iter().any(|it| it.peer.address == *address)
        };
        let nodes = nodes.iter().filter(|address| !is_seed(address));
        let nodes = nodes.map(|address| {
            let known = self.directory().find(address);
            known.unwrap_or_else(|| Endpoint::new(address, Kind::Node, &self.setting))
        });
        let nodes: Vec<Arc<Endpoint>> = nodes.collect();
        let mut directory = self.directory_mut();
        directory.map = SlotMap::empty().of_version(version);
        directory.mapped = Vec::new();
        directory.nodes = nodes;
    }

    /// What became of lookups, and how much is known of the map.
    pub(crate) fn lookup_counts(&self) -> LookupCounts {
        match &self.finder {
            Some(finder) => finder.counts(),
            None => LookupCounts {
                map_bytes: self.directory().map.bytes(),
                ..LookupCounts::default()
            },
        }
    }

    /// For each run of slots that the same addresses hold: its first slot, the one behind its last, and those, the primary's first.
    pub(crate) fn holders(&self) -> Vec<(u16, u16, Vec<String>)> {
        self.directory().map.runs()
    }

    /// How new the map is at least that this works by.
    pub(crate) fn map_version(&self) -> u64 {
        self.directory().map.version()
    }

    /// Notes where a slot is; whether that is news.
    fn repair(&self, slot: Slot, address: &str) -> bool {
        if let Some(finder) = &self.finder {
            finder.note_miss(slot);
            if !finder.has_map() {
                return false;
            }
        }
        let mut directory = self.directory_mut();
        let (place, is_news) = directory.map.repair(slot, address);
        if place == directory.mapped.len() {
            let endpoint = directory.find(address);
            directory
                .mapped
                .push(endpoint.unwrap_or_else(|| self.new_brick(address)));
        }
        is_news
    }

    /// Who is remembered to hold the call's slot does not serve it.
    fn doubt(&self, call: &Call) {
        if let Some(finder) = &self.finder
            && let Place::Slot(slot) | Place::Primary(slot) = call.prepared.shape.place
        {
            finder.doubt(slot);
        }
    }

    pub(crate) fn endpoint(&self, address: &str) -> Arc<Endpoint> {
        let known = self.directory().find(address);
        known.unwrap_or_else(|| match &self.finder {
            Some(finder) => finder.endpoint(address, || self.new_brick(address)),
            None => self.new_brick(address),
        })
    }

    fn new_brick(&self, address: &str) -> Arc<Endpoint> {
        Endpoint::new(address, Kind::Brick, &self.setting)
    }

    pub(crate) fn random(&self) -> u64 {
        self.setting.random.next()
    }

    pub(crate) fn directory(&self) -> RwLockReadGuard<'_, Directory> {
        // Nothing panics between two changes that belong together.
        self.directory
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn directory_mut(&self) -> RwLockWriteGuard<'_, Directory> {
        self.directory
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller for Router {
    fn setting(&self) -> &Setting {
        &self.setting
    }

    fn give_back(&self, cost: u32) {
        self.client.budget.give_back(cost);
    }

    fn settle(
        self: Arc<Self>,
        mut call: Box<Call>,
        peer: Option<Arc<Peer>>,
        failure: AttemptFailure,
    ) {
        let now = Instant::now();
        if let Some(peer) = &peer {
            call.note_failure(&failure, peer, now);
        }
        let nature = call.nature();
        call.has_left |= failure.is_open(nature);
        if let AttemptFailure::Reply(line) = &failure
            && let Some(floor) = ids_up_to(line).filter(|_| !call.has_left)
        {
            call.rename(floor);
        }
        let verdict = decide(failure, nature, call.attempt, call.allowance());
        let (again, otherwise) = match verdict {
            Verdict::Fail(error) => {
                let error = call.honest(error);
                return call.finish(Err(error));
            }
            // It is no longer true that it was never sent.
            Verdict::Again { again, .. } if call.has_left && call.is_read() => {
                let after = call.allowance();
                (again, Error::Timeout { after })
            }
            Verdict::Again { again, otherwise } => (again, call.honest(otherwise)),
        };
        if matches!(call.route, Route::Fixed) {
            return call.finish(Err(otherwise));
        }
        match again {
            Again::At { slot, host, port } if now < call.deadline() => {
                let asked = peer.map_or_else(String::new, |it| host_of(&it.address).to_owned());
                let address = Again::address(&host, port, &asked);
                // A replica that does not serve a read may be none any more.
                let is_news = self.repair(slot, &address) || call.is_read();
                // What is remembered is mended by the next lookup.
                if is_news && self.finder.as_ref().is_none_or(|it| it.has_map()) {
                    self.refresh_soon(Hint {
                        knows: Some(address.clone()),
                        ..Hint::default()
                    });
                }
                call.route = Route::Free {
                    redirect: Some(address),
                };
                call.attempt += 1;
                self.dispatch(call, now);
            }
            Again::At { .. } => call.finish(Err(otherwise)),
            Again::AfterPause { is_map_old } => {
                if is_map_old {
                    self.doubt(&call);
                    let doubted = peer.map(|it| it.address.clone());
                    self.refresh_soon(Hint {
                        doubted,
                        ..Hint::default()
                    });
                }
                call.pauses += 1;
                let pause = pause(call.pauses, &self.setting.random);
                if now + pause >= call.deadline() {
                    return call.finish(Err(otherwise));
                }
                call.attempt += 1;
                let router = Arc::clone(&self);
                self.setting.runtime.spawn(async move {
                    sleep(pause).await;
                    router.dispatch(call, Instant::now());
                });
            }
        }
    }
}

/// Why a call has nowhere to go.
enum NoWay {
    /// Nobody answers; that may change.
    AllDown,
    /// Only a node port would do, and there is none.
    NoNodePort,
}
