//! What a command of the source means for the copy.
//!
//! In:  a command's words, as a replication stream or an append-only file has them: what stands there was executed.
//! Out: a [`Meaning`].
//!
//! Invariant: a command whose outcome does not follow from its words alone is never taken by its words: its keys are read
//! anew. So a command that nobody knows is safe, once its keys are known.

use brickyard_command::{Args, keys, resolve};
use brickyard_wire::Span;

/// What a command means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing for any key.
    Nothing,
    /// Later commands are about this database.
    Select(u32),
    /// These keys have these values now; with a time at which they are gone, in milliseconds since 1970.
    Set(Vec<(Vec<u8>, Vec<u8>)>, Option<u64>),
    /// These keys are gone.
    Delete(Vec<Vec<u8>>),
    /// The key, if it is there, is gone at this time.
    ExpireAt(Vec<u8>, u64),
    /// The key, if it is there, stays.
    Persist(Vec<u8>),
    /// All keys of the database are gone; of every database, if so.
    Flush {
        /// Whether every database is meant.
        is_everything: bool,
    },
    /// A change inside of a value of this type, which there is not here: it leaves what there is as it is.
    Other(&'static str),
    /// What these keys have now does not follow from the words. Those with a number are in that database.
    Changed(Vec<(Option<u32>, Vec<u8>)>),
    /// Which keys it changes is not known here: the source can tell.
    Unknown,
    /// Databases have changed places, which has no likeness in tables.
    Swap,
}

/// Commands that change nothing that is copied.
const NOTHING: &[&str] = &[
    "ping", "multi", "exec", "discard", "replconf", "publish", "spublish", "function", "script",
    "acl", "wait", "cluster", "config", "debug",
];

/// Commands that only ever change a value of a type that there is not here, where it stands.
const OTHERS: &[(&str, &[&str])] = &[
    (
        "list",
        &[
            "lpush",
            "rpush",
            "lpushx",
            "rpushx",
            "lpop",
            "rpop",
            "lset",
            "linsert",
            "ltrim",
            "lrem",
            "rpoplpush",
            "lmove",
            "lmpop",
            "blpop",
            "brpop",
            "blmove",
            "blmpop",
            "brpoplpush",
        ],
    ),
    ("set", &["sadd", "srem", "spop", "smove"]),
    (
        "sorted set",
        &[
            "zadd",
            "zrem",
            "zincrby",
            "zpopmin",
            "zpopmax",
            "zmpop",
            "bzpopmin",
            "bzpopmax",
            "bzmpop",
            "zremrangebyrank",
            "zremrangebyscore",
            "zremrangebylex",
            "geoadd",
        ],
    ),
    (
        "stream",
        &[
            "xadd",
            "xdel",
            "xtrim",
            "xsetid",
            "xgroup",
            "xack",
            "xclaim",
            "xautoclaim",
            "xreadgroup",
            "xackdel",
            "xdelex",
        ],
    ),
];

/// Commands that our own table does not know and whose changed key is the first argument.
const FIRST_CHANGED: &[&str] = &[
    "sunionstore",
    "sinterstore",
    "sdiffstore",
    "zunionstore",
    "zinterstore",
    "zdiffstore",
    "zrangestore",
    "geosearchstore",
    "pfadd",
    "pfmerge",
];

/// What the command means.
#[must_use]
pub fn meaning(words: &[Vec<u8>]) -> Meaning {
    let Some((name, arguments)) = words.split_first() else {
        return Meaning::Nothing;
    };
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let name = name.as_str();
    if NOTHING.contains(&name) {
        return Meaning::Nothing;
    }
    if let Some((kind, _)) = OTHERS.iter().find(|(_, names)| names.contains(&name)) {
        return Meaning::Other(kind);
    }
    let by_words = match (name, arguments) {
        ("select", [number]) => integer(number).map(Meaning::Select),
        ("swapdb", _) => Some(Meaning::Swap),
        ("flushdb", _) => Some(Meaning::Flush {
            is_everything: false,
        }),
        ("flushall", _) => Some(Meaning::Flush {
            is_everything: true,
        }),
        ("set", [key, value, options @ ..]) => set(key, value, options),
        ("setnx" | "getset", [key, value]) => set(key, value, &[]),
        ("mset" | "msetnx", pairs) if pairs.len() % 2 == 0 => {
            let pairs = pairs.chunks_exact(2);
            let pairs = pairs.map(|pair| (pair[0].clone(), pair[1].clone()));
            Some(Meaning::Set(pairs.collect(), None))
        }
        ("del" | "unlink", keys) => Some(Meaning::Delete(keys.to_vec())),
        ("getdel", [key]) => Some(Meaning::Delete(vec![key.clone()])),
        ("pexpireat", [key, at]) => integer(at).map(|at| Meaning::ExpireAt(key.clone(), at)),
        ("persist", [key]) => Some(Meaning::Persist(key.clone())),
        ("move", [key, number]) => integer(number)
            .map(|number| Meaning::Changed(vec![(None, key.clone()), (Some(number), key.clone())])),
        ("copy", [_, to, options @ ..]) => {
            let number = options
                .windows(2)
                .find(|it| it[0].eq_ignore_ascii_case(b"db"))
                .and_then(|it| integer(&it[1]));
            Some(Meaning::Changed(vec![(number, to.clone())]))
        }
        (name, [first, ..]) if FIRST_CHANGED.contains(&name) => {
            Some(Meaning::Changed(vec![(None, first.clone())]))
        }
        _ => None,
    };
    by_words.unwrap_or_else(|| by_table(words))
}

