//! The table of commands: every command that is known, found by name in a few nanoseconds.
//!
//! In:  a name as the client sent it. Out: its [`Spec`].
//!
//! Invariants:
//! - Names are found in any case, and nothing but a name is found.
//! - Each command has one [`CommandId`]; those that are only refused share
//!   [`CommandId::ClusterAdmin`].
//!
//! Not here: what `COMMAND` replies (`describe`), what commands do (the crate's other files).

mod bits;
mod cluster;
mod connection;
mod keys;
mod server;
mod spec;
mod strings;
mod tables;
mod transactions;

pub use spec::{Argument, ArgumentKind, Docs, Group, KeySpec, Spec, category, flag, key_flag};

/// Which command a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[rustfmt::skip]
pub enum CommandId {
    /// `APPEND`
    Append,
    /// `DECR`
    Decr,
    /// `DECRBY`
    Decrby,
    /// `DELIFEQ`
    Delifeq,
    /// `GET`
    Get,
    /// `GETDEL`
    Getdel,
    /// `GETEX`
    Getex,
    /// `GETRANGE`
    Getrange,
    /// `GETSET`
    Getset,
    /// `INCR`
    Incr,
    /// `INCRBY`
    Incrby,
    /// `INCRBYFLOAT`
    Incrbyfloat,
    /// `LCS`
    Lcs,
    /// `MGET`
    Mget,
    /// `MSET`
    Mset,
    /// `MSETNX`
    Msetnx,
    /// `PSETEX`
    Psetex,
    /// `SET`
    Set,
    /// `SETEX`
    Setex,
    /// `SETNX`
    Setnx,
    /// `SETRANGE`
    Setrange,
    /// `STRLEN`
    Strlen,
    /// `SUBSTR`
    Substr,
    /// `BITCOUNT`
    Bitcount,
    /// `BITFIELD`
    Bitfield,
    /// `BITFIELD_RO`
    BitfieldRo,
    /// `BITOP`
    Bitop,
    /// `BITPOS`
    Bitpos,
    /// `GETBIT`
    Getbit,
    /// `SETBIT`
    Setbit,
    /// `COPY`
    Copy,
    /// `DEL`
    Del,
    /// `EXISTS`
    Exists,
    /// `EXPIRE`
    Expire,
    /// `EXPIREAT`
    Expireat,
    /// `EXPIRETIME`
    Expiretime,
    /// `KEYS`
    Keys,
    /// `OBJECT`
    Object,
    /// `OBJECT ENCODING`
    ObjectEncoding,
    /// `OBJECT FREQ`
    ObjectFreq,
    /// `OBJECT HELP`
    ObjectHelp,
    /// `OBJECT IDLETIME`
    ObjectIdletime,
    /// `OBJECT REFCOUNT`
    ObjectRefcount,
    /// `PERSIST`
    Persist,
    /// `PEXPIRE`
    Pexpire,
    /// `PEXPIREAT`
    Pexpireat,
    /// `PEXPIRETIME`
    Pexpiretime,
    /// `PTTL`
    Pttl,
    /// `RANDOMKEY`
    Randomkey,
    /// `RENAME`
    Rename,
    /// `RENAMENX`
    Renamenx,
    /// `SCAN`
    Scan,
    /// `TOUCH`
    Touch,
    /// `TTL`
    Ttl,
    /// `TYPE`
    Type,
    /// `UNLINK`
    Unlink,
    /// `WAIT`
    Wait,
    /// `AUTH`
    Auth,
    /// `CLIENT`
    Client,
    /// `CLIENT GETNAME`
    ClientGetname,
    /// `CLIENT HELP`
    ClientHelp,
    /// `CLIENT ID`
    ClientId,
    /// `CLIENT INFO`
    ClientInfo,
    /// `CLIENT KILL`
    ClientKill,
    /// `CLIENT LIST`
    ClientList,
    /// `CLIENT NO-EVICT`
    ClientNoEvict,
    /// `CLIENT NO-TOUCH`
    ClientNoTouch,
    /// `CLIENT REPLY`
    ClientReply,
    /// `CLIENT SETINFO`
    ClientSetinfo,
    /// `CLIENT SETNAME`
    ClientSetname,
    /// `ECHO`
    Echo,
    /// `HELLO`
    Hello,
    /// `PING`
    Ping,
    /// `QUIT`
    Quit,
    /// `RESET`
    Reset,
    /// `SELECT`
    Select,
    /// `DISCARD`
    Discard,
    /// `EXEC`
    Exec,
    /// `MULTI`
    Multi,
    /// `UNWATCH`
    Unwatch,
    /// `WATCH`
    Watch,
    /// `BGSAVE`
    Bgsave,
    /// `COMMAND`
    Command,
    /// `COMMAND COUNT`
    CommandCount,
    /// `COMMAND DOCS`
    CommandDocs,
    /// `COMMAND GETKEYS`
    CommandGetkeys,
    /// `COMMAND GETKEYSANDFLAGS`
    CommandGetkeysandflags,
    /// `COMMAND HELP`
    CommandHelp,
    /// `COMMAND INFO`
    CommandInfo,
    /// `COMMAND LIST`
    CommandList,
    /// `CONFIG`
    Config,
    /// `CONFIG GET`
    ConfigGet,
    /// `CONFIG HELP`
    ConfigHelp,
    /// `CONFIG RESETSTAT`
    ConfigResetstat,
    /// `CONFIG REWRITE`
    ConfigRewrite,
    /// `CONFIG SET`
    ConfigSet,
    /// `DBSIZE`
    Dbsize,
    /// `FLUSHALL`
    Flushall,
    /// `FLUSHDB`
    Flushdb,
    /// `INFO`
    Info,
    /// `LASTSAVE`
    Lastsave,
    /// `LATENCY`
    Latency,
    /// `LATENCY HELP`
    LatencyHelp,
    /// `LATENCY HISTOGRAM`
    LatencyHistogram,
    /// `LATENCY LATEST`
    LatencyLatest,
    /// `LATENCY RESET`
    LatencyReset,
    /// `MEMORY`
    Memory,
    /// `MEMORY HELP`
    MemoryHelp,
    /// `MEMORY USAGE`
    MemoryUsage,
    /// `SAVE`
    Save,
    /// `SHUTDOWN`
    Shutdown,
    /// `SLOWLOG`
    Slowlog,
    /// `SLOWLOG GET`
    SlowlogGet,
    /// `SLOWLOG HELP`
    SlowlogHelp,
    /// `SLOWLOG LEN`
    SlowlogLen,
    /// `SLOWLOG RESET`
    SlowlogReset,
    /// `TIME`
    Time,
    /// `ASKING`
    Asking,
    /// `CLUSTER`
    Cluster,
    /// `CLUSTER COUNTKEYSINSLOT`
    ClusterCountkeysinslot,
    /// `CLUSTER GETKEYSINSLOT`
    ClusterGetkeysinslot,
    /// `CLUSTER HELP`
    ClusterHelp,
    /// `CLUSTER INFO`
    ClusterInfo,
    /// `CLUSTER KEYSLOT`
    ClusterKeyslot,
    /// `CLUSTER LINKS`
    ClusterLinks,
    /// `CLUSTER MYID`
    ClusterMyid,
    /// `CLUSTER NODES`
    ClusterNodes,
    /// `CLUSTER REPLICAS`
    ClusterReplicas,
    /// `CLUSTER SHARDS`
    ClusterShards,
    /// `CLUSTER SLOTS`
    ClusterSlots,
    /// `READONLY`
    Readonly,
    /// `READWRITE`
    Readwrite,
    /// `TABLE`
    Table,
    /// `TABLE ALTER`
    TableAlter,
    /// `TABLE CREATE`
    TableCreate,
    /// `TABLE DESCRIBE`
    TableDescribe,
    /// `TABLE DROP`
    TableDrop,
    /// `TABLE HELP`
    TableHelp,
    /// `TABLE LIST`
    TableList,
    /// `TABLE USE`
    TableUse,
    /// A subcommand of `CLUSTER` that Redis's operators use; refused with the name of ours.
    ClusterAdmin,
}

