//! Requests for changes: order, repetition, answers.

use super::*;
use brickyard_metadata::{Applied, CatalogVersion};
use brickyard_types::TableId;

const ME: NodeId = NodeId(3);
const LIFE: Incarnation = Incarnation(5);

fn drop_table(name: &str) -> Change {
    Change::DropTable {
        name: name.to_owned(),
    }
}

fn origin(token: u64) -> ChangeOrigin {
    ChangeOrigin { brick: 0, token }
}

fn at(milliseconds: u64) -> Instant {
    Instant(milliseconds * 1_000_000)
}

fn applied(version: u64) -> Outcome {
    Ok(Applied {
        version: CatalogVersion(version),
        table: TableId(1),
        registered: None,
        stale: Vec::new(),
    })
}

fn tokens(answers: &[Answer]) -> Vec<u64> {
    answers.iter().map(|(origin, _)| origin.token).collect()
}

#[test]
fn one_request_is_on_its_way_and_repeated_with_its_number() {
    let mut changes = Changes::default();
    changes.ask(at(0), origin(1), drop_table("a"));
    changes.ask(at(0), origin(2), drop_table("b"));
    let first = changes.poll(at(0), ME, LIFE).expect("sent");
    assert_eq!((first.sequence, first.change.clone()), (1, drop_table("a")));
    assert_eq!(changes.poll(at(10), ME, LIFE), None);
    assert_eq!(changes.poll(at(300), ME, LIFE), Some(first.clone()));
    changes.hurry();
    assert_eq!(changes.poll(at(301), ME, LIFE), Some(first));
    changes.on_outcome(
        at(302),
        1,
        &Err("no such table".to_owned()),
        CatalogVersion(0),
    );
    let second = changes.poll(at(303), ME, LIFE).expect("sent");
    assert_eq!((second.sequence, second.change), (2, drop_table("b")));
    assert_eq!(tokens(&changes.take_answers(at(303), 0)), [1]);
}

#[test]
fn change_is_answered_when_all_bricks_act_by_it() {
    let mut changes = Changes::default();
    changes.ask(at(0), origin(1), drop_table("a"));
    changes.poll(at(0), ME, LIFE);
    changes.on_outcome(at(1), 1, &applied(7), CatalogVersion(0));
    assert!(changes.take_answers(at(2), 6).is_empty());
    let answers = changes.take_answers(at(3), 7);
    assert!(matches!(&answers[..], [(_, ControlReply::Changed(it))] if it.version.0 == 7));
}

