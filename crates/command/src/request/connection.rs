//! HELLO, AUTH, SELECT and PING.

use super::client::check_client_name;
use crate::args::Args;
use crate::error::ErrorReply;
use crate::expire::until_nul;
use crate::number::{integer_32, parse_integer};
use brickyard_wire::Protocol;

/// `HELLO [version [AUTH user password] [SETNAME name]]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HelloArgs<'a> {
    /// The protocol to speak from here on; `None`: the one spoken.
    pub protocol: Option<Protocol>,
    /// User and password to log in with.
    pub auth: Option<(&'a [u8], &'a [u8])>,
    /// Name to give the connection.
    pub name: Option<&'a [u8]>,
}

impl<'a> HelloArgs<'a> {
    /// Reads the arguments of HELLO.
    ///
    /// # Errors
    /// Redis's errors, `NOPROTO` among them.
    pub fn parse(args: Args<'a>) -> Result<Self, ErrorReply> {
        let mut parsed = Self::default();
        if let Some(version) = args.get(1) {
            let version = parse_integer(version).ok_or(ErrorReply::constant(
                "ERR Protocol version is not an integer or out of range",
            ))?;
            let protocol = Protocol::from_version(version);
            parsed.protocol =
                Some(protocol.ok_or(ErrorReply::constant("NOPROTO unsupported protocol version"))?);
        }
        let mut options = args.from(2);
        while let Some(option) = options.next() {
            if option.eq_ignore_ascii_case(b"auth") && options.len() >= 2 {
                parsed.auth = options.next().zip(options.next());
            } else if option.eq_ignore_ascii_case(b"setname") && options.len() >= 1 {
                parsed.name = options.next();
                check_client_name(parsed.name.unwrap_or_default())?;
            } else {
                let option = until_nul(option);
                return Err(ErrorReply::new(
                    [b"ERR Syntax error in HELLO option '", option, b"'"].concat(),
                ));
            }
        }
        Ok(parsed)
    }
}

/// `AUTH [user] password`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthArgs<'a> {
    /// The user; `None`: `default`.
    pub user: Option<&'a [u8]>,
    /// The password.
    pub password: &'a [u8],
}

impl<'a> AuthArgs<'a> {
    /// Reads the arguments of AUTH.
    ///
    /// # Errors
    /// A syntax error if there are too many.
    pub fn parse(args: Args<'a>) -> Result<Self, ErrorReply> {
        match args.len() {
            2 => Ok(Self {
                user: None,
                password: args.at(1),
            }),
            3 => Ok(Self {
                user: Some(args.at(1)),
                password: args.at(2),
            }),
            _ => Err(ErrorReply::SYNTAX),
        }
    }
}

/// Reads the number of a table from SELECT; whether there is such a table is for the caller to say.
///
/// # Errors
/// Redis's errors for no number, and for one of more than 32 bits.
pub fn parse_select(args: Args<'_>) -> Result<i32, ErrorReply> {
    integer_32(args.at(1))
}

/// Reads what PING is to answer; `None`: `PONG`.
///
/// # Errors
/// Redis's error for too many arguments, which the arity does not catch.
pub fn parse_ping(args: Args<'_>) -> Result<Option<&[u8]>, ErrorReply> {
    if args.len() > 2 {
        return Err(ErrorReply::wrong_arity("ping"));
    }
    Ok(args.get(1))
}

#[cfg(test)]
#[path = "connection_test.rs"]
mod connection_test;