impl CommandId {
    /// How many commands there are, subcommands included: `id as usize` is below it.
    pub const COUNT: usize = Self::ClusterAdmin as usize + 1;
}

const FAMILIES: [&[Spec]; 8] = [
    strings::COMMANDS,
    bits::COMMANDS,
    keys::COMMANDS,
    connection::COMMANDS,
    transactions::COMMANDS,
    server::COMMANDS,
    cluster::COMMANDS,
    tables::COMMANDS,
];

const COUNT: usize = {
    let mut count = 0;
    let mut family = 0;
    while family < FAMILIES.len() {
        count += FAMILIES[family].len();
        family += 1;
    }
    count
};

/// Every command, without the subcommands, which their containers hold.
pub static COMMANDS: [Spec; COUNT] = {
    let mut commands = [strings::COMMANDS[0]; COUNT];
    let mut family = 0;
    let mut count = 0;
    while family < FAMILIES.len() {
        let mut at = 0;
        while at < FAMILIES[family].len() {
            commands[count] = FAMILIES[family][at];
            count += 1;
            at += 1;
        }
        family += 1;
    }
    commands
};

// HOW A NAME IS FOUND
//
// A name of up to 16 bytes is read as two overlapping words (its first and last 8, 4 or 1 to 3
// bytes), both lowered in registers. Together with the length they are the name: comparing them
// compares the bytes. One multiplication mixes them into an index of a table of 512 bytes that
// holds the command's number, built below at compile time with a multiplier that was searched for
// so that no two commands share a place; the build fails if a new command breaks that.

