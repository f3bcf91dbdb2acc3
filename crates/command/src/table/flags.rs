//! Words that Redis has for what commands do, as bits.
//!
//! Invariants:
//! - The words and their order are those of Redis's replies; categories and flags of what there is
//!   no command for here are left out.

/// Bits of [`Spec::flags`](super::Spec::flags); names and meaning are those of Redis's `COMMAND INFO`.
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
    /// Monitors see the commands that it executes, not itself.
    pub const SKIP_MONITOR: u32 = 1 << 13;
    /// It may have no keys at all.
    pub const NO_MANDATORY_KEYS: u32 = 1 << 14;
    /// Where its keys are depends on its arguments.
    pub const MOVABLEKEYS: u32 = 1 << 15;

    /// About channels.
    pub const PUBSUB: u32 = 1 << 16;

    /// Every flag with its word, in the order in which Redis lists them.
    pub(crate) const WORDS: &[(u32, &str)] = &[
        (WRITE, "write"),
        (READONLY, "readonly"),
        (DENYOOM, "denyoom"),
        (ADMIN, "admin"),
        (PUBSUB, "pubsub"),
        (NOSCRIPT, "noscript"),
        (LOADING, "loading"),
        (STALE, "stale"),
        (SKIP_MONITOR, "skip_monitor"),
        (SKIP_SLOWLOG, "skip_slowlog"),
        (FAST, "fast"),
        (NO_AUTH, "no_auth"),
        (NO_MANDATORY_KEYS, "no_mandatory_keys"),
        (NO_ASYNC_LOADING, "no_async_loading"),
        (NO_MULTI, "no_multi"),
        (MOVABLEKEYS, "movablekeys"),
        (ALLOW_BUSY, "allow_busy"),
    ];
}

/// Bits of [`Spec::categories`](super::Spec::categories): Redis's ACL categories.
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
    /// About scripts.
    pub const SCRIPTING: u32 = 1 << 11;
    /// About channels.
    pub const PUBSUB: u32 = 1 << 12;
    /// Works on hashes.
    pub const HASH: u32 = 1 << 13;

    /// Every category with its word, in the order in which Redis lists them.
    pub(crate) const WORDS: &[(u32, &str)] = &[
        (KEYSPACE, "keyspace"),
        (READ, "read"),
        (WRITE, "write"),
        (HASH, "hash"),
        (STRING, "string"),
        (BITMAP, "bitmap"),
        (PUBSUB, "pubsub"),
        (ADMIN, "admin"),
        (FAST, "fast"),
        (SLOW, "slow"),
        (DANGEROUS, "dangerous"),
        (CONNECTION, "connection"),
        (TRANSACTION, "transaction"),
        (SCRIPTING, "scripting"),
    ];
}

/// Bits of [`KeySpec::flags`](super::KeySpec::flags): what is done to the keys.
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
    /// It is no key: it only has the slot of one.
    pub const NOT_KEY: u32 = 1 << 9;

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
        (NOT_KEY, "not_key"),
        (VARIABLE_FLAGS, "variable_flags"),
    ];
}
