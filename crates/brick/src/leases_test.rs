use super::*;
use crate::accepted::ConnectionId;

const TABLE: TableId = TableId(1);

fn client(number: u64) -> Client {
    (ConnectionId(number as u32), number)
}

fn at(millis: u64) -> Instant {
    Instant(millis * 1_000_000)
}

/// Grants a lease of the key from then on, of full length.
fn grant(leases: &mut Leases, key: &str, number: u64, from: u64) -> bool {
    let times = (at(from), at(from) + LEASE);
    leases.grant((TABLE, key.as_bytes()), client(number), times, 10)
}

/// Who is told to give back what, and by which number.
fn told(leases: &mut Leases) -> Vec<(u64, String, u64)> {
    let told = leases.take_outgoing().into_iter();
    told.map(|it| {
        let key = String::from_utf8(it.key).unwrap();
        (it.client.1, key, it.number)
    })
    .collect()
}

#[test]
fn a_write_waits_until_all_have_given_back() {
    let mut leases = Leases::default();
    for number in [1, 2, 1] {
        assert!(grant(&mut leases, "k", number, 0));
    }
    assert!(!leases.recall(TABLE, b"k", at(1)));
    let all = told(&mut leases);
    assert_eq!(all, [(1, "k".to_owned(), 1), (2, "k".to_owned(), 2)]);
    assert!(!leases.recall(TABLE, b"k", at(2)), "both have it");
    assert_eq!(told(&mut leases), [], "they were told");
    assert!(!leases.give_back(client(1), 1));
    assert!(!leases.give_back(client(2), 1), "its number is 2");
    assert!(!leases.recall(TABLE, b"k", at(3)));
    assert!(leases.give_back(client(2), 2));
    assert!(leases.recall(TABLE, b"k", at(4)));
    leases.note_written(TABLE, b"k");
    assert!(leases.is_empty() && leases.told.is_empty());
    assert!(leases.recall(TABLE, b"other", at(4)));
}

#[test]
fn who_says_nothing_is_waited_for_until_its_own_lease_ends() {
    let mut leases = Leases::default();
    grant(&mut leases, "k", 1, 0);
    grant(&mut leases, "k", 2, 60);
    assert!(!leases.recall(TABLE, b"k", at(70)));
    assert_eq!(leases.wakes_next(), Some(at(100)));
    assert!(!leases.take_wakes(at(99)) && leases.take_wakes(at(100)));
    assert!(
        !leases.recall(TABLE, b"k", at(100)),
        "another has one longer"
    );
    assert!(leases.take_wakes(at(160)));
    assert!(leases.recall(TABLE, b"k", at(160)));
    assert!(!leases.give_back(client(1), 9), "it is over");
    leases.note_written(TABLE, b"k");
    assert!(leases.is_empty() && leases.told.is_empty());
}

#[test]
fn a_key_that_a_write_waits_for_gets_no_leases_until_it_was_written_or_nobody_came() {
    let mut leases = Leases::default();
    grant(&mut leases, "k", 1, 0);
    leases.recall(TABLE, b"k", at(1));
    assert!(!grant(&mut leases, "k", 2, 2));
    leases.give_back(client(1), 1);
    assert!(!grant(&mut leases, "k", 1, 3), "the write comes yet");
    leases.tick(at(150));
    assert!(!grant(&mut leases, "k", 1, 150));
    leases.tick(at(201));
    assert!(grant(&mut leases, "k", 1, 201), "it does not come");
    leases.recall(TABLE, b"k", at(202));
    leases.give_back(client(1), 2);
    leases.note_written(TABLE, b"k");
    assert!(grant(&mut leases, "k", 1, 203));
}

#[test]
fn what_runs_out_is_forgotten() {
    let mut leases = Leases::default();
    grant(&mut leases, "a", 1, 0);
    grant(&mut leases, "b", 1, 50);
    leases.tick(at(100));
    assert_eq!(leases.len(), 1);
    assert!(leases.recall(TABLE, b"a", at(100)));
    leases.recall(TABLE, b"b", at(100));
    leases.tick(at(300));
    assert!(leases.is_empty() && leases.told.is_empty());
}

#[test]
fn a_number_gives_back_all_that_was_recalled_before() {
    let mut leases = Leases::default();
    for key in ["a", "b", "c"] {
        grant(&mut leases, key, 1, 0);
        leases.recall(TABLE, key.as_bytes(), at(1));
    }
    assert!(leases.give_back(client(1), 2));
    let is_free = |leases: &mut Leases, key: &str| leases.recall(TABLE, key.as_bytes(), at(2));
    assert!(is_free(&mut leases, "a") && is_free(&mut leases, "b"));
    assert!(!is_free(&mut leases, "c"));
}

#[test]
fn keys_are_bounded_and_what_has_no_room_is_not_to_be_kept() {
    let mut leases = Leases::default();
    for key in 0..10 {
        assert!(grant(&mut leases, &key.to_string(), 1, 0));
    }
    assert!(!grant(&mut leases, "one more", 1, 0));
    assert!(grant(&mut leases, "7", 2, 0), "it has a place");
}

#[test]
fn a_table_is_cleared_when_all_its_keys_are_free_and_none_is_leased_meanwhile() {
    let mut leases = Leases::default();
    let other = TableId(2);
    grant(&mut leases, "a", 1, 0);
    grant(&mut leases, "b", 2, 0);
    leases.grant((other, b"a"), client(1), (at(0), at(100)), 10);
    assert!(!leases.recall_table(TABLE, at(1)));
    assert_eq!(told(&mut leases).len(), 2);
    assert!(!grant(&mut leases, "c", 3, 2));
    assert!(leases.give_back(client(1), 9));
    assert!(!leases.recall_table(TABLE, at(3)));
    assert!(leases.give_back(client(2), 9));
    assert!(leases.recall_table(TABLE, at(4)));
    leases.note_cleared(TABLE);
    assert!(grant(&mut leases, "c", 3, 5));
    assert!(!leases.recall(other, b"a", at(5)), "of another table");
    leases.recall_table(TABLE, at(6));
    assert!(!grant(&mut leases, "d", 3, 7));
    leases.tick(at(207));
    assert!(
        grant(&mut leases, "d", 3, 207),
        "nobody came to clear it after all"
    );
}
