//! Connections that break, replies that do not come, and refusals of the moment.

use crate::{Cluster, fake::Answer, key_of};
use brickyard_client::{Error, Options};
use std::{collections::BTreeMap, time::Duration};

/// Short, for what has to pass.
const SHORT: Duration = Duration::from_millis(150);

#[tokio::test]
async fn a_broken_pipeline_leaves_writes_unknown_and_repeats_reads() {
    let cluster = Cluster::of(1, false).await;
    let table = cluster.table(cluster.options()).await;
    table.set("first", "v").await.unwrap();
    // The tenth request of the pipeline is read, and nothing from there on answered.
    let mut left = 10;
    cluster.bricks[0].on_request(move |_| {
        left -= 1;
        if left == 0 {
            Answer::HangUp
        } else {
            Answer::Usual
        }
    });
    let writes: Vec<_> = (0..20).map(|n| table.incr(format!("count:{n}"))).collect();
    let reads: Vec<_> = (0..20).map(|_| table.get("first")).collect();
    let mut unknown = 0;
    for (number, write) in writes.into_iter().enumerate() {
        match write.await {
            Ok(count) => assert_eq!((count, number < 9), (1, true)),
            Err(Error::UnknownOutcome { .. }) => unknown += 1,
            Err(other) => panic!("write {number}: {other}"),
        }
    }
    assert_eq!(unknown, 11);
    for read in reads {
        assert_eq!(read.await.unwrap().as_deref(), Some(&b"v"[..]));
    }
    let world = cluster.world.lock().unwrap();
    assert!(
        world.writes.values().all(|count| *count == 1),
        "{:?}",
        world.writes
    );
}

#[tokio::test]
async fn what_was_not_sent_when_the_connection_broke_is_sent_again() {
    let cluster = Cluster::of(1, false).await;
    let table = cluster.table(cluster.options()).await;
    table.set("first", "v").await.unwrap();
    // Far more than sockets hold, so most of it is still here when the brick hangs up.
    let value = "x".repeat(1024 * 1024);
    let mut left = 3;
    cluster.bricks[0].on_request(move |_| {
        left -= 1;
        if left == 0 {
            Answer::HangUp
        } else {
            Answer::Usual
        }
    });
    let writes: Vec<_> = (0..50)
        .map(|n| (n, table.set(format!("big:{n}"), &value)))
        .collect();
    let mut outcomes = BTreeMap::new();
    for (number, write) in writes {
        outcomes.insert(format!("big:{number}"), write.await);
    }
    let world = cluster.world.lock().unwrap();
    let stored = outcomes.values().filter(|it| it.is_ok()).count();
    assert!(stored >= 30, "only {stored} were sent again");
    for (key, outcome) in &outcomes {
        let writes = world.writes.get(key).copied().unwrap_or_default();
        match outcome {
            Ok(()) => assert_eq!(writes, 1, "{key}"),
            Err(Error::UnknownOutcome { .. }) => assert!(writes <= 1, "{key}"),
            Err(other) => panic!("{key}: {other}"),
        }
    }
}

#[tokio::test]
async fn calls_to_a_brick_that_is_away_are_sent_when_it_is_back() {
    let mut cluster = Cluster::of(1, false).await;
    let seeds = vec![cluster.bricks[0].address.clone()];
    let options = Options {
        seeds,
        ..cluster.options()
    };
    let table = cluster.table(options).await;
    cluster.bricks[0].stop().await;
    let writes: Vec<_> = (0..100).map(|n| table.incr(format!("count:{n}"))).collect();
    tokio::time::sleep(Duration::from_millis(20)).await;
    cluster.bricks[0].listen().await;
    for write in writes {
        // The first ones may have been on the way when it went; none is executed twice.
        assert!(matches!(
            write.await,
            Ok(1) | Err(Error::UnknownOutcome { .. })
        ));
    }
    table.incr("later").await.unwrap();
}

#[tokio::test]
async fn never_sent_is_unreachable_when_the_deadline_passes() {
    let mut cluster = Cluster::of(1, false).await;
    let table = cluster.table(cluster.options()).await.with_deadline(SHORT);
    cluster.bricks[0].stop().await;
    cluster.node.stop().await;
    // A connection that was open breaks first.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let write = table.set("k", "v").await;
    assert!(matches!(write, Err(Error::Unreachable { .. })), "{write:?}");
}

#[tokio::test]
async fn a_silent_brick_costs_the_deadline_and_tells_reads_from_writes() {
    let cluster = Cluster::of(1, false).await;
    let table = cluster.table(cluster.hasty_options()).await;
    table.set("k", "v").await.unwrap();
    cluster.bricks[0].on_request(|_| Answer::Nothing);
    cluster.node.on_request(|_| Answer::Nothing);
    let table = table.with_deadline(SHORT);
    let (read, write) = (table.get("k"), table.set("k", "w"));
    assert_eq!(read.await, Err(Error::Timeout { after: SHORT }));
    let write = write.await;
    assert!(
        matches!(write, Err(Error::UnknownOutcome { .. })),
        "{write:?}"
    );
    cluster.bricks[0].on_request(|_| Answer::Usual);
    cluster.node.on_request(|_| Answer::Usual);
    table
        .with_deadline(Duration::from_secs(20))
        .set("k", "x")
        .await
        .unwrap();
}

