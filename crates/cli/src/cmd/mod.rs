//! The subcommands, one file each: `Arguments` is what it takes, `run` is what it does.

pub(crate) mod advise;
pub(crate) mod backup;
pub(crate) mod bench;
pub(crate) mod cert;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod dev;
pub(crate) mod digest;
pub(crate) mod dump;
pub(crate) mod experiments;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod node;
pub(crate) mod rebalance;
pub(crate) mod server;
pub(crate) mod sim;
pub(crate) mod status;
mod strangers;
pub(crate) mod table;
pub(crate) mod top;
pub(crate) mod torture;
pub(crate) mod watch;
