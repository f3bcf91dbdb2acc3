//! A user that the cluster keeps, and the rules that make it what it is.
//!
//! In:  rules, in the order in which they were said. Out: the account that follows from them, or why one of them cannot be.
//!
//! Invariants:
//! - An account follows from its rules alone: the same rules in the same order give the same account on every node.
//! - There is no password here, only hashes of passwords; whoever has no hash and needs a password cannot log in.
//! - An account is bounded in bytes, whatever is added to it.
//!
//! Not here: what a rule looks like in `ACL SETUSER`, and what a command's rule allows (`brick`).

use crate::user_limits::{Limited, UserLimits};
use serde::{Deserialize, Serialize};

/// Most bytes of all texts of an account together: each node keeps all accounts in memory, and each catalog has them.
const ACCOUNT_BYTES_MAX: usize = 64 << 10;

/// Keys that match a pattern, and what may be done to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPattern {
    /// A glob, as `KEYS` takes it.
    pub pattern: Vec<u8>,
    /// They may be read.
    pub read: bool,
    /// They may be written.
    pub write: bool,
}

impl KeyPattern {
    /// All keys, for everything.
    #[must_use]
    pub fn all() -> Self {
        Self {
            pattern: b"*".to_vec(),
            read: true,
            write: true,
        }
    }
}

/// Tables that match a pattern, and what may be done to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableGrant {
    /// A table's name, or a pattern such as `shop-*`.
    pub tables: String,
    /// Their keys may be read.
    pub read: bool,
    /// Their keys may be written.
    pub write: bool,
    /// They may be made, altered and dropped.
    pub admin: bool,
}

impl TableGrant {
    /// All tables, for everything.
    #[must_use]
    pub fn all() -> Self {
        Self {
            tables: "*".to_owned(),
            read: true,
            write: true,
            admin: true,
        }
    }
}

/// One rule of `ACL SETUSER`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccountRule {
    /// `on`
    On,
    /// `off`
    Off,
    /// A password is accepted whose hash this is (`>password`, `#hash`).
    AddHash(String),
    /// It is accepted no more (`<password`, `!hash`).
    RemoveHash(String),
    /// Any password is accepted, and none is needed (`nopass`).
    NoPassword,
    /// No password is accepted (`resetpass`).
    ResetPasswords,
    /// A rule about commands with its sign, in lower case: `+get`, `-@dangerous`, `+config|get`.
    Command(String),
    /// `~pattern`, `%R~pattern`, `allkeys`
    Keys(KeyPattern),
    /// `resetkeys`
    ResetKeys,
    /// `&pattern`, `allchannels`
    Channels(Vec<u8>),
    /// `resetchannels`
    ResetChannels,
    /// `table:name=read,write,admin`, `alltables`
    Tables(TableGrant),
    /// `resettables`
    ResetTables,
    /// As a user that was just made (`reset`).
    Reset,
    /// `limit:connections=100`, `limit:ops=100`, `limit:bytes=100`; of 0 there is none.
    Limit(Limited, u64),
    /// `resetlimits`
    ResetLimits,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// It may log in.
    pub is_on: bool,
    /// It needs no password.
    pub needs_no_password: bool,
    /// Hashes of the passwords that are accepted, as PHC strings.
    pub password_hashes: Vec<String>,
    /// Rules about commands, which count in this order; the first one is `+@all` or `-@all`.
    pub commands: Vec<String>,
    /// Keys it may touch.
    pub keys: Vec<KeyPattern>,
    /// Channels it may use.
    pub channels: Vec<Vec<u8>>,
    /// Tables it may use.
    pub tables: Vec<TableGrant>,
    /// How much of each node it may take. Stored behind the accounts, where there are any (`stored`).
    #[serde(skip)]
    pub limits: UserLimits,
}

impl Default for Account {
    /// A user that was just made: off, without a password, a command or a key, kept from no table, without limits.
    fn default() -> Self {
        Self {
            is_on: false,
            needs_no_password: false,
            password_hashes: Vec::new(),
            commands: vec![NO_COMMANDS.to_owned()],
            keys: Vec::new(),
            channels: Vec::new(),
            tables: vec![TableGrant::all()],
            limits: UserLimits::NONE,
        }
    }
}

const NO_COMMANDS: &str = "-@all";
const ALL_COMMANDS: &str = "+@all";

/// What is said of a pattern that comes after one that has everything already.
const AFTER_ALL: &str = "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any \
                         effect. Try 'resetkeys' to start with an empty list of patterns";
const AFTER_ALL_CHANNELS: &str = "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any \
                                  effect. Try 'resetchannels' to start with an empty list of channels";
