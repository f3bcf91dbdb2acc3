//! Administration, as it is told of afterwards: who did what, and what came of it.
//!
//! In:  a command that changes the cluster, its tables or this node; its outcome. Out: one record each, refused ones too.
//!
//! Invariant: a record has neither values nor passwords: none of these commands has any, but ACL SETUSER, of which passwords are
//! left out.

use crate::connection::Connection;
use brickyard_command::{Args, CommandId, Spec};

/// Longest text of a command that is kept.
const COMMAND_BYTES_MAX: usize = 500;

/// Something that an administrator did, or would have done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// Who; nothing, if it has not signed in.
    pub user: String,
    /// From where.
    pub peer: String,
    /// The command with its arguments.
    pub command: String,
    /// `OK`, `begun` where bricks are asked, or the error.
    pub result: String,
}

/// Whether the command changes the cluster, its tables as a whole, or what this node does.
pub(crate) const fn is_audited(spec: &Spec) -> bool {
    use CommandId as Id;
    matches!(
        spec.id,
        Id::TableCreate
            | Id::TableAlter
            | Id::TableDrop
            | Id::TableRecover
            | Id::TableSplit
            | Id::TableMerge
            | Id::TableOffline
            | Id::TableOnline
            | Id::TableExport
            | Id::NodeAlter
            | Id::NodeDrain
            | Id::NodeRemove
            | Id::NodeReplace
            | Id::RebalancePause
            | Id::RebalanceResume
            | Id::ConfigSet
            | Id::ConfigResetstat
            | Id::ClientKill
            | Id::ClientPause
            | Id::ClientUnpause
            | Id::Monitor
            | Id::Flushdb
            | Id::Flushall
            | Id::Shutdown
            | Id::AclSetuser
            | Id::AclDeluser
            | Id::FunctionDelete
            | Id::FunctionFlush
            | Id::FunctionLoad
            | Id::FunctionRestore
    )
}

/// An argument, or a word in its place where it is a password.
fn shown<'a>(args: &Args<'a>, at: usize) -> &'a [u8] {
    let argument = args.at(at);
    let is_of_acl = args.at(0).eq_ignore_ascii_case(b"acl");
    match argument.first() {
        Some(b'>' | b'<' | b'#' | b'!') if is_of_acl => b"(redacted)",
        _ => argument,
    }
}

/// A record without its result.
pub(super) fn record(connection: &Connection, args: &Args<'_>) -> AuditRecord {
    let user = connection.session.user.as_ref();
    let mut command = String::new();
    for at in 0..args.len() {
        if command.len() > COMMAND_BYTES_MAX {
            command.push_str(" ...");
            break;
        }
        let separator = if at == 0 { "" } else { " " };
        let argument = shown(args, at);
        let argument = &argument[..argument.len().min(COMMAND_BYTES_MAX)];
        // Nobody makes a line of their own in the log.
        command.push_str(separator);
        command.push_str(&argument.escape_ascii().to_string());
    }
    AuditRecord {
        user: user.map_or_else(String::new, |user| user.name.clone()),
        peer: connection.accepted.peer.clone(),
        command,
        result: String::new(),
    }
}

impl AuditRecord {
    /// With the first line of the reply for its result.
    pub(super) fn with_reply(self, reply: &[u8]) -> Self {
        let line = reply.split(|byte| *byte == b'\r').next();
        let text = line.and_then(|line| line.get(1..)).unwrap_or_default();
        self.with_result(&String::from_utf8_lossy(text))
    }

    pub(super) fn with_result(mut self, result: &str) -> Self {
        result.clone_into(&mut self.result);
        self
    }
}
