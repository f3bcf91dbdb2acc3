//! The control thread: what a loop must not wait for.
//!
//! In:  requests of the loops (passwords, shutdown, and for the cluster: changes, streams), signals.
//! Out: answers to the loops, the node's phase.
//!
//! Invariants:
//! - Nothing here is on the path of a data command.
//! - Nothing on this thread waits for a disk, a password or HTTP: the cluster's part of the node runs on it,
//!   and with it the renewal of leases.
//!
//! Not here: the catalog and leases (`cluster`), HTTP (a thread of its own).

mod authenticate;
mod catalog_file;
mod copies;
mod file_systems;
mod housekeeping;
mod http;
pub(crate) mod http_listener;
mod link;
mod membership;
mod metrics;
pub(crate) mod partitions;
mod process;
mod service_manager;
mod shutdown;
pub(crate) mod status;
pub(crate) mod tokens;
mod turnover;

pub(crate) use authenticate::Authenticator;
pub(crate) use catalog_file::CatalogFile;
pub(crate) use file_systems::FileSystems;
use link::send_all;
pub(crate) use link::{ControlLink, LoopLink, Notices, ToControl, ToLoop, new as link};
pub(crate) use process::{memory_total, os};
pub(crate) use shutdown::stopper;
pub use shutdown::{Signals, Stopper};
pub(crate) use status::{Opened, Phase, View};
pub(crate) use tokens::Tokens;
pub use tokens::TokensError;

use crate::cluster::view::ClusterView;
use crate::cluster::{self, Driver, Loops, Order};
use crate::console;
use crate::random;
use crate::reload::Current;
use crate::tls::Expiries;
use axum::Router;
use brickyard_brick::{ControlReply, ControlRequest};
use brickyard_metadata::{Catalog, Change};
use brickyard_node::io::Ask;
use brickyard_node::{ChangeOrigin, ToBrick};
use brickyard_tls::rustls::ServerConfig;
use copies::Copies;
use housekeeping::{Housekeeping, Shown};
pub(crate) use http_listener::CONNECTIONS_MAX as HTTP_CONNECTIONS_MAX;
use http_listener::{HttpListener, Peer};
use shutdown::Stop;
use std::cell::RefCell;
use std::future::IntoFuture as _;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::{Arc, OnceLock, mpsc as std_mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::LocalSet;
use turnover::Turnover;

/// Requests of all loops that may wait for the control thread.
pub(crate) const REQUESTS_MAX: usize = 1024;

/// A node opens for clients when it may serve, or after so many times a lease: about what its registration and its
/// first lease take in a cluster that has a leader.
const OPENING_LEASES: u32 = 2;

/// What the control thread has from the start.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) http: Option<TcpListener>,
    /// What HTTP's connections go by.
    pub(crate) http_tls: Current<Arc<ServerConfig>>,
    /// Whom HTTP answers.
    pub(crate) http_tokens: Current<Arc<Tokens>>,
    /// How the console is served, if it is.
    pub(crate) console: Option<console::Settings>,
    /// When the certificates end that this node shows.
    pub(crate) expiries: Expiries,
    pub(crate) signals: Signals,
    /// Has certificates and tokens read again.
    pub(crate) reload: std_mpsc::Sender<()>,
    pub(crate) stop: Stop,
    pub(crate) stop_timeout: Duration,
    pub(crate) cluster: cluster::Setup,
    /// What the cluster's part shows.
    pub(crate) cluster_view: watch::Receiver<ClusterView>,
    /// Told once the node serves; dropped if it never will.
    pub(crate) serving: std_mpsc::SyncSender<()>,
}

/// What it gets once the node is open and its loops run.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) opened: Opened,
    pub(crate) loops: Vec<LoopLink>,
    pub(crate) requests: mpsc::Receiver<ToControl>,
    pub(crate) authenticator: Authenticator,
    pub(crate) catalog: watch::Sender<Arc<Catalog>>,
    /// The end of a log was cut off.
    pub(crate) is_end_cut: bool,
}

/// The control thread, as the node sees it.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) handle: JoinHandle<()>,
    /// Hands over the loops once they run.
    pub(crate) running: oneshot::Sender<Running>,
    /// Dropped when the node's threads have ended, which ends the control thread.
    pub(crate) ended: oneshot::Sender<()>,
}

/// Starts the control thread; HTTP says "starting" from now on.
///
/// # Errors
/// The runtime or the thread cannot be made.
pub(crate) fn start(setup: Setup) -> std::io::Result<Control> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(8)
        .thread_name("control-work")
        .build()?;
    let (running, from_node) = oneshot::channel();
    let (ended, node_ended) = oneshot::channel();
    let handle = crate::fatal::spawn("control".to_owned(), move || {
        let local = LocalSet::new();
        local.block_on(&runtime, run(setup, from_node, node_ended));
    })?;
    Ok(Control {
        handle,
        running,
        ended,
    })
}

