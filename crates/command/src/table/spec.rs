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

use super::CommandId;

/// Bits of [`Spec::flags`]; names and meaning are those of Redis's `COMMAND INFO`.
pub mod flag {
    /// May modify data.
    pub const WRITE: u32 = 1 << 0;
    /// Reads data and modifies none.
    pub const READONLY: u32 = 1 << 1;
    /// Refused when the table is at its memory bound.
    pub const DENYOOM: u32 = 1 << 2;
    /// For operators.
    pub const ADMIN: u32 = 1 << 3;
    /// Not for scripts.
    pub const NOSCRIPT: u32 = 1 << 4;
    /// Allowed while data is being loaded.
    pub const LOADING: u32 = 1 << 5;
    /// Allowed on a copy that may be stale.
    pub const STALE: u32 = 1 << 6;
    /// Kept out of the slow log.
    pub const SKIP_SLOWLOG: u32 = 1 << 7;
    /// Constant or logarithmic time.
    pub const FAST: u32 = 1 << 8;
    /// Allowed before `AUTH`.
    pub const NO_AUTH: u32 = 1 << 9;
    /// Not while data is loaded in the background.
    pub const NO_ASYNC_LOADING: u32 = 1 << 10;
    /// Not between `MULTI` and `EXEC`.
    pub const NO_MULTI: u32 = 1 << 11;
    /// Allowed while a script blocks the server.
    pub const ALLOW_BUSY: u32 = 1 << 12;

    /// Every flag with its word, in the order in which Redis lists them.
    pub(crate) const WORDS: &[(u32, &str)] = &[
        (WRITE, "write"),
        (READONLY, "readonly"),
        (DENYOOM, "denyoom"),
        (ADMIN, "admin"),
        (NOSCRIPT, "noscript"),
        (LOADING, "loading"),
        (STALE, "stale"),
        (SKIP_SLOWLOG, "skip_slowlog"),
        (FAST, "fast"),
        (NO_AUTH, "no_auth"),
        (NO_ASYNC_LOADING, "no_async_loading"),
        (NO_MULTI, "no_multi"),
        (ALLOW_BUSY, "allow_busy"),
    ];
}

/// Bits of [`Spec::categories`]: Redis's ACL categories.
pub mod category {
    /// Works on keys of any type.
    pub const KEYSPACE: u32 = 1 << 0;
    /// Reads keys or values.
    pub const READ: u32 = 1 << 1;
    /// Writes keys or values.
    pub const WRITE: u32 = 1 << 2;
    /// Works on strings.
    pub const STRING: u32 = 1 << 3;
    /// Works on strings as bits.
    pub const BITMAP: u32 = 1 << 4;
    /// For operators.
    pub const ADMIN: u32 = 1 << 5;
    /// Constant or logarithmic time.
    pub const FAST: u32 = 1 << 6;
    /// Not fast.
    pub const SLOW: u32 = 1 << 7;
    /// To be used with care.
    pub const DANGEROUS: u32 = 1 << 8;
    /// About the connection.
    pub const CONNECTION: u32 = 1 << 9;
    /// About transactions.
    pub const TRANSACTION: u32 = 1 << 10;

    /// Every category with its word, in the order in which Redis lists them.
    pub(crate) const WORDS: &[(u32, &str)] = &[
        (KEYSPACE, "keyspace"),
        (READ, "read"),
        (WRITE, "write"),
        (STRING, "string"),
        (BITMAP, "bitmap"),
        (ADMIN, "admin"),
        (FAST, "fast"),
        (SLOW, "slow"),
        (DANGEROUS, "dangerous"),
        (CONNECTION, "connection"),
        (TRANSACTION, "transaction"),
    ];
}

