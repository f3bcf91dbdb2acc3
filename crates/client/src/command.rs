//! What a client has to know of a command: whether it writes, and where its keys stand.
//!
//! In:  a command's words. Out: its [`Shape`].
//!
//! Invariant: a command that is not known here counts as a write without keys. Then it is sent to the node
//! port, which knows all commands, and never sent twice.
//!
//! Not here: the table of all commands (`command`), which the server alone needs.

use crate::Error;
use brickyard_routing::slot;
use brickyard_types::Slot;

/// Where a command's keys stand among its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    /// None: it is about the table or the server.
    None,
    /// At one place.
    At(usize),
    /// At `from`, and from there every `step` words to the end.
    From { from: usize, step: usize },
    /// At the first two places.
    Two,
}

/// How a command is to be treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// It changes nothing, so it may be sent again whatever became of it.
    pub(crate) is_read: bool,
    pub(crate) place: Place,
}

/// Which port can execute a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The brick that holds the slot; the node port as well.
    Slot(Slot),
    /// The same, but no replica of it: a lease is wanted.
    Primary(Slot),
    /// The node port alone: it is about the whole table, or several slots, or not known.
    Node,
    /// Whichever; the node port if one is known.
    Anywhere,
}

/// Longest name in the table; a longer word is no command.
const NAME_BYTES_MAX: usize = 16;

impl Shape {
    /// The shape of the command that `words` are.
    ///
    /// # Errors
    /// [`Error::Invalid`] for one that would change what a shared connection means to the other calls on it.
    pub(crate) fn of<A: AsRef<[u8]>>(words: &[A]) -> Result<Self, Error> {
        let Some(name) = words.first().map(AsRef::as_ref) else {
            return Err(Error::invalid("a command has at least a name"));
        };
        let mut upper = [0; NAME_BYTES_MAX];
        let upper = match upper.get_mut(..name.len()) {
            Some(upper) => {
                upper.copy_from_slice(name);
                upper.make_ascii_uppercase();
                &*upper
            }
            None => name,
        };
        let second = words.get(1).map(AsRef::as_ref).unwrap_or_default();
        let is_second = |word: &[u8]| second.eq_ignore_ascii_case(word);
        let (is_read, keys, place) = match upper {
            b"GET" | b"STRLEN" | b"GETRANGE" | b"SUBSTR" | b"GETBIT" | b"BITCOUNT" | b"BITPOS"
            | b"BITFIELD_RO" | b"TTL" | b"PTTL" | b"EXPIRETIME" | b"PEXPIRETIME" | b"TYPE"
            | b"DUMP" | b"HEXISTS" | b"HEXPIRETIME" | b"HGET" | b"HGETALL" | b"HKEYS" | b"HLEN"
            | b"HMGET" | b"HPEXPIRETIME" | b"HPTTL" | b"HRANDFIELD" | b"HSCAN" | b"HSTRLEN"
            | b"HTTL" | b"HVALS" => (true, Keys::At(1), Place::Node),
            b"MGET" | b"EXISTS" | b"TOUCH" => (true, Keys::From { from: 1, step: 1 }, Place::Node),
            b"LCS" => (true, Keys::Two, Place::Node),
            b"OBJECT" | b"MEMORY" => (true, Keys::At(2), Place::Node),
            b"LEASE" if is_second(b"GET") => (true, Keys::At(2), Place::Node),
            b"SET" | b"SETEX" | b"PSETEX" | b"SETNX" | b"SETRANGE" | b"APPEND" | b"INCR"
            | b"DECR" | b"INCRBY" | b"DECRBY" | b"INCRBYFLOAT" | b"GETSET" | b"GETDEL"
            | b"GETEX" | b"DELIFEQ" | b"SETBIT" | b"BITFIELD" | b"EXPIRE" | b"EXPIREAT"
            | b"PEXPIRE" | b"PEXPIREAT" | b"PERSIST" | b"HDEL" | b"HEXPIRE" | b"HEXPIREAT"
            | b"HGETDEL" | b"HGETEX" | b"HINCRBY" | b"HINCRBYFLOAT" | b"HMSET" | b"HPERSIST"
            | b"HPEXPIRE" | b"HPEXPIREAT" | b"HSET" | b"HSETEX" | b"HSETNX" => {
                (false, Keys::At(1), Place::Node)
            }
            b"DEL" | b"UNLINK" => (false, Keys::From { from: 1, step: 1 }, Place::Node),
            b"MSET" | b"MSETNX" => (false, Keys::From { from: 1, step: 2 }, Place::Node),
            b"COPY" | b"RENAME" | b"RENAMENX" => (false, Keys::Two, Place::Node),
            b"BITOP" => (false, Keys::From { from: 2, step: 1 }, Place::Node),
            b"PING" | b"ECHO" | b"TIME" | b"COMMAND" => (true, Keys::None, Place::Anywhere),
            b"CLUSTER" => (true, Keys::None, Place::Anywhere),
            b"DBSIZE" | b"KEYS" | b"SCAN" | b"RANDOMKEY" | b"INFO" | b"LASTSAVE" | b"WATCHKEYS" => {
                (true, Keys::None, Place::Node)
            }
            b"TABLE" if is_second(b"USE") => {
                return Err(Error::invalid(
                    "TABLE USE would move every call of this connection; use Client::table",
                ));
            }
            b"TABLE" if is_second(b"LIST") || is_second(b"DESCRIBE") => {
                (true, Keys::None, Place::Anywhere)
            }
            b"TABLE" => (false, Keys::None, Place::Anywhere),
            b"CLIENT" if is_second(b"REPLY") => return Err(shared(name)),
            b"MULTI" | b"EXEC" | b"DISCARD" | b"WATCH" | b"UNWATCH" | b"SELECT" | b"HELLO"
            | b"AUTH" | b"RESET" | b"QUIT" | b"READONLY" | b"READWRITE" | b"ASKING"
            | b"SUBSCRIBE" | b"PSUBSCRIBE" | b"SSUBSCRIBE" | b"MONITOR" | b"SYNC" | b"PSYNC" => {
                return Err(shared(name));
            }
            _ => (false, Keys::None, Place::Node),
        };
        let place = one_slot(words, keys).map_or(place, Place::Slot);
        Ok(Self { is_read, place })
    }
}

