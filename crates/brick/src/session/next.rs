//! What the function of a command leaves to be done.

use crate::effect::ControlRequest;
use crate::request::{Request, Token};
use brickyard_command::request::ExportPiece;
use brickyard_command::{ErrorReply, OwnedArgs, Spec};
use brickyard_metadata::Change;
use brickyard_routing::Member;
use brickyard_types::{Instant, PartitionId};
use brickyard_wire::Protocol;

/// A queued command.
pub(super) type Command = (&'static Spec, OwnedArgs);

/// A command on a whole table, as its bricks are asked.
#[derive(Debug)]
pub(crate) struct Subrequests {
    pub(crate) spec: &'static Spec,
    pub(crate) args: OwnedArgs,
    pub(crate) table: usize,
    pub(crate) protocol: Protocol,
    /// Each subrequest is named, so that together they are the table; else a brick gives what it has.
    pub(crate) is_named: bool,
    /// When they are given up.
    pub(crate) deadline: Instant,
    /// They were asked before, in vain.
    pub(crate) is_again: bool,
}

impl Subrequests {
    /// Those of a client's command, which gets from each brick what that has.
    pub(super) fn of(
        (spec, args): Command,
        table: usize,
        protocol: Protocol,
        deadline: Instant,
    ) -> Self {
        Self {
            spec,
            args,
            table,
            protocol,
            is_named: false,
            deadline,
            is_again: false,
        }
    }
}

/// What `HELLO` does once its password was found right.
#[derive(Debug)]
pub(crate) struct Hello {
    pub(super) protocol: Option<Protocol>,
    pub(super) name: Option<Vec<u8>>,
}

/// What happens when the control thread has answered.
#[derive(Debug)]
pub(crate) enum Then {
    /// `+OK`.
    Ok,
    /// The connection acts for the user, and for HELLO the rest of it happens.
    Enter {
        user: String,
        /// The table that was named with it.
        table: Option<String>,
        /// Those of the passwords that it was compared with.
        hashes: Vec<String>,
        hello: Option<Hello>,
    },
    /// That many.
    Count(i64),
    /// This name.
    Name(String),
    /// The function is called, if it is there now.
    Call(&'static Spec, OwnedArgs),
    /// The command is begun whose other table has been made.
    Across(&'static Spec, OwnedArgs),
    /// The connection works on the table.
    Use { table: String, database: u16 },
}

impl Then {
    /// Whether the connection has to end where this comes to an error: some clients go on, and would write into another table.
    pub(crate) const fn is_of_table(&self) -> bool {
        matches!(self, Self::Use { .. } | Self::Enter { table: Some(_), .. })
    }
}

/// What is left to do for a command.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one a command, taken apart at once; a change has room for a table with bounds"
)]
pub(super) enum Next {
    /// Nothing: its reply is written.
    Done,
    /// The control thread is asked; the connection executes nothing until it has answered.
    Control(ControlRequest, Then),
    /// Bricks are asked for their subrequests, which are the parts of the reply that the token names.
    Subrequests(Subrequests, Vec<Member>, Token),
    /// Requests begin: each runs where it belongs.
    Begin(Vec<Request>),
    /// The first round of a feed, when all before it has been answered.
    Round(Token),
    /// A request begins when all before it has been answered.
    Last(Box<Request>),
    /// This brick's part of a reply is made.
    Part(Token, Vec<u8>),
    /// A partition is exported.
    Export {
        name: String,
        partition: PartitionId,
        piece: ExportPiece,
    },
    /// Commands of a transaction that has none on keys are executed.
    Commands(Vec<Command>),
}

/// What is left to do, or why the command is refused.
pub(super) type Outcome = Result<Next, ErrorReply>;

impl Next {
    /// The catalog is to be changed.
    pub(super) fn change(change: Change) -> Self {
        Self::Control(ControlRequest::Change(change), Then::Ok)
    }
}
