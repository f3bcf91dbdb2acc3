//! `CLIENT TRACKING` and `CLIENT CACHING`: what a client wants to be told of keys that it keeps copies of.

use super::on_or_off;
use crate::args::Args;
use crate::error::ErrorReply;
use crate::number::parse_integer;

/// What `CLIENT TRACKING` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackingRequest<'a> {
    /// Whether anything is to be told from now on.
    pub is_on: bool,
    /// The connection that is told instead, by its number; `None`: the one that asks.
    pub redirect: Option<i64>,
    /// Of all keys with certain beginnings, whether they were read or not.
    pub broadcasts: bool,
    /// Those beginnings.
    pub prefixes: Vec<&'a [u8]>,
    /// Only of keys that are read behind `CLIENT CACHING YES`.
    pub opts_in: bool,
    /// Not of keys that are read behind `CLIENT CACHING NO`.
    pub opts_out: bool,
    /// Not of what the connection itself changes.
    pub skips_own: bool,
}

impl<'a> TrackingRequest<'a> {
    /// Reads the arguments, and refuses what does not go together whatever the connection has asked for before.
    pub(super) fn parse(args: Args<'a>) -> Result<Self, ErrorReply> {
        let mut request = Self {
            is_on: on_or_off(args.at(2))?,
            ..Self::default()
        };
        let mut options = args.from(3);
        while let Some(option) = options.next() {
            let is = |word: &[u8]| option.eq_ignore_ascii_case(word);
            if is(b"redirect") {
                let number = options.next().ok_or(ErrorReply::SYNTAX)?;
                if request.redirect.is_some() {
                    return Err(ErrorReply::constant(
                        "ERR A client can only redirect to a single other client",
                    ));
                }
                request.redirect = Some(parse_integer(number).ok_or(ErrorReply::NOT_AN_INTEGER)?);
            } else if is(b"prefix") {
                request
                    .prefixes
                    .push(options.next().ok_or(ErrorReply::SYNTAX)?);
            } else if is(b"bcast") {
                request.broadcasts = true;
            } else if is(b"optin") {
                request.opts_in = true;
            } else if is(b"optout") {
                request.opts_out = true;
            } else if is(b"noloop") {
                request.skips_own = true;
            } else {
                return Err(ErrorReply::SYNTAX);
            }
        }
        Ok(request)
    }

    /// Refuses what does not go together.
    ///
    /// # Errors
    /// Redis's.
    pub fn check(&self) -> Result<(), ErrorReply> {
        if !self.broadcasts && !self.prefixes.is_empty() {
            return Err(ErrorReply::constant(
                "ERR PREFIX option requires BCAST mode to be enabled",
            ));
        }
        if self.broadcasts && (self.opts_in || self.opts_out) {
            return Err(ErrorReply::constant(
                "ERR OPTIN and OPTOUT are not compatible with BCAST",
            ));
        }
        if self.opts_in && self.opts_out {
            return Err(ErrorReply::constant(
                "ERR You can't specify both OPTIN mode and OPTOUT mode",
            ));
        }
        for (at, prefix) in self.prefixes.iter().enumerate() {
            let overlaps = |other: &&&[u8]| other.starts_with(prefix) || prefix.starts_with(other);
            if let Some(other) = self.prefixes[at + 1..].iter().find(overlaps) {
                let [prefix, other] = [prefix, other].map(|it| String::from_utf8_lossy(it));
                return Err(ErrorReply::new(format!(
                    "ERR Prefix '{prefix}' overlaps with another provided prefix '{other}'. Prefixes for a single client must not overlap."
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tracking_test {
    use super::*;
    use crate::args::OwnedArgs;

    fn checked(request: &str) -> Result<(), String> {
        let request: OwnedArgs = request.split(' ').map(str::as_bytes).collect();
        let parsed = TrackingRequest::parse(request.as_args());
        let checked = parsed.and_then(|it| it.check());
        checked.map_err(|error| error.to_string())
    }

    #[test]
    fn options_are_read_in_any_order() {
        let request: OwnedArgs = [
            &b"client"[..],
            b"tracking",
            b"ON",
            b"prefix",
            b"a",
            b"BCAST",
            b"noloop",
            b"PREFIX",
            b"b",
            b"redirect",
            b"7",
        ]
        .into_iter()
        .collect();
        let parsed = TrackingRequest::parse(request.as_args()).unwrap();
        assert!(parsed.is_on && parsed.broadcasts && parsed.skips_own);
        assert_eq!(parsed.prefixes, [b"a", b"b"]);
        assert_eq!(parsed.redirect, Some(7));
        assert_eq!(parsed.check(), Ok(()));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let refused = |request: &str| checked(request).unwrap_err();
        assert!(refused("client tracking maybe").contains("syntax"));
        assert!(refused("client tracking on prefix").contains("syntax"));
        assert!(refused("client tracking on prefix a").contains("requires BCAST"));
        assert!(refused("client tracking on bcast optin").contains("not compatible with BCAST"));
        assert!(refused("client tracking on optin optout").contains("both OPTIN mode and OPTOUT"));
        assert!(refused("client tracking on redirect x").contains("not an integer"));
        assert!(
            refused("client tracking on redirect 1 redirect 2").contains("a single other client")
        );
        assert!(
            refused("client tracking on bcast prefix ab prefix a")
                .contains("Prefix 'ab' overlaps with another provided prefix 'a'")
        );
        assert_eq!(
            checked("client tracking on bcast prefix ab prefix ac"),
            Ok(())
        );
    }
}
