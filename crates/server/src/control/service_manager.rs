//! What systemd (or whatever set `NOTIFY_SOCKET`) is told of the node: that it is ready or stopping, and what it does or waits
//! for meanwhile, which `systemctl status` shows.
//!
//! In:  the node's phase, what it waits for. Out: notifications (sd_notify(3)), if anybody asked for them.
//!
//! Invariant: what is told is one line, whoever's words are in it: another line would be a notification of its own.

use super::status::{Phase, View};
use std::ffi::OsStr;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;

/// Names the socket to tell.
const SOCKET: &str = "NOTIFY_SOCKET";

/// What is said of a stop, step by step.
pub(super) const HANDING_OVER: &str = "Stopping: handing over to other nodes what this one leads";
pub(super) const FINISHING: &str = "Stopping: answering what is in flight";
pub(super) const SYNCING: &str = "Stopping: syncing the logs";

/// The node serves.
pub(super) fn ready() {
    tell("READY=1\n");
}

/// The node is going to end; with its first step.
pub(super) fn stopping() {
    tell(&format!("STOPPING=1\nSTATUS={HANDING_OVER}\n"));
}

/// The node does that now.
pub(super) fn status(text: &str) {
    tell(&format!("STATUS={}\n", one_line(text)));
}

/// Tells what the node does, or waits for, whenever that changes, until it is told to stop.
pub(super) async fn follow(view: Arc<View>) {
    if std::env::var_os(SOCKET).is_none() {
        return;
    }
    let (mut phase, mut cluster_view) = (view.phase.clone(), view.cluster_view.clone());
    let mut told = String::new();
    loop {
        let now = *phase.borrow_and_update();
        let waits_for = cluster_view.borrow_and_update().waits_for();
        if now == Phase::Stopping {
            return;
        }
        let text = words(now, waits_for);
        if text != told {
            status(&text);
            told = text;
        }
        // Both senders live as long as the control thread, which runs this.
        let changed = tokio::select! {
            changed = phase.changed() => changed,
            changed = cluster_view.changed() => changed,
        };
        if changed.is_err() {
            return;
        }
    }
}

fn words(phase: Phase, waits_for: Option<String>) -> String {
    match (phase, waits_for) {
        (Phase::Starting, None) => "Starting: reading its logs".to_owned(),
        (Phase::Starting | Phase::Waiting, Some(what)) => format!("Starting: waits for {what}"),
        // Between two leases, say.
        (Phase::Ready, Some(what)) => format!("Waits for {what}"),
        (Phase::Ready | Phase::Waiting, None) => "Serving".to_owned(),
        (Phase::Stopping, _) => HANDING_OVER.to_owned(),
    }
}

fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn tell(message: &str) {
    let Some(path) = std::env::var_os(SOCKET) else {
        return;
    };
    if let Err(error) = send(&path, message) {
        tracing::warn!(%error, socket = ?path, "the service manager cannot be told how the node is");
    }
}

/// By hand, for the package that does it (sd-notify 0.5) knows no sockets without a file, which some managers have.
fn send(path: &OsStr, message: &str) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    match path.as_encoded_bytes() {
        #[cfg(target_os = "linux")]
        [b'@', name @ ..] => {
            use std::os::linux::net::SocketAddrExt as _;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
            socket.send_to_addr(message.as_bytes(), &address)?;
        }
        _ => {
            socket.send_to(message.as_bytes(), path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "service_manager_test.rs"]
mod service_manager_test;
