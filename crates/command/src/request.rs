//! Requests that the brick carries out: what they ask for, as types, or Redis's error.
//!
//! In:  arguments whose number was checked against the command's arity. Out: one struct or enum a
//!      command family, which borrows from the arguments.
//!
//! Not here: the data commands, each of which parses its own arguments.

mod client;
mod cluster;
mod config;
mod connection;
mod function;
mod identified;
mod lookup;
mod node;
mod options;
mod scan;
mod script;
mod server;
mod table;
mod tracking;
mod watch_keys;

pub use client::{
    ClientCommand, ClientFilter, ClientKind, KillFilter, ReplyMode, check_client_name,
};
pub use cluster::ClusterCommand;
pub use config::ConfigCommand;
pub use connection::{AuthArgs, HelloArgs, parse_ping, parse_select};
pub use function::{FunctionCommand, RestorePolicy, function_arguments};
pub use identified::RequestArgs;
pub use lookup::{LookupArgs, LookupBy};
pub use node::{NodeCommand, NodeOptions, RebalanceCommand};
pub use scan::ScanArgs;
pub(crate) use scan::parse_cursor;
pub use script::{ScriptCommand, script_arguments};
pub use server::{
    LatencyCommand, ShutdownArgs, SlowlogCommand, WaitArgs, parse_bgsave, parse_flush,
};
pub use table::{DigestCursor, ExportPiece, ReplicaCount, Sizing, TableCommand, TableOptions};
pub use tracking::TrackingRequest;
pub use watch_keys::{WatchKeysArgs, WatchShare, Watched};

use crate::error::ErrorReply;

/// `ON` or `OFF`.
fn on_or_off(argument: &[u8]) -> Result<bool, ErrorReply> {
    if argument.eq_ignore_ascii_case(b"on") {
        Ok(true)
    } else if argument.eq_ignore_ascii_case(b"off") {
        Ok(false)
    } else {
        Err(ErrorReply::SYNTAX)
    }
}