/// SET, of which it is known that it was executed: conditions have held, and what it answered does not matter here.
fn set(key: &[u8], value: &[u8], options: &[Vec<u8>]) -> Option<Meaning> {
    let mut expires_at = None;
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match option.to_ascii_lowercase().as_slice() {
            b"nx" | b"xx" | b"get" => {}
            b"pxat" => expires_at = Some(integer(options.next()?)?),
            b"exat" => expires_at = Some(integer::<u64>(options.next()?)?.checked_mul(1000)?),
            _ => return None,
        }
    }
    Some(Meaning::Set(
        vec![(key.to_vec(), value.to_vec())],
        expires_at,
    ))
}

fn integer<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The keys, where our own table of commands knows them.
fn by_table(words: &[Vec<u8>]) -> Meaning {
    let mut bytes = Vec::new();
    let mut spans = Vec::with_capacity(words.len());
    for word in words {
        let Ok(start) = u32::try_from(bytes.len()) else {
            return Meaning::Unknown;
        };
        let Ok(len) = u32::try_from(word.len()) else {
            return Meaning::Unknown;
        };
        spans.push(Span { start, len });
        bytes.extend_from_slice(word);
    }
    let args = Args::new(&bytes, &spans);
    let Ok(spec) = resolve(args) else {
        return Meaning::Unknown;
    };
    let changed: Vec<_> = keys(spec, args)
        .map(|at| (None, args.at(at).to_vec()))
        .collect();
    if changed.is_empty() {
        return Meaning::Unknown;
    }
    Meaning::Changed(changed)
}

#[cfg(test)]
mod meaning_test {
    use super::{Meaning, meaning};

    fn of(line: &str) -> Meaning {
        let words: Vec<_> = line.split(' ').map(|it| it.as_bytes().to_vec()).collect();
        meaning(&words)
    }

    fn changed(keys: &[&str]) -> Meaning {
        let keys = keys.iter().map(|it| (None, it.as_bytes().to_vec()));
        Meaning::Changed(keys.collect())
    }

    #[test]
    fn commands_with_one_outcome_are_taken_by_their_words() {
        let pair = vec![(b"k".to_vec(), b"v".to_vec())];
        assert_eq!(of("SET k v"), Meaning::Set(pair.clone(), None));
        assert_eq!(of("set k v PXAT 5"), Meaning::Set(pair.clone(), Some(5)));
        assert_eq!(
            of("SET k v NX GET EXAT 5"),
            Meaning::Set(pair.clone(), Some(5000))
        );
        for line in ["MSET k v", "MSETNX k v", "SETNX k v", "GETSET k v"] {
            assert_eq!(of(line), Meaning::Set(pair.clone(), None), "{line}");
        }
        assert_eq!(
            of("UNLINK a b"),
            Meaning::Delete(vec![b"a".to_vec(), b"b".to_vec()])
        );
        assert_eq!(of("PEXPIREAT k 9"), Meaning::ExpireAt(b"k".to_vec(), 9));
        assert_eq!(of("PERSIST k"), Meaning::Persist(b"k".to_vec()));
        assert_eq!(of("SELECT 3"), Meaning::Select(3));
        assert_eq!(
            of("FLUSHALL ASYNC"),
            Meaning::Flush {
                is_everything: true
            }
        );
        assert_eq!(of("REPLCONF GETACK *"), Meaning::Nothing);
        assert_eq!(of("LPUSH k v"), Meaning::Other("list"));
        assert_eq!(of("SWAPDB 0 1"), Meaning::Swap);
    }

    #[test]
    fn outcomes_that_rest_on_what_was_there_are_read_anew() {
        for line in [
            "INCR k",
            "APPEND k v",
            "SET k v KEEPTTL",
            "SET k v PX 5",
            "SETRANGE k 0 v",
            "HSET k f v",
            "HDEL k f",
            "HPEXPIREAT k 9 FIELDS 1 f",
            "RESTORE k 0 v",
            "PEXPIREAT k 9 NX",
        ] {
            assert_eq!(of(line), changed(&["k"]), "{line}");
        }
        assert_eq!(of("RENAME a b"), changed(&["a", "b"]));
        assert_eq!(of("PFADD k v"), changed(&["k"]));
        let copied = Meaning::Changed(vec![(Some(2), b"b".to_vec())]);
        assert_eq!(of("COPY a b DB 2 REPLACE"), copied);
        let moved = Meaning::Changed(vec![(None, b"a".to_vec()), (Some(2), b"a".to_vec())]);
        assert_eq!(of("MOVE a 2"), moved);
    }

    #[test]
    fn unknown_commands_are_said_to_be() {
        assert_eq!(of("JSON.SET k $ 1"), Meaning::Unknown);
        assert_eq!(of("SORT k STORE d"), Meaning::Unknown);
    }
}
