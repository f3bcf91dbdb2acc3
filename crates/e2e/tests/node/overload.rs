//! More offered than can be done: the excess waits within bounds or is refused, and all is well after.

use brickyard_e2e::client::{Client, encode};
use brickyard_e2e::server::Setup;
use std::sync::atomic::{AtomicU64, Ordering};

const MIB: u64 = 1 << 20;

/// Many connections send far ahead of the replies; every reply is either right or a refusal that
/// promises that nothing was done, memory stays within its bounds, and afterwards all work as before.
#[test]
fn excess_load_is_bounded_and_leaves_no_trace() {
    const CONNECTIONS: usize = 60;
    const REQUESTS: usize = 4_000;
    const VALUE_BYTES: usize = 1_000;
    let limits = ["--pending-append-bytes-max", "1MiB"];
    let mut server = Setup::brickyard(2).arguments(&limits).start();
    let before = server.process().resident_bytes();
    let refused = AtomicU64::new(0);
    let done = AtomicU64::new(0);
    let port = server.port();
    std::thread::scope(|scope| {
        for connection in 0..CONNECTIONS {
            let (refused, done) = (&refused, &done);
            scope.spawn(move || {
                let mut client = Client::connect(port);
                let mut requests = Vec::new();
                for number in 0..REQUESTS {
                    let key = format!("{connection}:{}", number % 50);
                    encode(&mut requests, &["SET", &key, &"v".repeat(VALUE_BYTES)]);
                }
                let mut sender = client.stream().try_clone().expect("a socket can be shared");
                let sending =
                    std::thread::spawn(move || std::io::Write::write_all(&mut sender, &requests));
                for _ in 0..REQUESTS {
                    let reply = client.receive().expect("every request is answered");
                    if reply.is_error() {
                        let is_retryable = ["BUSY", "TRYAGAIN", "OOM"]
                            .iter()
                            .any(|prefix| reply.is_error_with(prefix));
                        assert!(is_retryable, "a refusal that no client retries on: {reply}");
                        refused.fetch_add(1, Ordering::Relaxed);
                    } else {
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                }
                sending
                    .join()
                    .expect("the sender ends")
                    .expect("everything was taken");
            });
        }
    });
    let grown = server.process().resident_bytes().saturating_sub(before);
    assert!(grown < 400 * MIB, "memory grew by {} MiB", grown / MIB);
    assert!(done.into_inner() > 0, "nothing was done");
    println!("{} requests were refused", refused.into_inner());
    let mut client = server.connect();
    for number in 0..100 {
        client.must(&["SET", &format!("after{number}"), "v"]);
    }
    assert_eq!(server.process().exit_status(), None);
}

/// A `SET` that was acknowledged is there, one that was refused is not, also under overload.
#[test]
fn refusals_under_load_are_honest() {
    let limits = ["--pending-append-bytes-max", "1MiB"];
    let server = Setup::brickyard(1).arguments(&limits).start();
    let value = "v".repeat(200_000);
    let mut client = server.connect();
    let mut requests = Vec::new();
    const REQUESTS: usize = 200;
    for number in 0..REQUESTS {
        encode(&mut requests, &["SET", &format!("k{number}"), &value]);
    }
    let mut sender = client.stream().try_clone().expect("a socket can be shared");
    let sending = std::thread::spawn(move || std::io::Write::write_all(&mut sender, &requests));
    let replies: Vec<_> = (0..REQUESTS)
        .map(|_| client.receive().expect("a reply"))
        .collect();
    sending
        .join()
        .expect("the sender ends")
        .expect("everything was taken");
    for (number, reply) in replies.iter().enumerate() {
        let is_there = !client.call(&["GET", &format!("k{number}")]).is_null();
        assert_eq!(
            is_there,
            reply.is_ok(),
            "k{number} was answered with {reply}"
        );
    }
}