fn text(answer: &Answer) -> String {
    match &answer.1 {
        ControlReply::Failed(text) => text.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_sent_and_not_answered_may_be_made_later() {
    let mut changes = Changes::default();
    changes.ask(at(0), origin(1), drop_table("a"));
    changes.poll(at(0), ME, LIFE);
    changes.on_disk_refused("disk full");
    let answers = changes.take_answers(at(1), 0);
    assert!(text(&answers[0]).starts_with("UNKNOWNRESULT"));
    // And if another node leads now, to which it was not sent.
    changes.ask(at(2), origin(2), drop_table("b"));
    changes.poll(at(2), ME, LIFE);
    changes.hurry();
    let answers = changes.take_answers(at(10_002), 0);
    assert!(text(&answers[0]).starts_with("UNKNOWNRESULT"));
}

#[test]
fn refused_change_is_answered_with_an_error() {
    let mut changes = Changes::default();
    changes.ask(at(0), origin(1), drop_table("a"));
    changes.poll(at(0), ME, LIFE);
    changes.on_outcome(
        at(1),
        1,
        &Err("there is no table 'a'".to_owned()),
        CatalogVersion(0),
    );
    let answers = changes.take_answers(at(2), 0);
    assert_eq!(text(&answers[0]), "ERR there is no table 'a'");
}

/// The first one was proposed by a leader that then lost touch, and may be made yet.
#[test]
fn refusal_of_a_change_that_was_sent_before_does_not_say_that_it_is_not_made() {
    let mut changes = Changes::default();
    let refuse = |changes: &mut Changes, sequence: u64| {
        changes.on_refused(sequence, "table 'a' is not whole");
        text(&changes.take_answers(at(400), 0)[0])
    };
    changes.ask(at(0), origin(1), drop_table("a"));
    changes.poll(at(0), ME, LIFE);
    changes.hurry();
    changes.poll(at(1), ME, LIFE);
    let response = refuse(&mut changes, 1);
    assert!(
        response.starts_with("UNKNOWNRESULT table 'a' is not whole"),
        "{response}"
    );
    changes.ask(at(400), origin(2), drop_table("a"));
    changes.poll(at(400), ME, LIFE);
    assert_eq!(refuse(&mut changes, 2), "ERR table 'a' is not whole");
}

#[test]
fn change_that_is_not_made_yet_is_answered_with_a_word_to_ask_again() {
    let mut changes = Changes::default();
    changes.ask(at(0), origin(1), drop_table("a"));
    changes.poll(at(0), ME, LIFE);
    let response = "TRYAGAIN it is on its way".to_owned();
    changes.on_outcome(at(1), 1, &Err(response.clone()), CatalogVersion(0));
    let answers = changes.take_answers(at(1), 0);
    assert_eq!(text(&answers[0]), response);
}

#[test]
fn nobody_waits_for_ever() {
    let mut changes = Changes::default();
    changes.ask(at(0), origin(1), drop_table("a"));
    changes.poll(at(0), ME, LIFE);
    changes.ask(at(0), origin(2), drop_table("b"));
    assert!(changes.take_answers(at(9_000), 0).is_empty());
    let answers = changes.take_answers(at(10_000), 0);
    assert_eq!(tokens(&answers), [1, 2]);
    assert!(
        text(&answers[0]).starts_with("UNKNOWNRESULT"),
        "it was sent"
    );
    assert!(text(&answers[1]).starts_with("CLUSTERDOWN"), "it was not");
    // What came of it after all is nobody's answer.
    changes.on_outcome(at(10_001), 1, &applied(7), CatalogVersion(0));
    assert!(changes.take_answers(at(10_002), 9).is_empty());
}

/// Who looks comes to know all that was acknowledged before, and who comes later needs another look.
#[test]
fn those_that_came_before_a_look_was_sent_share_it() {
    let mut changes = Changes::default();
    changes.look(at(0), origin(1));
    changes.look(at(0), origin(2));
    let first = changes.poll(at(0), ME, LIFE).expect("sent");
    changes.look(at(1), origin(3));
    let refusal = || Err("nothing to alter".to_owned());
    changes.on_outcome(at(2), first.sequence, &refusal(), CatalogVersion(7));
    assert!(
        changes.take_answers(at(2), 6).is_empty(),
        "no brick acts by it"
    );
    let answers = changes.take_answers(at(3), 7);
    assert_eq!(tokens(&answers), [1, 2]);
    assert!(matches!(answers[0].1, ControlReply::CaughtUp));
    // The next one comes later, and changes go on meanwhile.
    assert_eq!(changes.poll(at(4), ME, LIFE), None);
    changes.ask(at(5), origin(4), drop_table("a"));
    let change = changes.poll(at(5), ME, LIFE).expect("sent");
    assert_eq!(change.change, drop_table("a"));
    changes.on_outcome(at(6), change.sequence, &applied(8), CatalogVersion(8));
    let second = changes.poll(at(100), ME, LIFE).expect("sent");
    assert_eq!(second.change, first.change);
    changes.on_outcome(at(101), second.sequence, &refusal(), CatalogVersion(8));
    assert_eq!(tokens(&changes.take_answers(at(101), 8)), [4, 3]);
}

#[test]
fn look_that_comes_to_nothing_says_so_and_never_that_all_is_known() {
    let told = |changes: &mut Changes, now: Instant, adopted: u64| {
        let answers = changes.take_answers(now, adopted);
        answers.iter().map(text).collect::<Vec<_>>()
    };
    let mut changes = Changes::default();
    // Nobody leads, it was sent in vain, the bricks do not follow, and the disk takes nothing.
    changes.look(at(0), origin(1));
    assert_eq!(told(&mut changes, at(10_000), 0), [NO_LOOK]);
    changes.look(at(10_000), origin(2));
    assert!(changes.poll(at(10_000), ME, LIFE).is_some());
    assert_eq!(told(&mut changes, at(20_000), 0), [NO_LOOK]);
    changes.look(at(20_000), origin(3));
    let sent = changes.poll(at(20_000), ME, LIFE).expect("sent");
    let refusal = Err("nothing to alter".to_owned());
    changes.on_outcome(at(20_001), sent.sequence, &refusal, CatalogVersion(7));
    assert_eq!(told(&mut changes, at(30_001), 6), [NO_LOOK]);
    changes.look(at(40_000), origin(4));
    assert!(changes.poll(at(40_000), ME, LIFE).is_some());
    changes.on_disk_refused("disk full");
    assert_eq!(told(&mut changes, at(40_000), 6), [NO_LOOK]);
    assert!(NO_LOOK.starts_with("CLUSTERDOWN "));
}

#[test]
fn more_than_a_nodes_clients_do_not_wait_for_a_look() {
    let mut changes = Changes::default();
    for token in 0..LOOKING_MAX as u64 {
        changes.look(at(0), origin(token));
    }
    assert!(changes.take_answers(at(0), 0).is_empty());
    changes.look(at(0), origin(u64::MAX));
    let answers = changes.take_answers(at(0), 0);
    assert_eq!(tokens(&answers), [u64::MAX]);
    assert!(text(&answers[0]).starts_with("BUSY "));
}
