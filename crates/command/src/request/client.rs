//! The subcommands of CLIENT.

use super::on_or_off;
use super::tracking::TrackingRequest;
use crate::args::Args;
use crate::error::ErrorReply;
use crate::expire::until_nul;
use crate::number::parse_integer;
use crate::table::CommandId;

/// What CLIENT is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientCommand<'a> {
    /// Track what the next command reads, or do not.
    Caching(bool),
    /// The name of this connection.
    GetName,
    /// The connection that is told of changed keys in place of this one.
    GetRedirect,
    /// The subcommands.
    Help,
    /// The number of this connection.
    Id,
    /// A line about this connection.
    Info,
    /// Close connections.
    Kill(KillFilter<'a>),
    /// A line about each connection.
    List(ClientFilter),
    /// Spare this connection when memory for clients runs short.
    NoEvict(bool),
    /// Let this connection's commands not count as use of keys.
    NoTouch(bool),
    /// Let commands of the node's clients wait for so many milliseconds: all, or those that may write.
    Pause {
        /// For so long.
        milliseconds: u64,
        /// All of them.
        holds_all: bool,
    },
    /// Turn replies on or off.
    Reply(ReplyMode),
    /// `LIB-NAME` of the client's library; the text was checked.
    SetLibraryName(&'a [u8]),
    /// `LIB-VER` of the client's library; the text was checked.
    SetLibraryVersion(&'a [u8]),
    /// Name this connection; the text was checked and may be empty, which takes the name away.
    SetName(&'a [u8]),
    /// Tell the client when keys change that it keeps copies of.
    Tracking(TrackingRequest<'a>),
    /// What of that it has asked for.
    TrackingInfo,
    /// Let commands go on that wait.
    Unpause,
}

/// Which connections CLIENT LIST shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientFilter {
    /// Every one.
    All,
    /// Those of a kind.
    Kind(ClientKind),
    /// Those with these numbers.
    Ids(Vec<i64>),
}

/// The kinds of connection that Redis tells apart; here all are [`Self::Normal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKind {
    /// A client.
    Normal,
    /// A replica.
    Replica,
    /// A subscriber.
    Pubsub,
    /// A primary.
    Master,
}

/// Which connections CLIENT KILL closes: those that fit every condition given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KillFilter<'a> {
    /// The client's address, `ip:port`.
    pub address: Option<&'a [u8]>,
    /// The server's address, `ip:port`.
    pub local_address: Option<&'a [u8]>,
    /// The connection's number.
    pub id: Option<i64>,
    /// The connection's kind.
    pub kind: Option<ClientKind>,
    /// The user that is logged in.
    pub user: Option<&'a [u8]>,
    /// Whether the connection that asks is spared.
    pub skips_self: bool,
    /// Whether only an address was given, the old form: it answers `OK` or `ERR No such client`
    /// and not how many were closed.
    pub is_old_form: bool,
}

/// What CLIENT REPLY asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyMode {
    /// Replies to everything; the only one that is itself answered.
    On,
    /// No replies.
    Off,
    /// No reply to the next command.
    Skip,
}

impl<'a> ClientCommand<'a> {
    /// Reads the arguments of a subcommand of CLIENT.
    ///
    /// # Errors
    /// Redis's errors.
    ///
    /// # Panics
    /// If `id` is no subcommand of CLIENT.
    pub fn parse(id: CommandId, args: Args<'a>) -> Result<Self, ErrorReply> {
        Ok(match id {
            CommandId::ClientCaching => Self::Caching(yes_or_no(args.at(2))?),
            CommandId::ClientGetname => Self::GetName,
            CommandId::ClientGetredir => Self::GetRedirect,
            CommandId::ClientHelp => Self::Help,
            CommandId::ClientId => Self::Id,
            CommandId::ClientInfo => Self::Info,
            CommandId::ClientKill => Self::Kill(KillFilter::parse(args)?),
            CommandId::ClientList => Self::List(ClientFilter::parse(args)?),
            CommandId::ClientNoEvict => Self::NoEvict(on_or_off(args.at(2))?),
            CommandId::ClientNoTouch => Self::NoTouch(on_or_off(args.at(2))?),
            CommandId::ClientPause => parse_pause(args)?,
            CommandId::ClientReply => Self::Reply(ReplyMode::parse(args.at(2))?),
            CommandId::ClientSetinfo => Self::parse_set_info(args.at(2), args.at(3))?,
            CommandId::ClientSetname => {
                check_client_name(args.at(2))?;
                Self::SetName(args.at(2))
            }
            CommandId::ClientTracking => Self::Tracking(TrackingRequest::parse(args)?),
            CommandId::ClientTrackinginfo => Self::TrackingInfo,
            CommandId::ClientUnpause => Self::Unpause,
            _ => panic!("{id:?} is no subcommand of CLIENT"),
        })
    }

    fn parse_set_info(attribute: &[u8], value: &'a [u8]) -> Result<Self, ErrorReply> {
        let (name, command) = if attribute.eq_ignore_ascii_case(b"lib-name") {
            ("lib-name", Self::SetLibraryName(value))
        } else if attribute.eq_ignore_ascii_case(b"lib-ver") {
            ("lib-ver", Self::SetLibraryVersion(value))
        } else {
            let attribute = until_nul(attribute);
            return Err(ErrorReply::new(
                [b"ERR Unrecognized option '", attribute, b"'"].concat(),
            ));
        };
        if is_printable_word(value) {
            Ok(command)
        } else {
            Err(ErrorReply::new(format!(
                "ERR {name} cannot contain spaces, newlines or special characters."
            )))
        }
    }
}