/// Bits of [`KeySpec::flags`]: what is done to the keys.
pub mod key_flag {
    /// The value is read, not written.
    pub const RO: u32 = 1 << 0;
    /// The value is read and written.
    pub const RW: u32 = 1 << 1;
    /// The value is overwritten unread.
    pub const OW: u32 = 1 << 2;
    /// The key is removed.
    pub const RM: u32 = 1 << 3;
    /// The value's content reaches the client or another key.
    pub const ACCESS: u32 = 1 << 4;
    /// The value is changed.
    pub const UPDATE: u32 = 1 << 5;
    /// Content is added; what was there stays.
    pub const INSERT: u32 = 1 << 6;
    /// Content is removed on purpose.
    pub const DELETE: u32 = 1 << 7;
    /// The flags depend on the arguments.
    pub const VARIABLE_FLAGS: u32 = 1 << 8;

    /// Every flag with its word, in the order in which Redis lists them.
    pub(crate) const WORDS: &[(u32, &str)] = &[
        (RO, "RO"),
        (RW, "RW"),
        (OW, "OW"),
        (RM, "RM"),
        (ACCESS, "access"),
        (UPDATE, "update"),
        (INSERT, "insert"),
        (DELETE, "delete"),
        (VARIABLE_FLAGS, "variable_flags"),
    ];
}

/// Where some of a command's keys are, and what is done to them.
///
/// Keys are at `first`, `first + step`, ... up to the last: `first + last` if `last` is not
/// negative, otherwise counted from the end of the arguments (-1 is the last argument).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySpec {
    /// A remark that `COMMAND INFO` shows.
    pub notes: Option<&'static str>,
    /// [`key_flag`] bits.
    pub flags: u32,
    /// Index of the first key; the command's name is 0.
    pub first: i32,
    /// See the type.
    pub last: i32,
    /// Distance between keys.
    pub step: i32,
}

impl KeySpec {
    /// One key at `first`.
    pub(super) const fn one(first: i32, flags: u32) -> Self {
        Self::range(first, 0, 1, flags)
    }

    /// Keys from `first` to `last`, every `step`th argument.
    pub(super) const fn range(first: i32, last: i32, step: i32, flags: u32) -> Self {
        Self {
            notes: None,
            flags,
            first,
            last,
            step,
        }
    }

    /// Adds a remark.
    pub(super) const fn notes(mut self, notes: &'static str) -> Self {
        self.notes = Some(notes);
        self
    }

    /// The half-open range of argument positions that these keys are in, `None` if the request is
    /// too short to have them.
    #[inline]
    #[must_use]
    pub(crate) fn positions(&self, argument_count: usize) -> Option<(usize, usize)> {
        let first = self.first as usize;
        let last = if self.last >= 0 {
            first + self.last as usize
        } else {
            argument_count.checked_sub(self.last.unsigned_abs() as usize)?
        };
        (first <= last && last < argument_count).then_some((first, last + 1))
    }
}

/// What kind of thing an argument is, in the words of `COMMAND DOCS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Any bytes.
    String,
    /// A decimal integer.
    Integer,
    /// A decimal fraction.
    Double,
    /// A key.
    Key,
    /// A glob pattern.
    Pattern,
    /// A point in time.
    UnixTime,
    /// Nothing but its token.
    PureToken,
    /// One of the nested arguments.
    OneOf,
    /// All of the nested arguments.
    Block,
}

impl ArgumentKind {
    /// The word that `COMMAND DOCS` uses.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Double => "double",
            Self::Key => "key",
            Self::Pattern => "pattern",
            Self::UnixTime => "unix-time",
            Self::PureToken => "pure-token",
            Self::OneOf => "oneof",
            Self::Block => "block",
        }
    }
}

/// One argument of a command's synopsis, as `COMMAND DOCS` gives it and `redis-cli` hints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: ArgumentKind,
    /// For a key: which of the command's key specs it belongs to.
    pub key_spec: Option<u8>,
    /// The word that stands before it.
    pub token: Option<&'static str>,
    /// Whether it may be left out.
    pub is_optional: bool,
    /// Whether it may be repeated.
    pub is_multiple: bool,
    /// Whether its token is repeated with it.
    pub is_multiple_token: bool,
    /// What a choice or block consists of.
    pub arguments: &'static [Self],
}

