//! What may be in flight, and what happens to the rest.

use crate::{Cluster, fake::Answer};
use brickyard_client::{Client, Error, Options};
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
    time::{Duration, Instant},
};

#[tokio::test]
async fn no_more_is_sent_than_may_be_in_flight() {
    let cluster = Cluster::of(1, false).await;
    let options = Options {
        in_flight_max: 4,
        ..cluster.hasty_options()
    };
    let table = cluster.table(options).await;
    cluster.bricks[0].on_request(|words| match words[0].as_str() {
        "INCR" => Answer::Nothing,
        _ => Answer::Usual,
    });
    let calls: Vec<_> = (0..10)
        .map(|_| table.with_deadline(Duration::from_millis(100)).incr("k"))
        .collect();
    let mut waited = table.with_deadline(Duration::from_secs(20)).set("k", "v");
    tokio::select! {
        biased;
        _ = &mut waited => panic!("there was no room for it"),
        () = cluster.bricks[0].wait_for("INCR", 4) => {}
    }
    assert_eq!(cluster.asked("INCR"), [4]);
    assert_eq!(cluster.asked("SET"), [0]);
    for call in calls {
        let outcome = call.await;
        let is_told = matches!(
            outcome,
            Err(Error::UnknownOutcome { .. }
                | Error::Overloaded { .. }
                | Error::Unreachable { .. })
        );
        assert!(is_told, "{outcome:?}");
    }
    cluster.bricks[0].on_request(|_| Answer::Usual);
    waited.await.unwrap();
}

#[tokio::test]
async fn bytes_are_bounded_too_and_a_huge_request_goes_alone() {
    let cluster = Cluster::of(1, false).await;
    let options = Options {
        in_flight_bytes_max: 1000,
        ..cluster.options()
    };
    let table = cluster.table(options).await;
    let small: Vec<_> = (0..20)
        .map(|n| table.set(format!("small:{n}"), "x".repeat(200)))
        .collect();
    let huge = table.set("huge", "x".repeat(100_000));
    for call in small {
        call.await.unwrap();
    }
    huge.await.unwrap();
    assert_eq!(cluster.world.lock().unwrap().data.len(), 21);
}

#[tokio::test]
async fn a_write_whose_turn_never_comes_was_never_sent() {
    let cluster = Cluster::of(1, false).await;
    let options = Options {
        in_flight_max: 1,
        ..cluster.options()
    };
    let table = cluster.table(options).await;
    cluster.bricks[0].on_request(|words| match words[0].as_str() {
        "GET" => Answer::Nothing,
        _ => Answer::Usual,
    });
    let first = table.get("k");
    let write = table
        .with_deadline(Duration::from_millis(50))
        .set("k", "v")
        .await;
    assert!(matches!(write, Err(Error::Overloaded { .. })), "{write:?}");
    drop(first);
    assert_eq!(cluster.asked("SET"), [0]);
}

#[tokio::test]
async fn who_would_have_to_wait_as_long_as_the_last_one_is_told_at_once() {
    let cluster = Cluster::of(1, false).await;
    let options = Options {
        in_flight_max: 1,
        ..cluster.options()
    };
    let table = cluster.table(options).await;
    for port in [&cluster.bricks[0], &cluster.node] {
        port.on_request(|words| match words[0].as_str() {
            "GET" => Answer::Nothing,
            _ => Answer::Usual,
        });
    }
    let first = table.with_deadline(Duration::from_millis(200)).get("k");
    let second = tokio::spawn(table.get("k"));
    assert!(matches!(first.await, Err(Error::Timeout { .. })));
    // Once the second has had its turn, which it waited 200 ms for: this one may wait for 50.
    let hasty = table.with_deadline(Duration::from_millis(100));
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let mut third = hasty.set("k", "v");
        let told = poll_fn(|context| Poll::Ready(Pin::new(&mut third).poll(context)));
        match told.await {
            Poll::Ready(Err(Error::Overloaded { after })) => {
                break assert!(after >= Duration::from_millis(100), "{after:?}");
            }
            told => assert!(told.is_pending() && Instant::now() < until, "{told:?}"),
        }
        tokio::task::yield_now().await;
    }
    second.abort();
    assert_eq!(cluster.asked("SET"), [0]);
}

#[tokio::test]
async fn what_is_too_long_for_the_server_does_not_reach_it() {
    let cluster = Cluster::of(1, false).await;
    let options = Options {
        messages: brickyard_client::MessageLimits {
            argument_bytes_max: 10,
            ..brickyard_client::MessageLimits::default()
        },
        ..cluster.options()
    };
    let table = cluster.table(options).await;
    let long_key = table.get("k".repeat(65_536)).await;
    let long_value = table.set("k", "x".repeat(11)).await;
    assert!(matches!(long_key, Err(Error::Invalid { .. })));
    assert!(matches!(long_value, Err(Error::Invalid { .. })));
    assert_eq!(cluster.asked("SET"), [0]);
}

#[tokio::test]
async fn a_closed_client_takes_no_calls_and_finishes_those_it_has() {
    let cluster = Cluster::of(1, false).await;
    let client = Client::connect(cluster.options()).await.unwrap();
    let table = client.home_table();
    let before = table.set("k", "v");
    client.close();
    assert_eq!(table.get("k").await, Err(Error::Closed));
    before.await.unwrap();
}

#[test]
fn calls_end_when_their_runtime_stops() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let theirs = runtime();
    let (table, write, read, cluster) = theirs.block_on(async {
        let cluster = Cluster::of(1, false).await;
        let table = cluster.table(cluster.options()).await;
        cluster.bricks[0].on_request(|words| match words[0].as_str() {
            "HELLO" | "REQUEST" | "CLUSTER" => Answer::Usual,
            _ => Answer::Nothing,
        });
        let (write, read) = (table.set("k", "v"), table.get("k"));
        cluster.bricks[0].wait_for("GET", 1).await;
        (table, write, read, cluster)
    });
    drop(theirs);
    runtime().block_on(async {
        assert!(matches!(write.await, Err(Error::UnknownOutcome { .. })));
        assert_eq!(read.await, Err(Error::Closed));
        assert_eq!(
            table.get("k").await,
            Err(Error::Closed),
            "nothing runs there any more"
        );
    });
    drop(cluster);
}

#[tokio::test]
async fn connections_close_when_the_last_handle_is_gone() {
    let cluster = Cluster::of(1, false).await;
    let table = cluster.table(cluster.options()).await;
    table.set("k", "v").await.unwrap();
    drop(table);
    while cluster.bricks[0].open() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