fn parse_pause(args: Args<'_>) -> Result<ClientCommand<'_>, ErrorReply> {
    let is = |mode: &[u8], word: &[u8]| mode.eq_ignore_ascii_case(word);
    let holds_all = match (args.len(), args.get(3)) {
        (3, _) => true,
        (4, Some(mode)) if is(mode, b"all") => true,
        (4, Some(mode)) if is(mode, b"write") => false,
        (4, _) => {
            return Err(ErrorReply::constant(
                "ERR CLIENT PAUSE mode must be WRITE or ALL",
            ));
        }
        _ => {
            let name = String::from_utf8_lossy(args.at(1));
            return Err(ErrorReply::new(format!(
                "ERR unknown subcommand or wrong number of arguments for '{name}'. Try CLIENT HELP."
            )));
        }
    };
    let timeout = parse_integer(args.at(2)).ok_or(ErrorReply::constant(
        "ERR timeout is not an integer or out of range",
    ))?;
    let milliseconds =
        u64::try_from(timeout).map_err(|_| ErrorReply::constant("ERR timeout is negative"))?;
    Ok(ClientCommand::Pause {
        milliseconds,
        holds_all,
    })
}

impl ClientFilter {
    fn parse(args: Args<'_>) -> Result<Self, ErrorReply> {
        let is = |word: &[u8]| {
            args.get(2)
                .is_some_and(|argument| argument.eq_ignore_ascii_case(word))
        };
        if args.len() == 2 {
            Ok(Self::All)
        } else if args.len() == 4 && is(b"type") {
            ClientKind::parse(args.at(3)).map(Self::Kind)
        } else if args.len() > 3 && is(b"id") {
            let ids = args.from(3).map(parse_integer).collect::<Option<_>>();
            ids.map(Self::Ids)
                .ok_or(ErrorReply::constant("ERR Invalid client ID"))
        } else {
            Err(ErrorReply::SYNTAX)
        }
    }
}

impl ClientKind {
    fn parse(name: &[u8]) -> Result<Self, ErrorReply> {
        let is = |word: &[u8]| name.eq_ignore_ascii_case(word);
        if is(b"normal") {
            Ok(Self::Normal)
        } else if is(b"slave") || is(b"replica") {
            Ok(Self::Replica)
        } else if is(b"pubsub") {
            Ok(Self::Pubsub)
        } else if is(b"master") {
            Ok(Self::Master)
        } else {
            let name = until_nul(name);
            Err(ErrorReply::new(
                [b"ERR Unknown client type '", name, b"'"].concat(),
            ))
        }
    }
}

impl<'a> KillFilter<'a> {
    fn parse(args: Args<'a>) -> Result<Self, ErrorReply> {
        if args.len() == 3 {
            return Ok(Self {
                address: Some(args.at(2)),
                is_old_form: true,
                ..Self::default()
            });
        }
        let mut filter = Self {
            skips_self: true,
            ..Self::default()
        };
        let mut options = args.from(2);
        while let Some(option) = options.next() {
            let is = |word: &[u8]| option.eq_ignore_ascii_case(word);
            let argument = options.next().ok_or(ErrorReply::SYNTAX)?;
            if is(b"id") {
                let id = parse_integer(argument).filter(|id| *id >= 1);
                filter.id = Some(id.ok_or(ErrorReply::constant(
                    "ERR client-id should be greater than 0",
                ))?);
            } else if is(b"type") {
                filter.kind = Some(ClientKind::parse(argument)?);
            } else if is(b"addr") {
                filter.address = Some(argument);
            } else if is(b"laddr") {
                filter.local_address = Some(argument);
            } else if is(b"user") {
                filter.user = Some(argument);
            } else if is(b"skipme") && argument.eq_ignore_ascii_case(b"yes") {
                filter.skips_self = true;
            } else if is(b"skipme") && argument.eq_ignore_ascii_case(b"no") {
                filter.skips_self = false;
            } else {
                return Err(ErrorReply::SYNTAX);
            }
        }
        Ok(filter)
    }
}

impl ReplyMode {
    fn parse(argument: &[u8]) -> Result<Self, ErrorReply> {
        if argument.eq_ignore_ascii_case(b"skip") {
            Ok(Self::Skip)
        } else if on_or_off(argument)? {
            Ok(Self::On)
        } else {
            Ok(Self::Off)
        }
    }
}

fn yes_or_no(argument: &[u8]) -> Result<bool, ErrorReply> {
    match argument {
        yes if yes.eq_ignore_ascii_case(b"yes") => Ok(true),
        no if no.eq_ignore_ascii_case(b"no") => Ok(false),
        _ => Err(ErrorReply::SYNTAX),
    }
}

/// Refuses a connection's name that would not stay one word in CLIENT LIST.
///
/// # Errors
/// Redis's error.
pub fn check_client_name(name: &[u8]) -> Result<(), ErrorReply> {
    if is_printable_word(name) {
        Ok(())
    } else {
        Err(ErrorReply::constant(
            "ERR Client names cannot contain spaces, newlines or special characters.",
        ))
    }
}

fn is_printable_word(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_graphic)
}

#[cfg(test)]
#[path = "client_test.rs"]
mod client_test;
