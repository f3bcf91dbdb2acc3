//! Writes with ids: sent again until their outcome is known, and executed once.

use crate::{
    Cluster,
    fake::{Answer, CLOCK},
};
use brickyard_client::{Error, Table};
use std::time::Duration;

/// Short, for what has to pass.
const SHORT: Duration = Duration::from_millis(150);

async fn named(bricks: usize) -> (Cluster, Table) {
    let cluster = Cluster::of(bricks, false).await;
    cluster.world.lock().unwrap().has_ids = true;
    let table = cluster.table(cluster.options()).await;
    table.set("first", "v").await.unwrap();
    (cluster, table)
}

/// The id and the attempt of each request with this command.
fn attempts(cluster: &Cluster, command: &str) -> Vec<(String, String)> {
    let bricks = cluster.bricks.iter().chain([&cluster.node]);
    let all = bricks.flat_map(|port| port.asked("REQUEST"));
    all.filter(|words| words.get(4).is_some_and(|word| word == command))
        .map(|words| (words[2].clone(), words[3].clone()))
        .collect()
}

#[tokio::test]
async fn a_write_whose_reply_was_lost_is_asked_again_and_executed_once() {
    let (cluster, table) = named(1).await;
    // It is executed, and the connection breaks before the reply.
    let world = cluster.world.clone();
    let mut is_first = true;
    cluster.bricks[0].on_request(move |words| {
        if words[0] == "REQUEST" && words[1] != "NOW" && std::mem::take(&mut is_first) {
            let mut world = world.lock().unwrap();
            world.data.insert("count".to_owned(), "1".to_owned());
            *world.writes.entry("count".to_owned()).or_default() += 1;
            let id = (words[1].clone(), words[2].clone());
            world.outcomes.insert(id, ":1\r\n".to_owned());
            return Answer::HangUp;
        }
        Answer::Usual
    });
    assert_eq!(table.incr("count").await, Ok(1));
    assert_eq!(cluster.world.lock().unwrap().writes["count"], 1);
    let attempts = attempts(&cluster, "INCR");
    assert_eq!(attempts.len(), 2);
    assert_eq!((&*attempts[0].1, &*attempts[1].1), ("FIRST", "AGAIN"));
    assert_eq!(attempts[0].0, attempts[1].0);
    let sequence: u64 = attempts[0].0.parse().unwrap();
    assert!(sequence >= CLOCK, "it follows the cluster's clock");
}

#[tokio::test]
async fn ids_rise_and_reads_have_none() {
    let (cluster, table) = named(1).await;
    for _ in 0..5 {
        table.incr("k").await.unwrap();
    }
    table.get("k").await.unwrap();
    let ids = attempts(&cluster, "INCR");
    assert!(ids.windows(2).all(|pair| pair[0].0 < pair[1].0), "{ids:?}");
    assert_eq!(cluster.bricks[0].asked("GET").len(), 1);
    assert!(cluster.bricks[0].asked("INCR").is_empty());
}

#[tokio::test]
async fn what_is_known_not_to_be_executed_is_sent_first_again() {
    let (cluster, table) = named(1).await;
    let mut left = 2;
    cluster.bricks[0].on_request(move |words| {
        if words.get(4).is_some_and(|word| word == "INCR") && left > 0 {
            left -= 1;
            return Answer::Say("-BUSY a queue is full\r\n".to_owned());
        }
        Answer::Usual
    });
    assert_eq!(table.incr("k").await, Ok(1));
    let attempts = attempts(&cluster, "INCR");
    assert_eq!(attempts.len(), 3);
    assert!(
        attempts
            .iter()
            .all(|it| it.1 == "FIRST" && it.0 == attempts[0].0)
    );
}

