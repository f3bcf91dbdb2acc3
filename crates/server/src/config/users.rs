//! `[[user]]` entries: who may connect, and what they may do with which tables.

use super::source::{Origin, Problem};
use super::text::{ByteSize, ConfigValue, quoted};
use argon2::password_hash::phc::PasswordHash;
use brickyard_metadata::UserLimits;
use brickyard_types::limits::TABLE_NAME_BYTES_MAX;
use std::collections::BTreeSet;

/// One user as the file gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserEntry {
    /// The name for AUTH; `default` is who sends a password alone.
    pub name: String,
    /// The password's Argon2 hash as a PHC string, from `brickyard config hash-password`.
    pub password_hash: Option<String>,
    /// The table that the user's connections start in; `None`: `default`.
    pub table: Option<String>,
    /// Tables the user may read: names or patterns such as `cart*`.
    pub read: Vec<String>,
    /// Tables the user may write.
    pub write: Vec<String>,
    /// Tables the user may create, alter and drop; `*` includes commands on the whole node.
    pub admin: Vec<String>,
    /// How much of this node the user may take: `max_connections`, `max_ops` and `max_bytes`.
    pub limits: UserLimits,
    /// Where the entry stands.
    pub origin: Origin,
}

impl UserEntry {
    /// The keys of an entry.
    pub const KEYS: [&'static str; 9] = [
        "name",
        "password_hash",
        "table",
        "read",
        "write",
        "admin",
        "max_connections",
        "max_ops",
        "max_bytes",
    ];

    /// An empty entry at this place.
    #[must_use]
    pub fn at(origin: Origin) -> Self {
        Self {
            name: String::new(),
            password_hash: None,
            table: None,
            read: Vec::new(),
            write: Vec::new(),
            admin: Vec::new(),
            limits: UserLimits::NONE,
            origin,
        }
    }

    /// The entry as TOML. The hash is shown: it is not the password, and the output must be usable
    /// as a file.
    #[must_use]
    pub fn toml(&self) -> String {
        let list = |words: &[String]| {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            format!("[{}]", words.join(", "))
        };
        let mut out = format!("[[user]]\nname = {}\n", quoted(&self.name));
        if let Some(hash) = &self.password_hash {
            out += &format!("password_hash = {}\n", quoted(hash));
        }
        if let Some(table) = &self.table {
            out += &format!("table = {}\n", quoted(table));
        }
        out += &format!("read = {}\n", list(&self.read));
        out += &format!("write = {}\n", list(&self.write));
        out += &format!("admin = {}\n", list(&self.admin));
        let UserLimits {
            connections,
            operations,
            bytes,
        } = self.limits;
        let limits = [
            ("max_connections", connections.toml(), connections),
            ("max_ops", operations.toml(), operations),
            ("max_bytes", ByteSize(bytes).toml(), bytes),
        ];
        for (key, value, _) in limits.into_iter().filter(|(.., most)| *most > 0) {
            out += &format!("{key} = {value}\n");
        }
        out
    }
}

/// Checks all entries together.
pub(crate) fn validate(users: &[UserEntry], problems: &mut Vec<Problem>) {
    let mut names = BTreeSet::new();
    for user in users {
        let mut problem = |field: &str, value: Option<String>, why: &str, remedy: &str| {
            problems.push(Problem {
                field: format!("user.{field}"),
                value,
                origin: Some(user.origin.clone()),
                why: why.to_owned(),
                remedy: remedy.to_owned(),
            });
        };
        if user.name.is_empty() || user.name.contains(|c: char| c.is_whitespace() || c == '\0') {
            problem(
                "name",
                Some(quoted(&user.name)),
                "it is empty or has spaces",
                "give each user a name without spaces",
            );
        }
        if !names.insert(user.name.as_str()) {
            problem(
                "name",
                Some(quoted(&user.name)),
                "another user has this name",
                "keep one of the two entries",
            );
        }
        match user.password_hash.as_deref().map(PasswordHash::new) {
            Some(Ok(hash)) if hash.algorithm.as_str().starts_with("argon2") => {}
            Some(_) => problem(
                "password_hash",
                None,
                "it is not an Argon2 hash in PHC form ($argon2id$v=19$...)",
                "make one with `brickyard config hash-password`; never write the password itself here",
            ),
            None => problem(
                "password_hash",
                None,
                "it is missing",
                "make one with `brickyard config hash-password`",
            ),
        }
        for table in user.read.iter().chain(&user.write).chain(&user.admin) {
            if table.is_empty() || table.len() > TABLE_NAME_BYTES_MAX {
                problem(
                    "read, write, admin",
                    Some(quoted(table)),
                    "a table's name has 1 to 128 bytes",
                    "name a table, or a pattern such as cart* or *",
                );
            }
        }
        if let Err(why) = user.limits.check() {
            problem(
                "max_connections, max_ops, max_bytes",
                None,
                why,
                "lower it, or leave it out",
            );
        }
        if user.read.is_empty() && user.write.is_empty() && user.admin.is_empty() {
            problem(
                "read, write, admin",
                None,
                "the user may do nothing",
                "grant something, for example read = [\"*\"]",
            );
        }
    }
}
