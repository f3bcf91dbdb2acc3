//! What a user may do beside its rights on tables: which commands, which keys.
//!
//! In:  the rules that a user was made of. Out: whether a request may run, and what it lacks.
//!
//! Invariants:
//! - Rules were put together when the user became known: a command is one bit, and a user that may do everything is known as such.
//! - What is not granted is refused, a key that no pattern names too.
//!
//! Not here: rights on tables (`users`), what the rules look like (`session/acl`).

use brickyard_command::{
    Args, CommandId, CommandSet, ErrorReply, Spec, glob, keys_used, table::flag,
};
use brickyard_metadata::{Account, KeyPattern};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acl {
    /// May log in.
    pub is_on: bool,
    /// Has to give a password, even where there is none that would be accepted.
    pub needs_password: bool,
    /// The rules about commands, as they are shown.
    pub command_rules: String,
    commands: CommandSet,
    /// Keys that it may touch.
    pub keys: Vec<KeyPattern>,
    /// Channels that it may use.
    pub channels: Vec<Vec<u8>>,
    may_all: bool,
}

/// What a user lacks for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lacking {
    /// The command.
    Command(&'static str),
    /// This key.
    Key(Vec<u8>),
    /// This channel, or pattern of channels.
    Channel(Vec<u8>),
    /// Rights on the table, or on the node: the command's name.
    Table(&'static str),
}

impl Lacking {
    /// The error that its client gets.
    pub(crate) fn error(&self, user: &str) -> ErrorReply {
        match self {
            Self::Command(name) => ErrorReply::new(format!(
                "NOPERM User {user} has no permissions to run the '{name}' command"
            )),
            Self::Key(_) => ErrorReply::constant("NOPERM No permissions to access a key"),
            Self::Channel(_) => ErrorReply::constant("NOPERM No permissions to access a channel"),
            Self::Table(name) => ErrorReply::new(format!(
                "NOPERM User {user} has no permissions to run the '{name}' command on this table"
            )),
        }
    }
}

impl Acl {
    /// Every command, on every key.
    #[must_use]
    pub fn unrestricted() -> Self {
        Self {
            is_on: true,
            needs_password: false,
            command_rules: "+@all".to_owned(),
            commands: CommandSet::ALL,
            keys: vec![KeyPattern::all()],
            channels: vec![b"*".to_vec()],
            may_all: true,
        }
    }

    /// That of a user that the cluster keeps. A rule that names no command of this program grants and takes nothing.
    pub(crate) fn of(account: &Account) -> Self {
        let mut commands = CommandSet::NONE;
        for rule in &account.commands {
            // A command of a later version, in a cluster that is being updated.
            let _unknown = commands.apply(rule);
        }
        let has_all_keys = account.keys == [KeyPattern::all()];
        Self {
            is_on: account.is_on,
            needs_password: !account.needs_no_password,
            command_rules: account.commands.join(" "),
            commands,
            keys: account.keys.clone(),
            channels: account.channels.clone(),
            may_all: has_all_keys && commands == CommandSet::ALL,
        }
    }

    /// Whether nothing is kept from the user.
    #[inline]
    #[must_use]
    pub const fn may_all(&self) -> bool {
        self.may_all
    }

    /// Whether it may touch any key.
    pub(crate) fn has_all_keys(&self) -> bool {
        self.keys == [KeyPattern::all()]
    }

    /// Whether it may read that key.
    pub(crate) fn may_read(&self, key: &[u8]) -> bool {
        let mut granted = self.keys.iter().filter(|it| it.read);
        self.may_all
            || granted.any(|it| it.pattern == b"*" || glob::matches(&it.pattern, key, false))
    }

    /// What the user lacks for a request.
    pub(crate) fn lacking(&self, spec: &'static Spec, args: Args<'_>) -> Option<Lacking> {
        if spec.has(flag::PUBSUB) && (self.may_all || self.commands.has(spec.id)) {
            return self.lacking_channel(spec, args);
        }
        if self.may_all {
            return None;
        }
        if !spec.has(flag::NO_AUTH) && !self.commands.has(spec.id) {
            return Some(Lacking::Command(spec.name));
        }
        if self.has_all_keys() {
            return None;
        }
        let mut used = keys_used(spec, args);
        let refused = used.find(|(key, needed)| {
            let is_enough =
                |it: &&KeyPattern| (it.read || !needed.is_read) && (it.write || !needed.is_written);
            let mut granted = self.keys.iter().filter(is_enough);
            !granted.any(|it| it.pattern == b"*" || glob::matches(&it.pattern, key, false))
        });
        refused.map(|(key, _)| Lacking::Key(key.to_vec()))
    }
}

impl Acl {
    /// Whether it may use every channel.
    pub(crate) fn has_all_channels(&self) -> bool {
        self.channels == [b"*"]
    }

    /// Whether it may use a channel. Of a pattern no more is known than that it is one of its own.
    pub(crate) fn has_channel(&self, name: &[u8], is_pattern: bool) -> bool {
        may_use_channel(&self.channels, name, is_pattern)
    }

    fn lacking_channel(&self, spec: &Spec, args: Args<'_>) -> Option<Lacking> {
        let mut used = channels_used(spec.id, args);
        let is_pattern = spec.id == CommandId::Psubscribe;
        let lacking = used.find(|name| !self.has_channel(name, is_pattern));
        lacking.map(|name| Lacking::Channel(name.to_vec()))
    }
}

/// Whether patterns that were granted allow a channel, or a pattern of channels.
pub(crate) fn may_use_channel(granted: &[Vec<u8>], name: &[u8], is_pattern: bool) -> bool {
    granted
        .iter()
        .any(|it| it == b"*" || it == name || (!is_pattern && glob::matches(it, name, false)))
}

/// The channels of a request that sends to them or begins to subscribe.
fn channels_used<'a>(id: CommandId, args: Args<'a>) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    use CommandId as Id;
    let count = match id {
        Id::Publish | Id::Spublish => 1,
        Id::Subscribe | Id::Psubscribe | Id::Ssubscribe => usize::MAX,
        _ => 0,
    };
    args.from(1).take(count)
}

#[cfg(test)]
#[path = "acl_test.rs"]
mod acl_test;