impl Argument {
    const fn new(name: &'static str, kind: ArgumentKind) -> Self {
        Self {
            name,
            kind,
            key_spec: None,
            token: None,
            is_optional: false,
            is_multiple: false,
            is_multiple_token: false,
            arguments: &[],
        }
    }

    pub(super) const fn key(name: &'static str, key_spec: u8) -> Self {
        let mut argument = Self::new(name, ArgumentKind::Key);
        argument.key_spec = Some(key_spec);
        argument
    }

    pub(super) const fn string(name: &'static str) -> Self {
        Self::new(name, ArgumentKind::String)
    }

    pub(super) const fn integer(name: &'static str) -> Self {
        Self::new(name, ArgumentKind::Integer)
    }

    pub(super) const fn double(name: &'static str) -> Self {
        Self::new(name, ArgumentKind::Double)
    }

    pub(super) const fn pattern(name: &'static str) -> Self {
        Self::new(name, ArgumentKind::Pattern)
    }

    pub(super) const fn unix_time(name: &'static str) -> Self {
        Self::new(name, ArgumentKind::UnixTime)
    }

    pub(super) const fn word(name: &'static str, token: &'static str) -> Self {
        Self::new(name, ArgumentKind::PureToken).token(token)
    }

    pub(super) const fn one_of(name: &'static str, arguments: &'static [Self]) -> Self {
        let mut argument = Self::new(name, ArgumentKind::OneOf);
        argument.arguments = arguments;
        argument
    }

    pub(super) const fn block(name: &'static str, arguments: &'static [Self]) -> Self {
        let mut argument = Self::new(name, ArgumentKind::Block);
        argument.arguments = arguments;
        argument
    }

    pub(super) const fn token(mut self, token: &'static str) -> Self {
        self.token = Some(token);
        self
    }

    pub(super) const fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }

    pub(super) const fn multiple(mut self) -> Self {
        self.is_multiple = true;
        self
    }

    pub(super) const fn multiple_token(mut self) -> Self {
        self.is_multiple_token = true;
        self
    }
}

/// The chapter of the manual that a command belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Keys, whatever their value.
    Generic,
    /// Values as bytes.
    String,
    /// Values as bits.
    Bitmap,
    /// Transactions.
    Transactions,
    /// The connection.
    Connection,
    /// The server.
    Server,
    /// The cluster.
    Cluster,
}

impl Group {
    /// The word that `COMMAND DOCS` uses.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::String => "string",
            Self::Bitmap => "bitmap",
            Self::Transactions => "transactions",
            Self::Connection => "connection",
            Self::Server => "server",
            Self::Cluster => "cluster",
        }
    }
}

/// What `COMMAND DOCS` says of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Docs {
    /// One line of what it does.
    pub summary: &'static str,
    /// The Redis (or Valkey) release that introduced it; clients compare it with the server's.
    pub since: &'static str,
    /// Its chapter.
    pub group: Group,
    /// Its cost.
    pub complexity: &'static str,
    /// Since when it is deprecated, and what to use instead.
    pub deprecated: Option<(&'static str, &'static str)>,
    /// Its synopsis.
    pub arguments: &'static [Argument],
}

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
    pub(super) const fn new(
        id: CommandId,
        name: &'static str,
        arity: i8,
        flags: u32,
        categories: u32,
    ) -> Self {
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
            categories: categories | implied,
            name,
            subcommands: &[],
            key_specs: &[],
            tips: &[],
            docs: Docs {
                summary: "",
                since: "",
                group: Group::Generic,
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

    pub(super) const fn tips(mut self, tips: &'static [&'static str]) -> Self {
        self.tips = tips;
        self
    }

    pub(super) const fn subcommands(mut self, subcommands: &'static [Self]) -> Self {
        self.subcommands = subcommands;
        self
    }

    pub(super) const fn docs(
        mut self,
        summary: &'static str,
        since: &'static str,
        group: Group,
        complexity: &'static str,
    ) -> Self {
        self.docs.summary = summary;
        self.docs.since = since;
        self.docs.group = group;
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