const INDEX_BITS: u32 = 9;
const MULTIPLIER: u64 = 0xb191_66de_b700_7099;
const NAME_BYTES_MAX: usize = 16;
const NOTHING: u8 = u8::MAX;

/// A lowered name in two words.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Words {
    head: u64,
    tail: u64,
}

impl Words {
    /// `None` if no command can have this name.
    #[inline]
    const fn new(name: &[u8]) -> Option<Self> {
        let (head, tail) = match name.len() {
            8..=NAME_BYTES_MAX => match (name.first_chunk::<8>(), name.last_chunk::<8>()) {
                (Some(head), Some(tail)) => (u64::from_le_bytes(*head), u64::from_le_bytes(*tail)),
                _ => return None,
            },
            4..8 => match (name.first_chunk::<4>(), name.last_chunk::<4>()) {
                (Some(head), Some(tail)) => (
                    u32::from_le_bytes(*head) as u64,
                    u32::from_le_bytes(*tail) as u64,
                ),
                _ => return None,
            },
            1..4 => {
                let head = name[0] as u64 | (name[name.len() / 2] as u64) << 8;
                (head, name[name.len() - 1] as u64)
            }
            _ => return None,
        };
        Some(Self {
            head: lowered(head),
            tail: lowered(tail),
        })
    }

    #[inline]
    const fn index(self, length: usize) -> usize {
        let mixed =
            (self.head ^ self.tail.rotate_left(21) ^ length as u64).wrapping_mul(MULTIPLIER);
        (mixed >> (u64::BITS - INDEX_BITS)) as usize
    }
}

/// Lowers eight ASCII letters at once; every other byte stays as it is.
#[inline]
const fn lowered(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    let low = word & !HIGH;
    let from_a = low + (0x80 - b'A' as u64) * ONES;
    let past_z = low + (0x80 - b'Z' as u64 - 1) * ONES;
    let is_upper = from_a & !past_z & !word & HIGH;
    word | is_upper >> 2
}

struct Place {
    words: Words,
    length: u8,
}

static PLACES: [Place; COUNT] = {
    let mut places = [const {
        Place {
            words: Words { head: 0, tail: 0 },
            length: 0,
        }
    }; COUNT];
    let mut at = 0;
    while at < COUNT {
        let name = COMMANDS[at].name.as_bytes();
        match Words::new(name) {
            Some(words) => {
                places[at] = Place {
                    words,
                    length: name.len() as u8,
                };
            }
            None => panic!("a command's name is longer than the lookup reads"),
        }
        at += 1;
    }
    places
};

static INDEX: [u8; 1 << INDEX_BITS] = {
    let mut index = [NOTHING; 1 << INDEX_BITS];
    let mut at = 0;
    while at < COUNT {
        let place = PLACES[at].words.index(PLACES[at].length as usize);
        assert!(
            index[place] == NOTHING,
            "two commands share a place: search for another MULTIPLIER"
        );
        index[place] = at as u8;
        at += 1;
    }
    index
};

/// Finds a command by its name, in any case; `None` if there is none.
///
/// Subcommands are found with [`lookup_subcommand`].
#[inline]
#[must_use]
pub fn lookup(name: &[u8]) -> Option<&'static Spec> {
    let words = Words::new(name)?;
    let at = usize::from(INDEX[words.index(name.len())]);
    let place = PLACES.get(at)?;
    let is_same = place.words == words && usize::from(place.length) == name.len();
    is_same.then(|| &COMMANDS[at])
}

/// Finds a subcommand of `container` by its short name, in any case.
#[must_use]
pub fn lookup_subcommand(container: &Spec, name: &[u8]) -> Option<&'static Spec> {
    container
        .subcommands
        .iter()
        .find(|spec| spec.short_name().as_bytes().eq_ignore_ascii_case(name))
}

/// Finds a command by its full name: `get`, or `client|list` for a subcommand.
#[must_use]
pub fn lookup_full(name: &[u8]) -> Option<&'static Spec> {
    match name.iter().position(|byte| *byte == b'|') {
        None => lookup(name),
        Some(bar) => lookup_subcommand(lookup(&name[..bar])?, &name[bar + 1..]),
    }
}

#[cfg(test)]
#[path = "table_test.rs"]
mod table_test;
