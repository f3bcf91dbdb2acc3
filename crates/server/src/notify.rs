//! Tells systemd (or whatever set `NOTIFY_SOCKET`) that the node is ready or stopping.

use std::io;
use std::os::unix::net::UnixDatagram;

/// What there is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    Stopping,
}

/// Sends `state` if somebody asked for it.
pub(crate) fn notify(state: State) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    if let Err(error) = send(&path, state) {
        tracing::warn!(%error, socket = ?path, "cannot notify the service manager");
    }
}

fn send(path: &std::ffi::OsStr, state: State) -> io::Result<()> {
    let message: &[u8] = match state {
        State::Ready => b"READY=1\n",
        State::Stopping => b"STOPPING=1\n",
    };
    let socket = UnixDatagram::unbound()?;
    match path.as_encoded_bytes() {
        #[cfg(target_os = "linux")]
        [b'@', name @ ..] => {
            use std::os::linux::net::SocketAddrExt as _;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
            socket.send_to_addr(message, &address)?;
        }
        _ => {
            socket.send_to(message, path)?;
        }
    }
    Ok(())
}
