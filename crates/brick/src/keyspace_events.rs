//! Keyspace notifications: writes and removals of keys as messages to channels, as Redis has them.
//!
//! In:  what happened to a key, and why. Out: messages to `__keyspace@0__:key` and `__keyevent@0__:event`; in the place of the 0 the
//!      name of a table that has no number.
//!
//! They leave when the command has run, before what it wrote has committed: whoever asks for the key then waits for that.
//! Where there is a failover in between, a message may tell of a write that did not happen.
//!
//! Invariant: where nobody has asked for them (`notify-keyspace-events`) a write costs one look at a flag more.

use crate::channels::Published;
use brickyard_command::{Args, CommandId};
use brickyard_types::record::Kind;

/// Which notifications are wanted, by Redis's characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventClasses(u64);

const KEYSPACE: u64 = 1 << 0;
const KEYEVENT: u64 = 1 << 1;
const GENERIC: u64 = 1 << 2;
const STRING: u64 = 1 << 3;
const HASH: u64 = 1 << 6;
const EXPIRED: u64 = 1 << 8;
const EVICTED: u64 = 1 << 9;

/// In the order in which Redis shows them. Of types that are not here yet nothing happens.
const CLASSES: [(char, u64); 10] = [
    ('g', GENERIC),
    ('$', STRING),
    ('l', 1 << 4),
    ('s', 1 << 5),
    ('h', HASH),
    ('z', 1 << 7),
    ('x', EXPIRED),
    ('e', EVICTED),
    ('t', 1 << 10),
    ('d', 1 << 11),
];

impl EventClasses {
    /// Reads such a setting. As in Redis nothing is told if neither `K` nor `E` says how.
    ///
    /// # Errors
    /// Why it is none.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let mut classes = 0;
        for character in text.chars() {
            let known = CLASSES.iter().find(|(it, _)| *it == character);
            classes |= match (character, known) {
                (_, Some((_, class))) => *class,
                ('A', None) => all(),
                ('K', None) => KEYSPACE,
                ('E', None) => KEYEVENT,
                ('m' | 'n', None) => {
                    return Err("of keys that are missed or new ('m', 'n') nothing is told here");
                }
                _ => return Err("Invalid event class character. Use 'Ag$lshzxeKEtmdn'."),
            };
        }
        Ok(Self(classes))
    }

    /// As a number, which [`Self::of_bits`] makes the same of.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// What [`Self::bits`] said.
    #[must_use]
    pub const fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// As Redis shows them.
    #[must_use]
    pub fn text(self) -> String {
        let mut text = String::new();
        if self.0 & all() == all() {
            text.push('A');
        } else {
            let some = CLASSES.iter().filter(|(_, class)| self.0 & class != 0);
            text.extend(some.map(|(character, _)| character));
        }
        for (character, way) in [('K', KEYSPACE), ('E', KEYEVENT)] {
            if self.0 & way != 0 {
                text.push(character);
            }
        }
        text
    }

    /// Whether anything is told at all.
    #[inline]
    pub(crate) const fn tell_anything(self) -> bool {
        self.0 & (KEYSPACE | KEYEVENT) != 0
    }
}

const fn all() -> u64 {
    let mut all = 0;
    let mut at = 0;
    while at < CLASSES.len() {
        all |= CLASSES[at].1;
        at += 1;
    }
    all
}

/// Why a key is written or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// This command; it gives the key a time to live by itself.
    Command(CommandId, bool),
    /// Its time has come.
    Expired,
    /// Its table has no room.
    Evicted,
}

impl Cause {
    /// A client's command.
    pub(crate) fn of(id: CommandId, args: Args<'_>) -> Self {
        let sets_expiry = match id {
            CommandId::Setex | CommandId::Psetex => true,
            CommandId::Set => {
                let mut options = args.from(3);
                !options.any(|it| it.eq_ignore_ascii_case(b"keepttl"))
            }
            CommandId::Hsetex | CommandId::Hgetex => {
                // Options come before the names, which may be anything.
                let words = args.from(2);
                let mut options = words.take_while(|it| !it.eq_ignore_ascii_case(b"fields"));
                options.any(|it| {
                    let times: [&[u8]; 4] = [b"ex", b"px", b"exat", b"pxat"];
                    times.iter().any(|time| it.eq_ignore_ascii_case(time))
                })
            }
            _ => false,
        };
        Self::Command(id, sets_expiry)
    }