#[tokio::test]
async fn a_read_on_a_silent_connection_is_asked_elsewhere_in_time() {
    let cluster = Cluster::of(1, false).await;
    let table = cluster.table(cluster.hasty_options()).await;
    table.set("k", "v").await.unwrap();
    cluster.bricks[0].on_request(|_| Answer::Nothing);
    let read = table.with_deadline(Duration::from_secs(2)).get("k").await;
    assert_eq!(read.unwrap().as_deref(), Some(&b"v"[..]));
    assert_eq!(cluster.node.asked("GET").len(), 1);
    // The silent connection may still answer, but what is called from now on takes another.
    cluster.bricks[0].on_request(|_| Answer::Usual);
    while cluster.bricks[0].opened() < 2 {
        table.set("k", "w").await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn busy_is_waited_out() {
    let cluster = Cluster::of(1, false).await;
    let table = cluster.table(cluster.options()).await;
    let mut left = 5;
    cluster.bricks[0].on_request(move |words| {
        if words[0] == "INCR" && left > 0 {
            left -= 1;
            return Answer::Say("-BUSY a queue is full\r\n".to_owned());
        }
        Answer::Usual
    });
    assert_eq!(table.incr("k").await, Ok(1));
    assert_eq!(cluster.bricks[0].asked("INCR").len(), 6);
}

#[tokio::test]
async fn busy_until_the_deadline_is_refused_in_the_servers_words() {
    let cluster = Cluster::of(1, false).await;
    let table = cluster.table(cluster.options()).await.with_deadline(SHORT);
    cluster.bricks[0].on_request(|words| match words[0].as_str() {
        "INCR" => Answer::Say("-BUSY a queue is full\r\n".to_owned()),
        _ => Answer::Usual,
    });
    let refused = Error::Refused {
        text: "BUSY a queue is full".to_owned(),
    };
    // A busy machine may let the deadline pass while the last try is on its way.
    while table.incr("k").await != Err(refused.clone()) {}
    let tries = cluster.bricks[0].asked("INCR").len();
    assert!(tries >= 2, "it was not tried again");
}

#[tokio::test]
async fn an_unknown_result_is_never_asked_for_again() {
    let cluster = Cluster::of(1, false).await;
    let table = cluster.table(cluster.options()).await;
    cluster.bricks[0].on_request(|words| match words[0].as_str() {
        "INCR" => Answer::Say("-UNKNOWNRESULT a sync failed\r\n".to_owned()),
        _ => Answer::Usual,
    });
    let error = table.incr("k").await.unwrap_err();
    assert!(!error.is_not_executed() && error.to_string().contains("a sync failed"));
    assert_eq!(cluster.bricks[0].asked("INCR").len(), 1);
}

#[tokio::test]
async fn bricks_that_send_us_in_circles_do_not_keep_us_for_ever() {
    let cluster = Cluster::of(2, false).await;
    let table = cluster.table(cluster.options()).await.with_deadline(SHORT);
    for brick in 0..2 {
        let other = cluster.bricks[1 - brick].address.clone();
        cluster.bricks[brick].on_request(move |words| match words[0].as_str() {
            "GET" => Answer::Say(format!("-MOVED 7 {other}\r\n")),
            _ => Answer::Usual,
        });
    }
    let error = table.get("k").await.unwrap_err();
    // A busy machine may let the deadline pass while the last try is on its way.
    assert!(
        error.prefix() == Some("MOVED") || matches!(error, Error::Timeout { .. }),
        "{error}"
    );
    let tries: usize = cluster.asked("GET").iter().sum();
    assert!((1..40).contains(&tries), "{tries} tries");
}

#[tokio::test]
async fn messages_that_answer_nothing_are_stepped_over() {
    let cluster = Cluster::of(1, false).await;
    let table = cluster.table(cluster.options()).await;
    cluster.bricks[0].on_request(|words| match words[0].as_str() {
        "GET" => {
            Answer::Say(">2\r\n+invalidate\r\n*0\r\n|1\r\n+ttl\r\n:5\r\n$1\r\nv\r\n".to_owned())
        }
        _ => Answer::Usual,
    });
    for _ in 0..3 {
        assert_eq!(table.get("k").await.unwrap().as_deref(), Some(&b"v"[..]));
    }
    assert_eq!(cluster.bricks[0].opened(), 1);
}

#[tokio::test]
async fn bytes_that_are_no_reply_break_the_connection_and_leave_writes_unknown() {
    let cluster = Cluster::of(1, false).await;
    let table = cluster.table(cluster.options()).await;
    let mut is_first = true;
    cluster.bricks[0].on_request(move |words| match words[0].as_str() {
        "SET" if std::mem::take(&mut is_first) => Answer::Say("what?\r\n".to_owned()),
        _ => Answer::Usual,
    });
    let write = table.set("k", "v").await;
    assert!(
        matches!(write, Err(Error::UnknownOutcome { .. })),
        "{write:?}"
    );
    table.set(key_of(0, 1, 0), "v").await.unwrap();
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_is_opened_again() {
    let mut cluster = Cluster::of(1, false).await;
    let table = cluster.table(cluster.options()).await;
    table.set("k", "v").await.unwrap();
    cluster.bricks[0].stop().await;
    cluster.bricks[0].listen().await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(table.get("k").await.unwrap().as_deref(), Some(&b"v"[..]));
    table.set("k", "w").await.unwrap();
}
