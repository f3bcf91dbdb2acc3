use super::run;
use crate::{
    Error,
    echo::Echo,
    keys::{Distribution, KeySpace},
    link::Target,
    options::{Arrivals, Options, Pace, Until},
    workload::Workload,
};
use std::{
    net::{SocketAddr, TcpListener},
    sync::mpsc,
    thread,
    time::Duration,
};

/// Starts a server in this process that answers every GET of [`options`] with `reply`.
fn start_echo(reply: &[u8]) -> SocketAddr {
    let echo = Echo {
        request_bytes: b"*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000000\r\n".len(),
        reply: reply.to_vec(),
    };
    let (sender, receiver) = mpsc::channel();
    // It lives as long as the test process; nothing of it outlives that.
    thread::spawn(move || {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        echo.serve(address, |address| sender.send(address).unwrap())
    });
    receiver.recv().unwrap()
}

fn options(address: SocketAddr) -> Options {
    Options {
        target: Target::resp(address.to_string()),
        workload: Workload {
            set_share: 0.0,
            keys: KeySpace {
                count: 1000,
                bytes: 16,
                distribution: Distribution::Uniform,
            },
            value_bytes_min: 10,
            value_bytes_max: 10,
            expire_ms: None,
        },
        pace: Pace::Closed { pipeline: 1 },
        until: Until::Count(1001),
        warm_up: Duration::ZERO,
        connections: 5,
        threads: 1,
        seed: 1,
        drain_limit: Duration::from_secs(10),
    }
}

#[test]
fn a_closed_loop_sends_exactly_the_asked_count() {
    let address = start_echo(b"$3\r\nabc\r\n");
    for (pipeline, threads) in [(1, 1), (7, 1), (100, 2)] {
        let pace = Pace::Closed { pipeline };
        let report = run(&Options {
            pace,
            threads,
            ..options(address)
        })
        .unwrap();
        assert_eq!(
            (report.count, report.unanswered),
            (1001, 0),
            "pipeline {pipeline}"
        );
        assert_eq!(report.operations[0].misses, 0);
        assert!(report.latency.max_us > 0.0);
    }
}

#[test]
fn an_open_loop_sends_what_is_due() {
    let address = start_echo(b"$-1\r\n");
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        let pace = Pace::Open {
            per_s: 20_000.0,
            arrivals,
            waiting_max: 1_000_000,
        };
        let report = run(&Options {
            pace,
            ..options(address)
        })
        .unwrap();
        assert_eq!(
            (report.count, report.unanswered, report.not_sent),
            (1001, 0, 0)
        );
        assert_eq!(report.operations[0].misses, 1001);
        assert_eq!(report.offered_per_s, Some(20_000.0));
    }
}

#[test]
fn an_open_loop_leaves_out_what_would_wait_too_long() {
    let address = start_echo(b"");
    let report = run(&Options {
        pace: Pace::Open {
            per_s: 1e6,
            arrivals: Arrivals::Constant,
            waiting_max: 10,
        },
        until: Until::Count(100),
        drain_limit: Duration::from_millis(50),
        ..options(address)
    });
    // The server never answers, so after the drain at most ten are owed, and the others were never
    // sent.
    let report = report.unwrap();
    assert_eq!(report.count, 0);
    assert!(report.unanswered <= 10, "{report:?}");
    assert_eq!(report.unanswered + report.not_sent, 100);
}

#[test]
fn error_replies_are_counted_by_kind_and_not_as_success() {
    let address = start_echo(b"-BUSY queue is full\r\n");
    let report = run(&options(address)).unwrap();
    assert_eq!(report.count, 0);
    assert_eq!(report.refused["BUSY"], 1001);
}

#[test]
fn a_peer_that_speaks_something_else_ends_the_run() {
    let address = start_echo(b"HTTP/1.1 400 Bad Request\r\n");
    assert!(matches!(run(&options(address)), Err(Error::Reply(_))));
}

#[test]
fn a_server_that_goes_away_ends_the_run() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        for _ in 0..5 {
            drop(listener.accept().unwrap());
        }
    });
    let result = run(&options(address));
    server.join().unwrap();
    assert!(
        matches!(&result, Err(Error::ConnectionsLost { connections: 5, .. })),
        "{result:?}"
    );
}

#[test]
fn contradicting_options_are_refused_before_anything_is_sent() {
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    for (bad, word) in [
        (
            Options {
                threads: 9,
                ..options(address)
            },
            "threads",
        ),
        (
            Options {
                pace: Pace::Closed { pipeline: 0 },
                ..options(address)
            },
            "pipeline",
        ),
    ] {
        let message = run(&bad).unwrap_err().to_string();
        assert!(message.contains(word), "{message}");
    }
}
