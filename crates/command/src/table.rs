//! The table of commands: every known command and its attributes.
//!
//! In:  a name as the client sent it ([`lookup`]). Out: its [`Spec`].
//!
//! Reading order: `spec` (with `flags`, `key_spec` and `docs`, which it is made of), then any of the
//! command families, then `lookup`.
//!
//! Invariants:
//! - Each command has one [`CommandId`]; those that are only refused share
//!   [`CommandId::ClusterAdmin`].
//!
//! Not here: what `COMMAND` replies (`describe`), what commands do (the crate's other files).

mod acl;
mod bits;
mod channels;
mod cluster;
mod connection;
mod docs;
mod flags;
mod hashes;
mod id;
mod key_spec;
mod keys;
mod lookup;
mod nodes;
mod scripts;
mod server;
mod spec;
mod strings;
mod tables;
mod transactions;

pub use docs::{Argument, ArgumentKind, CommandGroup, Docs};
pub use flags::{category, flag, key_flag};
pub use id::CommandId;
pub use key_spec::KeySpec;
pub use lookup::{lookup, lookup_full, lookup_subcommand};
pub use spec::Spec;

const FAMILIES: [&[Spec]; 13] = [
    strings::COMMANDS,
    bits::COMMANDS,
    hashes::COMMANDS,
    keys::COMMANDS,
    connection::COMMANDS,
    transactions::COMMANDS,
    scripts::COMMANDS,
    channels::COMMANDS,
    server::COMMANDS,
    cluster::COMMANDS,
    tables::COMMANDS,
    nodes::COMMANDS,
    acl::COMMANDS,
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

#[cfg(test)]
#[path = "table_test.rs"]
mod table_test;
