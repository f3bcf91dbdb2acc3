use super::*;
use std::collections::BTreeSet;
use tokio::sync::oneshot;

fn later() -> (oneshot::Sender<u32>, Pending<u32>) {
    let (sender, receiver) = oneshot::channel();
    let call = Pending::joined(async move { receiver.await.map_err(|_| Error::Closed) });
    (sender, call)
}

#[tokio::test]
async fn calls_come_out_in_the_order_in_which_they_end() {
    let mut calls = Completions::new();
    let (one, call) = later();
    let first = calls.add(call);
    let (two, call) = later();
    let second = calls.add(call);
    assert_eq!(calls.len(), 2);
    assert!(calls.poll().is_none(), "nothing has ended");
    two.send(2).expect("it is waited for");
    let (id, result) = calls.next().await.expect("two are there");
    assert_eq!((id, result.expect("it went well")), (second, 2));
    assert!(calls.poll().is_none(), "the first has not ended");
    one.send(1).expect("it is waited for");
    let (id, result) = calls.poll().expect("it has ended");
    assert_eq!((id, result.expect("it went well")), (first, 1));
    assert!(calls.is_empty());
    assert!(calls.next().await.is_none(), "none is left");
}

#[tokio::test]
async fn a_call_that_fails_comes_out_with_its_error() {
    let mut calls = Completions::new();
    let known = calls.add(Pending::known(7));
    let failed = calls.add(Pending::failed(Error::Closed));
    let mut seen = BTreeSet::new();
    while let Some((id, result)) = calls.next().await {
        assert_eq!(result.is_ok(), id == known);
        seen.insert(id);
    }
    assert_eq!(seen, BTreeSet::from([known, failed]));
}

#[tokio::test]
async fn names_are_not_used_again() {
    let mut calls = Completions::new();
    let first = calls.add(Pending::known(1));
    assert!(calls.next().await.is_some());
    assert_ne!(calls.add(Pending::known(1)), first);
}

#[tokio::test]
async fn a_handler_is_called_with_the_result() {
    let (sender, receiver) = oneshot::channel();
    let (answer, call) = later();
    call.upcall(|result| sender.send(result.is_ok()).expect("it is waited for"));
    answer.send(5).expect("it is waited for");
    assert_eq!(receiver.await, Ok(true));
}