fn shared(name: &[u8]) -> Error {
    Error::invalid(format!(
        "{} changes the connection, which many calls share; open one of your own for it",
        String::from_utf8_lossy(name)
    ))
}

/// The slot that all keys share; nothing if there are several, or none.
fn one_slot<A: AsRef<[u8]>>(words: &[A], keys: Keys) -> Option<Slot> {
    let (from, step, most) = match keys {
        Keys::None => return None,
        Keys::At(from) => (from, 1, 1),
        Keys::Two => (1, 1, 2),
        Keys::From { from, step } => (from, step, usize::MAX),
    };
    let keys = words.get(from..)?.iter().step_by(step).take(most);
    let mut slots = keys.map(|key| slot(key.as_ref()));
    let first = slots.next()?;
    slots.all(|other| other == first).then_some(first)
}

#[cfg(test)]
mod command_test {
    use super::*;

    fn shape(line: &str) -> Shape {
        let words: Vec<&str> = line.split(' ').collect();
        Shape::of(&words).expect("a command for shared connections")
    }

    #[test]
    fn a_command_on_one_slot_goes_to_its_brick() {
        let place = Place::Slot(slot(b"k"));
        assert_eq!(
            shape("get k"),
            Shape {
                is_read: true,
                place
            }
        );
        assert_eq!(
            shape("SET k v EX 5"),
            Shape {
                is_read: false,
                place
            }
        );
        assert_eq!(shape("mset {k}1 v {k}2 v").place, place);
        let is_read = |line| shape(line).is_read;
        assert_eq!(shape("HSET k field v").place, place);
        assert!(!is_read("HSET k field v") && !is_read("HGETDEL k FIELDS 1 field"));
        assert_eq!(shape("HPEXPIRETIME k FIELDS 1 field").place, place);
        assert!(is_read("HGETALL k") && is_read("hscan k 0"));
        assert_eq!(shape("OBJECT ENCODING k").place, place);
        assert_eq!(shape("BITOP AND {k}1 {k}2 k").place, place);
    }

    #[test]
    fn a_command_on_several_slots_or_the_whole_table_goes_to_the_node_port() {
        for line in [
            "MGET a b c",
            "MSET a 1 b 2",
            "RENAME a b",
            "DBSIZE",
            "SCAN 0",
            "GET",
        ] {
            assert_eq!(shape(line).place, Place::Node, "{line}");
        }
        assert_eq!(shape("PING").place, Place::Anywhere);
    }

    #[test]
    fn an_unknown_command_counts_as_a_write() {
        for line in [
            "LPUSH list x",
            "FLUSHALL",
            "A_WORD_THAT_IS_LONGER_THAN_ANY_NAME x",
        ] {
            let expected = Shape {
                is_read: false,
                place: Place::Node,
            };
            assert_eq!(shape(line), expected, "{line}");
        }
    }

    #[test]
    fn what_would_change_a_shared_connection_is_not_sent() {
        for line in [
            "multi",
            "SELECT 1",
            "TABLE use t",
            "CLIENT REPLY OFF",
            "HELLO 2",
            "",
        ] {
            let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
            assert!(
                matches!(Shape::of(&words), Err(Error::Invalid { .. })),
                "{line}"
            );
        }
    }
}