const AFTER_ALL_TABLES: &str = "all rights on all tables were granted before, as to each new user, so this would narrow nothing; \
                                put 'resettables' before it";
const UNKNOWN_PASSWORD: &str = "The password you are trying to remove from the user does not exist";

impl Account {
    /// Carries out one rule.
    ///
    /// # Errors
    /// Why it cannot be; the account may have changed up to there, so whoever asks changes a copy.
    pub(crate) fn apply(&mut self, rule: AccountRule) -> Result<(), &'static str> {
        match rule {
            AccountRule::On => self.is_on = true,
            AccountRule::Off => self.is_on = false,
            AccountRule::AddHash(hash) => {
                self.needs_no_password = false;
                if !self.password_hashes.contains(&hash) {
                    self.password_hashes.push(hash);
                }
            }
            AccountRule::RemoveHash(hash) => {
                let at = self.password_hashes.iter().position(|it| *it == hash);
                self.password_hashes.remove(at.ok_or(UNKNOWN_PASSWORD)?);
            }
            AccountRule::NoPassword => {
                self.needs_no_password = true;
                self.password_hashes.clear();
            }
            AccountRule::ResetPasswords => {
                self.needs_no_password = false;
                self.password_hashes.clear();
            }
            AccountRule::Command(rule) => self.apply_command(rule),
            AccountRule::Keys(new) if new == KeyPattern::all() => self.keys = vec![new],
            AccountRule::Keys(_) if self.keys == [KeyPattern::all()] => return Err(AFTER_ALL),
            AccountRule::Keys(new) => {
                match self.keys.iter_mut().find(|it| it.pattern == new.pattern) {
                    Some(known) => {
                        known.read |= new.read;
                        known.write |= new.write;
                    }
                    None => self.keys.push(new),
                }
            }
            AccountRule::ResetKeys => self.keys.clear(),
            AccountRule::Channels(new) if new == b"*" => self.channels = vec![new],
            AccountRule::Channels(_) if self.channels == [b"*"] => return Err(AFTER_ALL_CHANNELS),
            AccountRule::Channels(new) => {
                if !self.channels.contains(&new) {
                    self.channels.push(new);
                }
            }
            AccountRule::ResetChannels => self.channels.clear(),
            AccountRule::Tables(new) if new == TableGrant::all() => self.tables = vec![new],
            AccountRule::Tables(_) if self.tables == [TableGrant::all()] => {
                return Err(AFTER_ALL_TABLES);
            }
            AccountRule::Tables(new) => {
                // Said again, it is what was said last.
                self.tables.retain(|it| it.tables != new.tables);
                self.tables.push(new);
            }
            AccountRule::ResetTables => self.tables.clear(),
            AccountRule::Reset => *self = Self::default(),
            AccountRule::Limit(what, most) => self.limits.set(what, most)?,
            AccountRule::ResetLimits => self.limits = UserLimits::NONE,
        }
        Ok(())
    }

    /// A rule about commands takes the place of those that it makes meaningless: of the same name, of its subcommands, and
    /// of everything where it is about everything.
    fn apply_command(&mut self, rule: String) {
        if rule == ALL_COMMANDS || rule == NO_COMMANDS {
            self.commands.clear();
        } else {
            let name = rule.get(1..).unwrap_or_default();
            self.commands.retain(|it| {
                let known = it.get(1..).unwrap_or_default();
                let of_command = known.strip_prefix(name);
                known == "@all"
                    || !of_command.is_some_and(|it| it.is_empty() || it.starts_with('|'))
            });
        }
        self.commands.push(rule);
    }

    /// Bytes of all its texts.
    fn bytes_len(&self) -> usize {
        let texts = self.password_hashes.iter().chain(&self.commands);
        let tables = self.tables.iter().map(|it| it.tables.len() + 8);
        let keys = self.keys.iter().map(|it| it.pattern.len() + 8);
        let channels = self.channels.iter().map(|it| it.len() + 8);
        let texts = texts.map(|it| it.len() + 8);
        texts.chain(tables).chain(keys).chain(channels).sum()
    }

    /// What its rules could not have made of it.
    pub(crate) fn check(&self) -> Result<(), String> {
        let bytes = self.bytes_len();
        if bytes > ACCOUNT_BYTES_MAX {
            return Err(format!(
                "its rules have {bytes} bytes, and {ACCOUNT_BYTES_MAX} is the most there can be; use patterns, or another user"
            ));
        }
        self.limits.check()?;
        let first = self.commands.first().map(String::as_str);
        match first {
            Some(ALL_COMMANDS | NO_COMMANDS) => Ok(()),
            _ => Err(format!("its rules about commands begin with {first:?}")),
        }
    }
}
