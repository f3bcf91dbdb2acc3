//! Which commands a browser may send.
//!
//! In:  a command's words. Out: whether it only looks, or changes something; nothing: it may not be sent.
//!
//! Invariants:
//! - None of them changes what its connection is, waits for other clients, or has a reply that grows with a table. What the page
//!   needs is here; who wants more has a client.
//! - What a user may do, users' rights say: this list is only shorter.

/// What a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Nothing is changed by it.
    Look,
    /// Something is: only who has signed in may send it.
    Change,
}

/// A name, and the words that may follow it; none: any.
type Known = (&'static str, &'static [&'static str]);

const LOOKS: &[Known] = &[
    ("ACL", &["WHOAMI"]),
    ("DBSIZE", &[]),
    ("EXISTS", &[]),
    ("GETRANGE", &[]),
    ("HLEN", &[]),
    ("HSCAN", &[]),
    ("LASTSAVE", &[]),
    ("MEMORY", &["USAGE"]),
    ("NODE", &["LIST"]),
    ("OBJECT", &["ENCODING"]),
    ("PTTL", &[]),
    ("REBALANCE", &["STATUS", "PLAN"]),
    ("SCAN", &[]),
    ("SLOWLOG", &["GET", "LEN"]),
    ("STRLEN", &[]),
    ("TABLE", &["LIST", "DESCRIBE", "HOTKEYS", "BIGKEYS"]),
    ("TTL", &[]),
    ("TYPE", &[]),
];

const CHANGES: &[Known] = &[
    // Changes nothing, and tells who else is here.
    ("CLIENT", &["LIST"]),
    ("DEL", &[]),
    ("PERSIST", &[]),
    ("PEXPIRE", &[]),
    ("REBALANCE", &["PAUSE", "RESUME"]),
    ("SAVE", &[]),
    ("SET", &[]),
];

/// What a command is for.
pub(super) fn purpose(words: &[Vec<u8>]) -> Option<Purpose> {
    let is_in = |list: &[Known]| {
        list.iter().any(|(name, seconds)| {
            let is_it = |at: usize, word: &str| {
                let given = words.get(at);
                given.is_some_and(|it| it.eq_ignore_ascii_case(word.as_bytes()))
            };
            is_it(0, name) && (seconds.is_empty() || seconds.iter().any(|word| is_it(1, word)))
        })
    };
    if is_in(LOOKS) {
        Some(Purpose::Look)
    } else if is_in(CHANGES) {
        Some(Purpose::Change)
    } else {
        None
    }
}

#[cfg(test)]
mod commands_test {
    use super::*;

    fn of(line: &str) -> Option<Purpose> {
        let words: Vec<Vec<u8>> = line.split(' ').map(|it| it.as_bytes().to_vec()).collect();
        purpose(&words)
    }

    #[test]
    fn what_changes_something_is_told_from_what_looks() {
        assert_eq!(of("scan 0 MATCH *"), Some(Purpose::Look));
        assert_eq!(of("TABLE list"), Some(Purpose::Look));
        assert_eq!(of("SET a b"), Some(Purpose::Change));
        assert_eq!(of("REBALANCE PAUSE"), Some(Purpose::Change));
    }

    #[test]
    fn what_would_change_the_connection_or_more_than_a_key_is_not_sent() {
        for line in [
            "TABLE DROP a CONFIRM a",
            "TABLE USE a",
            "TABLE",
            "SELECT 1",
            "AUTH a b",
            "HELLO 3",
            "MULTI",
            "CLIENT REPLY OFF",
            "FLUSHALL",
            "SHUTDOWN",
            "KEYS *",
            "CONFIG SET a b",
            "REQUEST 1 SET a b",
            "QUIT",
            "",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
