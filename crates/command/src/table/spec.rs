//! What is known of one command before it runs: how it is called, what it does, where its keys are.
//!
//! In:  the constants of the sibling modules. Out: [`Spec`], read by the dispatcher and by `COMMAND`.
//!
//! Invariants:
//! - A spec is a constant: nothing here is computed when a request comes in.
//! - First, last and step of the legacy fields follow from the key specs, and the categories that
//!   Redis derives from flags are derived here too, so that neither can disagree.
//!
//! Not here: the commands themselves (the sibling modules), how a reply is rendered (`describe`).

use super::{Argument, CommandGroup, CommandId, Docs, KeySpec, category, flag};

/// Everything that is known of one command.
#[derive(Clone, Copy, Debug)]
// The dispatcher reads the first fields of a random spec for each request: they must share a line.
#[repr(C, align(64))]
pub struct Spec {
    /// Which command this is.
    pub id: CommandId,
    /// Number of arguments with the name; negative: at least that many.
    pub arity: i8,
    /// Index of the first key, 0 if there is none.
    pub key_first: i8,
    /// Index of the last key; negative: counted from the end.
    pub key_last: i8,
    /// Distance between keys.
    pub key_step: i8,
    /// [`flag`] bits.
    pub flags: u32,
    /// [`category`] bits.
    pub categories: u32,
    /// Name in lower case; a subcommand's has its container's in front: `client|list`.
    pub name: &'static str,
    /// Commands reached by this one's first argument.
    pub subcommands: &'static [Self],
    /// Where the keys are and what is done to them.
    pub key_specs: &'static [KeySpec],
    /// How clients should route it and join its replies in a cluster.
    pub tips: &'static [&'static str],
    /// What `COMMAND DOCS` says.
    pub docs: Docs,
    /// Whether `COMMAND` leaves it out: it is known only to be refused with a reason.
    pub is_hidden: bool,
}

impl Spec {
    /// A command without keys, tips or subcommands.
    pub(super) const fn new(id: CommandId, name: &'static str, arity: i8, flags: u32) -> Self {
        let mut implied = if flags & flag::FAST != 0 {
            category::FAST
        } else {
            category::SLOW
        };
        if flags & flag::WRITE != 0 {
            implied |= category::WRITE;
        }
        if flags & flag::READONLY != 0 {
            implied |= category::READ;
        }
        if flags & flag::ADMIN != 0 {
            implied |= category::ADMIN | category::DANGEROUS;
        }
        Self {
            id,
            arity,
            key_first: 0,
            key_last: 0,
            key_step: 0,
            flags,
            categories: implied,
            name,
            subcommands: &[],
            key_specs: &[],
            tips: &[],
            docs: Docs {
                summary: "",
                since: "",
                group: CommandGroup::Generic,
                complexity: "",
                deprecated: None,
                arguments: &[],
            },
            is_hidden: false,
        }
    }

    pub(super) const fn hidden(mut self) -> Self {
        self.is_hidden = true;
        self
    }

    /// Says where the keys are; several specs must follow one another in the arguments.
    pub(super) const fn keys(mut self, specs: &'static [KeySpec]) -> Self {
        let first = &specs[0];
        let last = &specs[specs.len() - 1];
        self.key_specs = specs;
        self.key_first = first.first as i8;
        self.key_last = if last.last < 0 {
            last.last as i8
        } else {
            (last.first + last.last) as i8
        };
        self.key_step = first.step as i8;
        self
    }

    /// Says where the keys are, if an argument says how many there are: clients have to ask, or to know the command.
    pub(super) const fn counted_keys(mut self, specs: &'static [KeySpec]) -> Self {
        self.key_specs = specs;
        self.flags |= flag::NO_MANDATORY_KEYS | flag::MOVABLEKEYS;
        self
    }

    pub(super) const fn tips(mut self, tips: &'static [&'static str]) -> Self {
        self.tips = tips;
        self
    }

    pub(super) const fn subcommands(mut self, subcommands: &'static [Self]) -> Self {
        self.subcommands = subcommands;
        self
    }

    /// Says what kind of command it is: its chapter, and the [`category`] bits that do not follow from its flags.
    pub(super) const fn of(mut self, group: CommandGroup, categories: u32) -> Self {
        self.docs.group = group;
        self.categories(categories)
    }

    /// Adds [`category`] bits.
    pub(super) const fn categories(mut self, categories: u32) -> Self {
        self.categories |= categories;
        self
    }

    pub(super) const fn docs(
        mut self,
        summary: &'static str,
        since: &'static str,
        complexity: &'static str,
    ) -> Self {
        self.docs.summary = summary;
        self.docs.since = since;
        self.docs.complexity = complexity;
        self
    }

    pub(super) const fn deprecated(mut self, since: &'static str, instead: &'static str) -> Self {
        self.docs.deprecated = Some((since, instead));
        self
    }

    pub(super) const fn arguments(mut self, arguments: &'static [Argument]) -> Self {
        self.docs.arguments = arguments;
        self
    }

    /// Whether all of `flags` ([`flag`] bits) are set.
    #[inline]
    #[must_use]
    pub const fn has(&self, flags: u32) -> bool {
        self.flags & flags == flags
    }

    /// Whether a request of `count` arguments, the name included, fits.
    #[inline]
    #[must_use]
    pub const fn accepts(&self, count: usize) -> bool {
        if self.arity >= 0 {
            count == self.arity as usize
        } else {
            count >= self.arity.unsigned_abs() as usize
        }
    }

    /// The part of the name after the container's: `list` for `client|list`.
    #[must_use]
    pub fn short_name(&self) -> &'static str {
        self.name
            .split_once('|')
            .map_or(self.name, |(_, short)| short)
    }
}
