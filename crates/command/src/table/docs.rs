//! What `COMMAND DOCS` says of a command: its manual in a few words and its synopsis.

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
pub enum CommandGroup {
    /// Keys, whatever their value.
    Generic,
    /// Values as bytes.
    String,
    /// Values as bits.
    Bitmap,
    /// Values as fields.
    Hash,
    /// Transactions.
    Transactions,
    /// Scripts.
    Scripting,
    /// Channels.
    Pubsub,
    /// The connection.
    Connection,
    /// The server.
    Server,
    /// The cluster.
    Cluster,
}

impl CommandGroup {
    /// The word that `COMMAND DOCS` uses.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::String => "string",
            Self::Bitmap => "bitmap",
            Self::Hash => "hash",
            Self::Transactions => "transactions",
            Self::Scripting => "scripting",
            Self::Pubsub => "pubsub",
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
    pub group: CommandGroup,
    /// Its cost.
    pub complexity: &'static str,
    /// Since when it is deprecated, and what to use instead.
    pub deprecated: Option<(&'static str, &'static str)>,
    /// Its synopsis.
    pub arguments: &'static [Argument],
}

/// Which expiry a key or field must have for another: of EXPIRE, HEXPIRE and their kin.
pub(super) const EXPIRY_CONDITION: Argument = Argument::one_of(
    "condition",
    &[
        Argument::word("nx", "NX"),
        Argument::word("xx", "XX"),
        Argument::word("gt", "GT"),
        Argument::word("lt", "LT"),
    ],
)
.optional();
