//! TCP where packets are lost.
//!
//! In:  sockets, addresses. Out: sockets that send lost segments again soon; connections that do not wait for a lost first
//!      segment.
//!
//! The kernel's defaults are made for long ways: a lost segment is sent again after 200 ms, then after twice that and so on, and
//! the first one of a connection after a second. Within a data centre an answer takes less than a millisecond, so that a few lost
//! segments in a row cost seconds for nothing.
//!
//! Not here: deadlines of calls (`client`), who is suspected for being slow (`replication`).

use nix::libc::{self, c_int};
use nix::sys::socket::setsockopt;
use nix::{setsockopt_impl, sockopt_impl};
use std::io;
use std::os::fd::AsFd;
use std::pin::pin;
use std::time::Duration;
use tokio::net::{TcpStream, ToSocketAddrs, lookup_host};
use tokio::time::sleep;

/// The least time after which a segment is sent again, in microseconds. Above what Linux lets an acknowledgement wait for data to go with (40 ms),
/// so that little is sent twice for nothing.
const SENT_AGAIN_AFTER: c_int = 60_000;

/// How long our own acknowledgements wait at most, in microseconds.
const ACKNOWLEDGED_WITHIN: c_int = 20_000;

/// A connection that is not there by then is tried once more beside, and again.
const TRIED_AGAIN_AFTER: Duration = Duration::from_millis(150);
const TRIES: usize = 3;

/// Linux has these since 6.15, and the `libc` crate has not.
const TCP_RTO_MIN_US: c_int = 45;
const TCP_DELACK_MAX_US: c_int = 46;

sockopt_impl!(
    /// As long as little is under way, the time after which a segment is sent again does not double.
    ThinLinearTimeouts,
    SetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_THIN_LINEAR_TIMEOUTS,
    bool
);
sockopt_impl!(
    /// Microseconds after which a segment is sent again, at least.
    RetransmissionMin,
    SetOnly,
    libc::IPPROTO_TCP,
    TCP_RTO_MIN_US,
    c_int
);
sockopt_impl!(
    /// Microseconds that an acknowledgement waits, at most.
    AcknowledgementMax,
    SetOnly,
    libc::IPPROTO_TCP,
    TCP_DELACK_MAX_US,
    c_int
);

/// Has a socket send lost segments again soon. What a listening socket accepts has it from that.
///
/// What an older kernel does not know it does without.
pub fn endure_loss(socket: &impl AsFd) {
    let _ = setsockopt(socket, ThinLinearTimeouts, &true);
    let _ = setsockopt(socket, RetransmissionMin, &SENT_AGAIN_AFTER);
    let _ = setsockopt(socket, AcknowledgementMax, &ACKNOWLEDGED_WITHIN);
}

/// Connects; small segments leave at once.
///
/// # Errors
/// If the address cannot be resolved, or nobody listens there.
pub async fn connect(address: impl ToSocketAddrs) -> io::Result<TcpStream> {
    let addresses: Vec<_> = lookup_host(address).await?.collect();
    let stream = race(TRIES, &|| TcpStream::connect(&addresses[..])).await?;
    stream.set_nodelay(true)?;
    endure_loss(&stream);
    Ok(stream)
}

/// What the first of so many tries comes to that ends. Each begins when the one before has taken long.
async fn race<T, F: Future<Output = io::Result<T>>>(
    tries: usize,
    begin: &impl Fn() -> F,
) -> io::Result<T> {
    let mut first = pin!(begin());
    if tries <= 1 {
        return first.await;
    }
    tokio::select! {
        result = &mut first => return result,
        () = sleep(TRIED_AGAIN_AFTER) => {}
    }
    let others = Box::pin(race(tries - 1, begin));
    tokio::select! {
        result = first => result,
        result = others => result,
    }
}

#[cfg(test)]
mod lib_test {
    use super::{TCP_DELACK_MAX_US, TCP_RTO_MIN_US, TRIES, connect, endure_loss, race};
    use nix::libc::{self, c_int};
    use nix::sys::socket::getsockopt;
    use nix::{getsockopt_impl, sockopt_impl};
    use std::cell::Cell;
    use std::future::pending;
    use std::io;
    use std::net::TcpListener;
    use std::os::fd::AsFd;

    sockopt_impl!(Min, GetOnly, libc::IPPROTO_TCP, TCP_RTO_MIN_US, c_int);
    sockopt_impl!(Max, GetOnly, libc::IPPROTO_TCP, TCP_DELACK_MAX_US, c_int);
    sockopt_impl!(
        Linear,
        GetOnly,
        libc::IPPROTO_TCP,
        libc::TCP_THIN_LINEAR_TIMEOUTS,
        bool
    );

    /// Microseconds are none where the kernel is older.
    fn settings(socket: &impl AsFd) -> (bool, Option<[c_int; 2]>) {
        let times = getsockopt(socket, Min).and_then(|it| Ok([it, getsockopt(socket, Max)?]));
        (getsockopt(socket, Linear).unwrap(), times.ok())
    }

    #[tokio::test]
    async fn both_ends_of_a_connection_send_again_soon() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        endure_loss(&listener);
        let ours = connect(listener.local_addr().unwrap()).await.unwrap();
        let (theirs, _) = listener.accept().unwrap();
        for (is_linear, times) in [settings(&ours), settings(&theirs)] {
            assert!(is_linear);
            // The kernel counts in ticks of its own.
            let is_soon = |[again, acknowledged]: [c_int; 2]| {
                (60_000..=80_000).contains(&again) && acknowledged <= 30_000
            };
            assert!(times.is_none_or(is_soon), "{times:?}");
        }
    }

    #[tokio::test]
    async fn nobody_there_is_said_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let error = connect(address).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[tokio::test(start_paused = true)]
    async fn a_try_that_takes_long_gets_others_beside_it_and_no_more_than_so_many() {
        for lost in 0..TRIES {
            let begun = Cell::new(0);
            let begin = || {
                begun.set(begun.get() + 1);
                let at = begun.get();
                async move {
                    if at <= lost {
                        pending::<()>().await;
                    }
                    Ok(at)
                }
            };
            assert_eq!(race(TRIES, &begin).await.unwrap(), lost + 1);
            assert_eq!(begun.get(), lost + 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_try_may_still_win() {
        let begun = Cell::new(0);
        let begin = || {
            begun.set(begun.get() + 1);
            let at = begun.get();
            async move {
                match at {
                    1 => tokio::time::sleep(super::TRIED_AGAIN_AFTER * 5).await,
                    _ => pending().await,
                }
                Ok(at)
            }
        };
        assert_eq!(race(TRIES, &begin).await.unwrap(), 1);
        assert_eq!(begun.get(), TRIES);
    }
}
