//! The control thread: what a loop must not wait for.
//!
//! In:  requests of the loops (catalog changes, passwords, shutdown), signals, HTTP.
//! Out: answers to the loops, the catalog's file, the node's phase.
//!
//! Invariants:
//! - A catalog change is on the disk before any brick hears of it, and is answered after all have it.
//! - Changes happen one after the other, in the order in which they were asked for.
//! - Nothing here is on the path of a data command: a stuck disk or a flood of passwords delays
//!   table changes, not reads and writes.

mod authenticate;
mod catalog_file;
mod changes;
mod http;
mod http_listener;
mod link;
mod metrics;
mod process;
mod shutdown;
mod status;

pub(crate) use authenticate::Authenticator;
pub use catalog_file::CatalogError;
pub(crate) use catalog_file::CatalogFile;
pub(crate) use link::{ControlLink, LoopLink, Notices, ToControl, ToLoop, new as link};
pub(crate) use process::{memory_total, os};
pub(crate) use shutdown::stopper;
pub use shutdown::{Signals, Stopper};
pub(crate) use status::{Opened, Phase, View};

use brickyard_brick::{ControlReply, ControlRequest};
use brickyard_metadata::Catalog;
use changes::Changes;
use http_listener::HttpListener;
use shutdown::Stop;
use std::cell::RefCell;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::LocalSet;

/// Requests of all loops that may wait for the control thread.
pub(crate) const REQUESTS_MAX: usize = 1024;

/// How often process figures are read and full rings looked at again.
const HOUSEKEEPING: Duration = Duration::from_millis(500);

/// What the control thread has from the start.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) http: Option<TcpListener>,
    pub(crate) signals: Signals,
    pub(crate) stop: Stop,
    pub(crate) stop_timeout: Duration,
}

/// What it gets once the node is open and its loops run.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) opened: Opened,
    pub(crate) loops: Vec<LoopLink>,
    pub(crate) requests: mpsc::Receiver<ToControl>,
    pub(crate) notices: Arc<Notices>,
    pub(crate) authenticator: Authenticator,
    pub(crate) catalog_file: CatalogFile,
    pub(crate) catalog: watch::Sender<Arc<Catalog>>,
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
        signals,
        mut stop,
        stop_timeout,
    } = setup;
    let (phase, phase_seen) = watch::channel(Phase::Starting);
    let view = Arc::new(View {
        phase: phase_seen,
        opened: OnceLock::new(),
    });
    if let Some(listener) = http {
        tokio::task::spawn_local(serve_http(listener, Arc::clone(&view)));
    }
    if signals == Signals::Handle {
        tokio::task::spawn_local(shutdown::handle_signals(stop.stopper()));
    }
    // A sender that is gone means that the start failed: the node tells why.
    let Ok(running) = from_node.await else { return };
    let Running {
        opened,
        loops,
        requests,
        notices,
        authenticator,
        catalog_file,
        catalog,
    } = running;
    let shared = Arc::clone(&opened.shared);
    drop(view.opened.set(opened));
    phase.send_replace(Phase::Ready);
    let loops = Rc::new(RefCell::new(loops));
    let changes = Changes::start(
        Rc::clone(&loops),
        Arc::clone(&notices),
        catalog_file,
        catalog,
    );
    tokio::task::spawn_local(serve_requests(
        requests,
        Rc::clone(&loops),
        changes,
        Arc::new(authenticator),
        stop.stopper(),
    ));
    let housekeeping_loops = Rc::clone(&loops);
    tokio::task::spawn_local(async move {
        let mut interval = tokio::time::interval(HOUSEKEEPING);
        loop {
            interval.tick().await;
            process::refresh(&shared.process);
            for link in housekeeping_loops.borrow_mut().iter_mut() {
                link.flush();
            }
        }
    });
    stop.wait().await;
    phase.send_replace(Phase::Stopping);
    crate::notify::notify(crate::notify::State::Stopping);
    shutdown::drain(&loops, &notices, stop_timeout).await;
    // HTTP goes on saying "stopping" until the logs are synced and the threads have ended.
    drop(node_ended.await);
}

async fn serve_requests(
    mut requests: mpsc::Receiver<ToControl>,
    loops: Rc<RefCell<Vec<LoopLink>>>,
    changes: Changes,
    authenticator: Arc<Authenticator>,
    stopper: Stopper,
) {
    while let Some(ToControl {
        brick,
        token,
        request,
    }) = requests.recv().await
    {
        match request {
            ControlRequest::Change(change) => changes.ask(brick, token, change),
            ControlRequest::Authenticate { user, password } => {
                let check = Arc::clone(&authenticator).check(user, password);
                let loops = Rc::clone(&loops);
                tokio::task::spawn_local(async move {
                    let reply = match check.await {
                        Ok(is_right) => ControlReply::Authenticated(is_right),
                        Err(reason) => ControlReply::Failed(reason),
                    };
                    answer(&loops, brick, token, reply);
                });
            }
            ControlRequest::Shutdown => {
                tracing::info!("stopping: a client asked for it");
                stopper.stop();
            }
        }
    }
}

fn answer(loops: &RefCell<Vec<LoopLink>>, brick: usize, token: u64, reply: ControlReply) {
    if let Some(link) = loops.borrow_mut().get_mut(brick) {
        link.send(ToLoop::Reply(token, reply));
    }
}

async fn serve_http(listener: TcpListener, view: Arc<View>) {
    let served = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => axum::serve(HttpListener::new(listener), http::router(view)).await,
        Err(error) => Err(error),
    };
    if let Err(error) = served {
        tracing::error!(%error, "HTTP has ended: health and metrics are not served any more");
    }
}