async fn run(
    setup: Setup,
    from_node: oneshot::Receiver<Running>,
    node_ended: oneshot::Receiver<()>,
) {
    let Setup {
        http,
        http_tls,
        http_tokens,
        console,
        expiries,
        signals,
        reload,
        mut stop,
        stop_timeout,
        cluster,
        cluster_view,
        serving,
    } = setup;
    let (phase, phase_seen) = watch::channel(Phase::Starting);
    let (copies, copies_seen) = watch::channel(Copies::default());
    let (turnover, turnover_seen) = watch::channel(Turnover::default());
    let view = Arc::new(View {
        phase: phase_seen,
        cluster_view: cluster_view.clone(),
        opened: OnceLock::new(),
        copies: copies_seen,
        turnover: turnover_seen,
        expiries,
    });
    tokio::task::spawn_local(service_manager::follow(Arc::clone(&view)));
    let router = http::router(Arc::clone(&view), http_tokens, console);
    let http = http.map(|listener| Http::start(listener, http_tls, router));
    if signals == Signals::Handle {
        tokio::task::spawn_local(shutdown::handle_signals(stop.stopper(), reload));
    }
    let notices = Arc::clone(&cluster.notices);
    let patience = cluster.timing.lease * OPENING_LEASES;
    let (orders, from_control) = mpsc::unbounded_channel();
    let driver = tokio::task::spawn_local(Driver::new(cluster).run(from_control));
    // A sender that is gone means that the start failed: the node tells why.
    let running = tokio::select! {
        running = from_node => running.ok(),
        () = stop.wait() => None,
    };
    let Some(running) = running else {
        // With it goes whoever waits for a cluster.
        driver.abort();
        return;
    };
    let Running {
        opened,
        loops,
        requests,
        authenticator,
        catalog,
        is_end_cut,
    } = running;
    let shared = Arc::clone(&opened.shared);
    let catalog_seen = opened.catalog.clone();
    let file_systems = Arc::clone(&opened.file_systems);
    drop(view.opened.set(opened));
    phase.send_replace(Phase::Waiting);
    let loops = Rc::new(RefCell::new(loops));
    let order = Order::Running {
        loops: Loops::new(Rc::clone(&loops)),
        catalog,
        is_end_cut,
    };
    // The driver ends after this task.
    drop(orders.send(order));
    tokio::task::spawn_local(serve_requests(
        requests,
        Rc::clone(&loops),
        orders.clone(),
        Arc::new(authenticator),
        stop.stopper(),
    ));
    let housekeeping = Housekeeping {
        shared,
        catalog: catalog_seen,
        file_systems,
        loops: Rc::clone(&loops),
        shown: Shown { copies, turnover },
    };
    tokio::task::spawn_local(housekeeping.run());
    let open = || send_all(&loops, || ToLoop::Open);
    tokio::select! {
        () = follow_cluster_view(cluster_view, &phase, serving, open, patience) => {}
        () = stop.wait() => {}
    }
    phase.send_replace(Phase::Stopping);
    service_manager::stopping();
    hand_over(&orders, stop_timeout).await;
    service_manager::status(service_manager::FINISHING);
    shutdown::drain(&loops, &notices, stop_timeout).await;
    service_manager::status(service_manager::SYNCING);
    // HTTP goes on saying "stopping" until the logs are synced and the threads have ended.
    drop(node_ended.await);
    drop(http);
}

/// Says whether the node serves, as it changes, for ever; and opens it for clients when it does.
///
/// Whoever is answered finds a node that says that it is ready. One that may not serve for so long, as without a
/// majority of its cluster, opens all the same: it can say what it waits for.
async fn follow_cluster_view(
    mut cluster_view: watch::Receiver<ClusterView>,
    phase: &watch::Sender<Phase>,
    serving: std_mpsc::SyncSender<()>,
    open: impl Fn(),
    patience: Duration,
) {
    let mut serving = Some(serving);
    let mut is_open = false;
    let opens_at = tokio::time::Instant::now() + patience;
    loop {
        let is_serving = cluster_view.borrow_and_update().is_serving();
        let now = if is_serving {
            Phase::Ready
        } else {
            Phase::Waiting
        };
        let is_new = phase.send_if_modified(|phase| std::mem::replace(phase, now) != now);
        if is_serving && !std::mem::replace(&mut is_open, true) {
            open();
        }
        if is_new && is_serving {
            service_manager::ready();
            if let Some(serving) = serving.take() {
                let sent = serving.try_send(());
                debug_assert!(sent != Err(std_mpsc::TrySendError::Full(())), "told twice");
            }
        }
        tokio::select! {
            changed = cluster_view.changed() => if changed.is_err() {
                // The driver has panicked, and with it the process.
                std::future::pending::<()>().await;
            },
            () = tokio::time::sleep_until(opens_at), if !is_open => {
                is_open = true;
                open();
            }
        }
    }
}