#[tokio::test]
async fn an_unknown_result_is_asked_for_until_it_is_known() {
    let (cluster, table) = named(1).await;
    let mut left = 2;
    cluster.bricks[0].on_request(move |words| {
        if words.get(4).is_some_and(|word| word == "INCR") && left > 0 {
            left -= 1;
            return Answer::Say("-UNKNOWNRESULT a view changed\r\n".to_owned());
        }
        Answer::Usual
    });
    assert_eq!(table.incr("k").await, Ok(1));
    let words: Vec<String> = attempts(&cluster, "INCR")
        .into_iter()
        .map(|it| it.1)
        .collect();
    assert_eq!(words, ["FIRST", "AGAIN", "AGAIN"]);
}

#[tokio::test]
async fn what_the_servers_have_forgotten_stays_unknown() {
    let (cluster, table) = named(1).await;
    cluster.bricks[0].on_request(|words| match words.get(4).map(String::as_str) {
        Some("INCR") => Answer::Say("-UNKNOWNRESULT forgotten: too long ago\r\n".to_owned()),
        _ => Answer::Usual,
    });
    let error = table.incr("k").await.unwrap_err();
    assert!(matches!(error, Error::UnknownOutcome { .. }), "{error}");
    assert_eq!(attempts(&cluster, "INCR").len(), 1);
}

#[tokio::test]
async fn an_id_that_is_too_low_is_replaced_by_one_above_the_floor() {
    let (cluster, table) = named(1).await;
    let floor = CLOCK + 3_600_000_000;
    let mut is_first = true;
    cluster.bricks[0].on_request(move |words| {
        let is_incr = words.get(4).is_some_and(|word| word == "INCR");
        if is_incr && std::mem::take(&mut is_first) {
            return Answer::Say(format!(
                "-TRYAGAIN ids up to {floor} are not all remembered\r\n"
            ));
        }
        Answer::Usual
    });
    assert_eq!(table.incr("k").await, Ok(1));
    let attempts = attempts(&cluster, "INCR");
    assert_eq!((attempts.len(), &*attempts[1].1), (2, "FIRST"));
    assert!(attempts[1].0.parse::<u64>().unwrap() > floor);
}

#[tokio::test]
async fn a_refusal_of_the_last_attempt_does_not_deny_the_first() {
    let (cluster, table) = named(1).await;
    let mut is_first = true;
    let refuse = move |words: &[String]| match words.get(4).map(String::as_str) {
        Some("INCR") if std::mem::take(&mut is_first) => Answer::HangUp,
        Some("INCR") => Answer::Say("-BUSY a queue is full\r\n".to_owned()),
        _ => Answer::Usual,
    };
    cluster.bricks[0].on_request(refuse);
    let error = table.with_deadline(SHORT).incr("k").await.unwrap_err();
    assert!(matches!(error, Error::UnknownOutcome { .. }), "{error}");
    // An answer that comes of executing it, though, is one.
    let mut is_first = true;
    let refuse = move |words: &[String]| match words.get(4).map(String::as_str) {
        Some("INCR") if std::mem::take(&mut is_first) => Answer::HangUp,
        Some("INCR") => Answer::Say("-ERR value is not an integer\r\n".to_owned()),
        _ => Answer::Usual,
    };
    cluster.bricks[0].on_request(refuse);
    let error = table.incr("k").await.unwrap_err();
    assert_eq!(error.prefix(), Some("ERR"));
}

#[tokio::test]
async fn a_write_on_a_silent_connection_is_asked_elsewhere_in_time() {
    let cluster = Cluster::of(1, false).await;
    cluster.world.lock().unwrap().has_ids = true;
    let table = cluster.table(cluster.hasty_options()).await;
    table.set("k", "1").await.unwrap();
    cluster.bricks[0].on_request(|_| Answer::Nothing);
    let table = table.with_deadline(Duration::from_secs(2));
    assert_eq!(table.incr("k").await, Ok(2));
    assert_eq!(attempts(&cluster, "INCR").last().unwrap().1, "AGAIN");
}
