//! A service's port, and its end.

use axum::Router;
use std::io;
use tokio::net::TcpListener;

/// Serves HTTP until the service is told to stop; requests that have begun are answered then.
///
/// # Errors
/// The port cannot be used any more.
pub async fn serve(listener: TcpListener, service: &str, routes: Router) -> io::Result<()> {
    println!(
        "{service}: http://{}/ (Ctrl-C stops it)",
        listener.local_addr()?
    );
    axum::serve(listener, routes)
        .with_graceful_shutdown(is_stopped())
        .await?;
    println!("{service}: stopped");
    Ok(())
}

/// Waits for Ctrl-C, or for the signal by which supervisors stop programs.
pub async fn is_stopped() {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    let [Ok(mut interrupt), Ok(mut terminate)] = signals else {
        // Without a handler the signal ends the process by itself.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