/// Lets other nodes take over what they can, at most for half of the time that a stop may take.
async fn hand_over(orders: &UnboundedSender<Order>, stop_timeout: Duration) {
    let (done, is_done) = oneshot::channel();
    drop(orders.send(Order::Drain(done)));
    if tokio::time::timeout(stop_timeout / 2, is_done)
        .await
        .is_err()
    {
        tracing::warn!(
            "not everything could be handed over to other nodes in half of stop_timeout: they go on when \
             this node's lease has run out"
        );
    }
}

async fn serve_requests(
    mut requests: mpsc::Receiver<ToControl>,
    loops: Rc<RefCell<Vec<LoopLink>>>,
    orders: UnboundedSender<Order>,
    authenticator: Arc<Authenticator>,
    stopper: Stopper,
) {
    // The driver lives as long as this task.
    let order = |order| drop(orders.send(order));
    while let Some(ToControl { brick, ask }) = requests.recv().await {
        match ask {
            Ask::Dial(peer) => order(Order::Dial(brick, peer)),
            Ask::Request(token, ControlRequest::Change(change)) => {
                order(Order::Change(ChangeOrigin { brick, token }, change));
            }
            Ask::Request(token, ControlRequest::CatchUp) => {
                order(Order::CatchUp(ChangeOrigin { brick, token }));
            }
            Ask::Request(
                token,
                ControlRequest::Authenticate {
                    user,
                    password,
                    hashes,
                },
            ) => {
                let check = Arc::clone(&authenticator).check(user, password, hashes);
                let loops = Rc::clone(&loops);
                tokio::task::spawn_local(async move {
                    let reply = match check.await {
                        Ok(is_right) => ControlReply::Authenticated(is_right),
                        Err(reason) => ControlReply::Failed(format!("ERR {reason}")),
                    };
                    answer(&loops, brick, token, reply);
                });
            }
            Ask::Request(
                token,
                ControlRequest::SetAccount {
                    name,
                    initial,
                    rules,
                    hashes,
                },
            ) => {
                let hash = Arc::clone(&authenticator).hash(rules, hashes);
                let (loops, orders) = (Rc::clone(&loops), orders.clone());
                tokio::task::spawn_local(async move {
                    match hash.await {
                        Ok(rules) => {
                            let change = Change::SetAccount {
                                name,
                                initial,
                                rules,
                            };
                            let origin = ChangeOrigin { brick, token };
                            drop(orders.send(Order::Change(origin, change)));
                        }
                        Err(reason) => {
                            let failed = ControlReply::Failed(format!("ERR {reason}"));
                            answer(&loops, brick, token, failed);
                        }
                    }
                });
            }
            Ask::Request(token, ControlRequest::GeneratePassword { bits }) => {
                answer(&loops, brick, token, generated(bits));
            }
            Ask::Request(_, ControlRequest::Shutdown) => {
                tracing::info!("stopping: a client asked for it");
                stopper.stop();
            }
            Ask::Request(_, request) => order(Order::Brick(brick, request)),
        }
    }
}

/// So many random bits as hexadecimal digits.
fn generated(bits: u32) -> ControlReply {
    let digits = bits.div_ceil(4) as usize;
    let mut password = String::new();
    while password.len() < digits {
        match random::bytes::<32>() {
            Ok(bytes) => password.extend(bytes.iter().map(|byte| format!("{byte:02x}"))),
            Err(error) => {
                return ControlReply::Failed(format!("ERR there is no randomness: {error}"));
            }
        }
    }
    password.truncate(digits);
    ControlReply::Generated(password)
}

fn answer(loops: &RefCell<Vec<LoopLink>>, brick: usize, token: u64, reply: ControlReply) {
    if let Some(link) = loops.borrow_mut().get_mut(brick) {
        link.send(ToLoop::Brick(ToBrick::Reply(token, reply)));
    }
}

/// HTTP's thread: rendering the metrics of many tables must not delay a lease.
struct Http {
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Http {
    /// Serves; without a thread for it, the node goes on all the same.
    fn start(listener: TcpListener, tls: Current<Arc<ServerConfig>>, router: Router) -> Self {
        let (end, ended) = oneshot::channel::<()>();
        let thread = crate::fatal::spawn("http".to_owned(), move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let served = runtime.and_then(|runtime| {
                runtime.block_on(async {
                    let listener = tokio::net::TcpListener::from_std(listener)?;
                    let listener = HttpListener::new(listener, tls);
                    let service = router.into_make_service_with_connect_info::<Peer>();
                    let served = axum::serve(listener, service);
                    tokio::select! {
                        served = served.into_future() => served,
                        _ = ended => Ok(()),
                    }
                })
            });
            if let Err(error) = served {
                tracing::error!(%error, "HTTP has ended: health and metrics are not served any more");
            }
        });
        if let Err(error) = &thread {
            tracing::error!(%error, "HTTP cannot be served");
        }
        Self {
            end: Some(end),
            thread: thread.ok(),
        }
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // A panic there ends the process.
            drop(thread.join());
        }
    }
}