    /// What is told of a record of that kind: classes and events.
    fn events(self, kind: Kind, expires: bool) -> [Option<(u64, &'static str)>; 2] {
        use CommandId as Id;
        let is_put = kind == Kind::Put;
        let one = |class, event| [Some((class, event)), None];
        match self {
            Self::Expired if is_put => one(HASH, "hexpired"),
            Self::Expired => one(EXPIRED, "expired"),
            Self::Evicted => one(EVICTED, "evicted"),
            Self::Command(Id::Rename | Id::Renamenx, _) if !is_put => one(GENERIC, "rename_from"),
            Self::Command(Id::Move, _) if !is_put => one(GENERIC, "move_from"),
            Self::Command(Id::Hdel | Id::Hgetdel | Id::Hgetex, _) if !is_put => {
                [Some((HASH, "hdel")), Some((GENERIC, "del"))]
            }
            Self::Command(..) if !is_put => one(GENERIC, "del"),
            Self::Command(id, sets_expiry) => match id {
                Id::Rename | Id::Renamenx => one(GENERIC, "rename_to"),
                Id::Copy => one(GENERIC, "copy_to"),
                Id::Move => one(GENERIC, "move_to"),
                Id::Restore => one(GENERIC, "restore"),
                Id::Expire | Id::Pexpire | Id::Expireat | Id::Pexpireat => one(GENERIC, "expire"),
                Id::Persist => one(GENERIC, "persist"),
                Id::Getex if expires => one(GENERIC, "expire"),
                Id::Getex => one(GENERIC, "persist"),
                Id::Hset | Id::Hmset | Id::Hsetnx => one(HASH, "hset"),
                Id::Hsetex if sets_expiry => [Some((HASH, "hset")), Some((HASH, "hexpire"))],
                Id::Hsetex => one(HASH, "hset"),
                Id::Hincrby => one(HASH, "hincrby"),
                Id::Hincrbyfloat => one(HASH, "hincrbyfloat"),
                Id::Hdel | Id::Hgetdel => one(HASH, "hdel"),
                Id::Hexpire | Id::Hpexpire | Id::Hexpireat | Id::Hpexpireat => one(HASH, "hexpire"),
                Id::Hgetex if sets_expiry => one(HASH, "hexpire"),
                Id::Hgetex | Id::Hpersist => one(HASH, "hpersist"),
                Id::Append => one(STRING, "append"),
                Id::Incr | Id::Decr | Id::Incrby | Id::Decrby => one(STRING, "incrby"),
                Id::Incrbyfloat => one(STRING, "incrbyfloat"),
                Id::Setrange => one(STRING, "setrange"),
                Id::Setbit | Id::Bitfield => one(STRING, "setbit"),
                _ if sets_expiry && expires => [Some((STRING, "set")), Some((GENERIC, "expire"))],
                _ => one(STRING, "set"),
            },
        }
    }
}

/// What is to be told of what the command at hand did, in order.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    /// With how much was staged before.
    list: Vec<(usize, Published)>,
}

impl Notices {
    /// Something happened to a key.
    pub(crate) fn add(
        &mut self,
        (classes, table): (EventClasses, &str),
        (cause, kind, expires): (Cause, Kind, bool),
        key: &[u8],
        staged: usize,
    ) {
        let database = if table == "default" { "0" } else { table };
        let events = cause.events(kind, expires).into_iter().flatten();
        for (_, event) in events.filter(|(class, _)| classes.0 & class != 0) {
            // The old name goes when the new one is there, and is told before.
            let is_new_name = |(at, _): &(usize, Published)| at + 1 == staged;
            let mut place = match event {
                "rename_from" => self.list.iter().position(is_new_name),
                _ => None,
            };
            let mut tell = |way: u64, word: &str, name: &[u8], message: &[u8]| {
                if classes.0 & way != 0 {
                    let start = format!("__{word}@{database}__:");
                    let published = Published {
                        is_sharded: false,
                        channel: [start.as_bytes(), name].concat(),
                        message: message.to_vec(),
                    };
                    let at = place.unwrap_or(self.list.len());
                    place = place.map(|at| at + 1);
                    self.list.insert(at, (staged, published));
                }
            };
            tell(KEYSPACE, "keyspace", key, event.as_bytes());
            tell(KEYEVENT, "keyevent", event.as_bytes(), key);
        }
    }

    /// What was done since so much was staged did not happen.
    pub(crate) fn take_back(&mut self, staged: usize) {
        self.list.retain(|(at, _)| *at < staged);
    }

    /// None of it happened.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.list.clear();
    }

    /// All of it happened.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Published> + use<> {
        std::mem::take(&mut self.list)
            .into_iter()
            .map(|(_, published)| published)
    }
}

#[cfg(test)]
#[path = "keyspace_events_test.rs"]
mod keyspace_events_test;
