//! Which commands a user may run, and what a request does to its keys.
//!
//! In:  rules such as `+get`, `-@dangerous` and `+config|get`, in their order. Out: a set of commands that is asked with one bit;
//!      for each key of a request, whether it is read, written or both.
//!
//! Invariants:
//! - Rules and categories are Redis's; a category of Redis that has no command here is known, and empty.
//! - What a request's keys are needed for is no less than what the command can do with them.
//!
//! Not here: who may do what (`brick`), where rules are kept (`metadata`).

use crate::args::Args;
use crate::resolve::keys;
use crate::table::{COMMANDS, CommandId, Spec, category, key_flag, lookup, lookup_full};

const WORDS: usize = CommandId::COUNT.div_ceil(64);

/// Redis's categories in the order in which it lists them, with the bits of those that have commands here.
pub const CATEGORIES: [(&str, u32); 21] = [
    ("keyspace", category::KEYSPACE),
    ("read", category::READ),
    ("write", category::WRITE),
    ("set", 0),
    ("sortedset", 0),
    ("list", 0),
    ("hash", category::HASH),
    ("string", category::STRING),
    ("bitmap", category::BITMAP),
    ("hyperloglog", 0),
    ("geo", 0),
    ("stream", 0),
    ("pubsub", category::PUBSUB),
    ("admin", category::ADMIN),
    ("fast", category::FAST),
    ("slow", category::SLOW),
    ("blocking", 0),
    ("dangerous", category::DANGEROUS),
    ("connection", category::CONNECTION),
    ("transaction", category::TRANSACTION),
    ("scripting", category::SCRIPTING),
];

/// A rule about commands names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCommand;

/// Some of all commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandSet {
    bits: [u64; WORDS],
}

impl CommandSet {
    /// No command.
    pub const NONE: Self = Self { bits: [0; WORDS] };

    /// Every command, and whatever is added later.
    pub const ALL: Self = Self {
        bits: [u64::MAX; WORDS],
    };

    /// Whether the command is one of them.
    #[inline]
    #[must_use]
    pub const fn has(&self, id: CommandId) -> bool {
        let at = id as usize;
        self.bits[at / 64] & (1 << (at % 64)) != 0
    }

    fn put(&mut self, id: CommandId, is_in: bool) {
        let at = id as usize;
        let bit = 1 << (at % 64);
        match is_in {
            true => self.bits[at / 64] |= bit,
            false => self.bits[at / 64] &= !bit,
        }
    }

    /// Changes the set as a rule says: `+get`, `-config|set`, `+@read`. Upper and lower case are the same.
    ///
    /// # Errors
    /// The rule names no command, subcommand or category.
    pub fn apply(&mut self, rule: &str) -> Result<(), UnknownCommand> {
        let is_in = match rule.as_bytes().first() {
            Some(b'+') => true,
            Some(b'-') => false,
            _ => return Err(UnknownCommand),
        };
        let name = &rule[1..];
        if name.eq_ignore_ascii_case("@all") {
            *self = if is_in { Self::ALL } else { Self::NONE };
        } else if let Some(name) = name.strip_prefix('@') {
            let of = of_category(name.as_bytes()).ok_or(UnknownCommand)?;
            of.for_each(|spec| self.put(spec.id, is_in));
        } else {
            let spec = lookup_full(name.as_bytes()).ok_or(UnknownCommand)?;
            self.put(spec.id, is_in);
            for each in spec.subcommands {
                self.put(each.id, is_in);
            }
        }
        Ok(())
    }
}

/// The commands of a category, subcommands included; `None`: there is no such category.
pub fn of_category(name: &[u8]) -> Option<impl Iterator<Item = &'static Spec>> {
    let named = CATEGORIES
        .iter()
        .find(|(word, _)| word.as_bytes().eq_ignore_ascii_case(name));
    let (_, bits) = *named?;
    let all = COMMANDS
        .iter()
        .flat_map(|spec| std::iter::once(spec).chain(spec.subcommands));
    Some(all.filter(move |spec| spec.categories & bits != 0))
}

/// The command of a request for `ACL DRYRUN`, whatever the number of its arguments.
#[must_use]
pub fn command_of(args: Args<'_>) -> Option<&'static Spec> {
    let spec = lookup(args.get(0)?)?;
    match args.get(1) {
        Some(name) if !spec.subcommands.is_empty() => crate::table::lookup_subcommand(spec, name),
        _ => Some(spec),
    }
}

/// What is done to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// Its value reaches the client or another key.
    pub is_read: bool,
    /// It is changed.
    pub is_written: bool,
}

/// The keys of a request, and what is done to each.
pub fn keys_used<'a>(
    spec: &'static Spec,
    args: Args<'a>,
) -> impl Iterator<Item = (&'a [u8], KeyUse)> {
    keys(spec, args).map(move |at| {
        let is_here = |it: &&crate::table::KeySpec| {
            it.positions(args)
                .is_some_and(|(begin, end)| (begin..end).contains(&at))
        };
        let flags = spec.key_specs.iter().find(is_here).map_or(0, |it| it.flags);
        (args.at(at), used(spec, args, flags))
    })
}

/// Whether the words of a request make it read or write what its command only may.
fn used(spec: &Spec, args: Args<'_>, flags: u32) -> KeyUse {
    const WRITES: u32 = key_flag::INSERT | key_flag::DELETE | key_flag::UPDATE;
    let mut used = KeyUse {
        is_read: flags & key_flag::ACCESS != 0,
        is_written: flags & WRITES != 0,
    };
    match spec.id {
        // `SET key value GET` reads. A value that is `get` is no option.
        CommandId::Set => {
            let mut options = args.from(3);
            used.is_read = options
                .any(|it| it.eq_ignore_ascii_case(b"get") || it.eq_ignore_ascii_case(b"ifeq"));
        }
        CommandId::Bitfield => {
            let mut operations = args.from(2);
            used.is_written = operations
                .any(|it| it.eq_ignore_ascii_case(b"set") || it.eq_ignore_ascii_case(b"incrby"));
        }
        _ => {}
    }
    used
}

#[cfg(test)]
#[path = "acl_test.rs"]
mod acl_test;
